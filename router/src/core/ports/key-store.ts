import type { InboundMessage } from '../messages/inbound-message.ts';
import type { JournalEntry, NewMessage, Stored } from './inbox.ts';

/** The owner of keys. Keys of a generation that a logout ended are never read again, and are kept for the operator. */
export interface KeyScope {
  accountId: string;
  /** From 1, given by AccountStore. */
  generation: number;
}

/** Returned for a stored value that cannot be read; no key has this value. */
export const DAMAGED_VALUE = '';

/** Names one key: `creds`, or a category of Signal keys (`session`, `pre-key`, `sender-key` ...) and the id in it. */
export interface KeyName {
  category: string;
  keyId: string;
}

export interface StoredKey extends KeyName {
  value: string;
}

/** Core's side of messages that are stored together with keys. */
export interface MessageIntake {
  /** What `commit` stores of a message that needs nothing else before its turn; undefined: `ProviderEvents.receive` it. */
  toStore(message: InboundMessage): NewMessage | undefined;
  /** A message of `toStore` is stored: its turn begins. */
  stored(message: InboundMessage, result: Stored): void;
}

/** One step of the key state. No key is in both `puts` and `deletes`, and none is there twice. */
export interface KeyChange {
  puts: StoredKey[];
  deletes: KeyName[];
  /** Plaintexts of this step: a ratchet that has advanced cannot decrypt them again. */
  journal: JournalEntry[];
  /** Messages of this step that need no journal entry: they are stored as `Inbox.add` does, in their order. Absent: none. */
  messages?: NewMessage[];
}

/**
 * WhatsApp credentials and Signal keys, one row a key.
 * @throws {StorageUnavailableError} from every method; a `commit` that threw changed nothing
 */
export interface KeyStore {
  /**
   * Those of the keys that are stored, in any order. A value that the database cannot read is `DAMAGED_VALUE`. A name that
   * the database rejects is not stored.
   */
  read(scope: KeyScope, names: readonly KeyName[]): Promise<StoredKey[]>;
  /**
   * Stores keys, journal entries and messages together: all of them are durable when it resolves, or none is. A journal entry
   * that is stored already is not changed.
   * @returns what became of each message
   * @throws {StorageRejectedError} a value can never be stored
   */
  commit(scope: KeyScope, change: KeyChange): Promise<Stored[]>;
}
