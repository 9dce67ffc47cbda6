import type { SignalDataSet } from '@whiskeysockets/baileys';
import type { JournalEntry } from '../../../core/ports/journal.ts';

/** One written key; no value: the key is deleted. */
export interface KeyWrite {
  category: string;
  keyId: string;
  value: unknown;
}

/** What one step of Signal work writes: all of it is durable, or nothing. */
export class Unit {
  /** The plaintexts that the step gave: a ratchet that has moved on cannot give them again. */
  journal: JournalEntry | undefined;
  /** A key could not be read: whatever else the step concluded from that, its unit is void. */
  storageError: unknown;
  #writes = new Map<string, KeyWrite>();

  get writes(): Iterable<KeyWrite> {
    return this.#writes.values();
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0 && this.journal === undefined;
  }

  /** The write of this key; undefined when the step has written none. */
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

  /** What was written so far, for `restore`. */
  mark(): ReadonlyMap<string, KeyWrite> {
    return new Map(this.#writes);
  }

  /** Drops what was written since the mark. */
  restore(mark: ReadonlyMap<string, KeyWrite>): void {
    this.#writes = new Map(mark);
  }
}
