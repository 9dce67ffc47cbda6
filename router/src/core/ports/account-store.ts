import type { AccountState } from '../models.ts';

/** What outlives a restart of a WhatsApp account. Phone and LID are bare digits. */
export interface AccountRecord {
  state: AccountState;
  reason?: string;
  phone?: string;
  lid?: string;
  pushName?: string;
  /** Generation of the keys in use, from 1. */
  generation: number;
}

/** What WhatsApp limits: writing to people who never wrote to the account, or connecting at all. */
export type LimitKind = 'new-contacts' | 'connection';

/** A limit that WhatsApp put on an account for a time; the reason is ready to show. */
export interface AccountLimit {
  kind: LimitKind;
  reason: string;
  /** How long it still lasts, in milliseconds. */
  forMs: number;
}

/** @throws {StorageUnavailableError} from every method; nothing was changed */
export interface AccountStore {
  /** An account never seen before is `starting`, with generation 1. */
  load(accountId: string): Promise<AccountRecord>;
  /** Replaces everything but the generation; an absent field is cleared. */
  save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void>;
  /** Puts the keys in use aside for good and returns the generation of the next ones. */
  nextGeneration(accountId: string): Promise<number>;
  /**
   * The limits in force. Their time runs by the store's clock, on whichever node; should that be set back meanwhile, none
   * lasts longer than it did when it began.
   */
  limits(accountId: string): Promise<AccountLimit[]>;
  /** Begins a limit now, in place of one of its kind. */
  beginLimit(accountId: string, limit: AccountLimit): Promise<void>;
  /** Ends the limit of a kind before its time; none is no error. */
  endLimit(accountId: string, kind: LimitKind): Promise<void>;
}
