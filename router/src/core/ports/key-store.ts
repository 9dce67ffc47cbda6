import type { JournalEntry } from './journal.ts';

/** Whose keys: those of a generation that a logout put aside are never read again, and stay for the operator. */
export interface KeyScope {
  accountId: string;
  /** From 1, given by AccountStore. */
  generation: number;
}

/** Stands for a value that is there and cannot be read; no value of a key looks like it. */
export const DAMAGED_VALUE = '';

/** Names one key: `creds`, or a category of Signal keys (`session`, `pre-key`, `sender-key` ...) and the id in it. */
export interface KeyName {
  category: string;
  keyId: string;
}

export interface StoredKey extends KeyName {
  value: string;
}

/** One step of the key state. No key stands in both `puts` and `deletes`, and none twice. */
export interface KeyChange {
  puts: StoredKey[];
  deletes: KeyName[];
  /** Plaintexts that this step gave: a ratchet that has moved on cannot give them again. */
  journal: JournalEntry[];
}

/**
 * WhatsApp credentials and Signal keys, one row a key.
 * @throws {StorageUnavailableError} from every method; a `commit` that threw changed nothing
 */
export interface KeyStore {
  /** The keys that are there, in any order. A value that the database cannot read is `DAMAGED_VALUE`. */
  read(scope: KeyScope, names: readonly KeyName[]): Promise<StoredKey[]>;
  /**
   * Stores keys and journal entries together: both are durable when it resolves, or neither is. A journal entry that
   * is there already stays as it is.
   */
  commit(scope: KeyScope, change: KeyChange): Promise<void>;
}
