import type { SignalDataSet } from '@whiskeysockets/baileys';
import type { JournalEntry } from '../../../core/ports/journal.ts';

/** One written key; an undefined `value` deletes it. */
export interface KeyWrite {
  category: string;
  keyId: string;
  value: unknown;
}

/** The writes of one Signal step: all of them become durable, or none. */
export class Unit {
  /** The plaintexts of the step: an advanced ratchet cannot decrypt them again. */
  journal: JournalEntry | undefined;
  /** Set when a key could not be read: the unit is void, because the step may depend on that key. */
  storageError: unknown;
  /** The step encrypts: what it changes in a session is the position of the sending chain. */
  isEncryption = false;
  /** The step decrypts a stanza: when the database rejects the unit, the stanza ends and later units are stored. */
  isStanza = false;
  #writes = new Map<string, KeyWrite>();

  get writes(): Iterable<KeyWrite> {
    return this.#writes.values();
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0 && this.journal === undefined;
  }

  /** The write of this key; undefined when the step did not write it. */
  get(category: string, keyId: string): KeyWrite | undefined {
    return this.#writes.get(`${category} ${keyId}`);
  }

  set(data: SignalDataSet): void {
    for (const [category, values] of Object.entries(data)) {
      for (const [keyId, value] of Object.entries<unknown>(values ?? {})) {
        this.#writes.set(`${category} ${keyId}`, { category, keyId, value: value ?? undefined });
      }
    }
  }

  /** The writes so far, for `restore`. */
  mark(): ReadonlyMap<string, KeyWrite> {
    return new Map(this.#writes);
  }

  /** Removes the writes since the mark. */
  restore(mark: ReadonlyMap<string, KeyWrite>): void {
    this.#writes = new Map(mark);
  }
}
