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

/** @throws {StorageUnavailableError} from every method; nothing was changed */
export interface AccountStore {
  /** An account never seen before is `starting`, with generation 1. */
  load(accountId: string): Promise<AccountRecord>;
  /** Replaces everything but the generation; an absent field is cleared. */
  save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void>;
  /** Puts the keys in use aside for good and returns the generation of the next ones. */
  nextGeneration(accountId: string): Promise<number>;
}
