import type { AccountState } from '../models.ts';
import type { Phrase, Reason } from '../phrases.ts';

/** The stored state of a WhatsApp account. Phone and LID are bare digits. */
export interface AccountRecord {
  state: AccountState;
  reason?: string;
  /** Of the reason. */
  phrase?: Phrase;
  phone?: string;
  lid?: string;
  pushName?: string;
  /** Generation of the keys in use, from 1. */
  generation: number;
}

/**
 * What WhatsApp limits: `new-contacts` a lock on writing to people who never wrote to the account · `new-chats` their number in a
 * cycle · `rate` the rate of messages · `connection` connecting at all.
 */
export const LIMIT_KINDS = ['new-contacts', 'new-chats', 'rate', 'connection'] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

/** A temporary limit of WhatsApp on an account; the reason is ready to show. */
export interface AccountLimit extends Reason {
  kind: LimitKind;
  /** Its remaining time, in milliseconds. */
  forMs: number;
}

/** A state that an account changed to. */
export interface AccountStateChange {
  /** Grows with time. */
  id: string;
  state: AccountState;
  reason?: string;
  /** Of the reason. */
  phrase?: Phrase;
  /** The node that ran the account; empty: unknown. */
  node: string;
  at: Date;
}

/** @throws {StorageUnavailableError} from every method; nothing was changed */
export interface AccountStore {
  /** An account never seen before is `starting`, with generation 1. */
  load(accountId: string): Promise<AccountRecord>;
  /**
   * Replaces everything but the generation; an absent field is cleared. Another state or reason than the stored one becomes a
   * state change too.
   */
  save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void>;
  /** State changes of an account, newest first. @param before the id of a change; absent: from the newest on */
  stateChanges(accountId: string, page: { limit: number; before?: string }): Promise<AccountStateChange[]>;
  /** Ends the use of the present keys and returns the generation of the next ones. */
  nextGeneration(accountId: string): Promise<number>;
  /**
   * The limits in force. Their time runs by the store's clock on every node; if that clock is set back, no limit lasts
   * longer than its original time.
   */
  limits(accountId: string): Promise<AccountLimit[]>;
  /** Begins a limit now; replaces one of its kind. */
  beginLimit(accountId: string, limit: AccountLimit): Promise<void>;
  /** Ends the limit of a kind before its time; does nothing when there is none. */
  endLimit(accountId: string, kind: LimitKind): Promise<void>;
}
