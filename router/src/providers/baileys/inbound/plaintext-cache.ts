import { LRUCache } from 'lru-cache';
import type { Journal, JournalEntry } from '../../../core/ports/journal.ts';

/** Entries kept in memory for stanzas that come twice at short notice; older ones are asked of the journal. */
const MAX_ENTRIES = 1_000;
const MAX_BYTES = 8 * 1024 * 1024;
const ENTRY_OVERHEAD_BYTES = 200;

/** What ciphertexts said that were decrypted before: their ratchet has moved on, and no key opens them a second time. */
export class PlaintextCache {
  readonly #journal: Journal;
  readonly #accountId: string;
  readonly #entries = new LRUCache<string, JournalEntry>({
    max: MAX_ENTRIES,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ plaintext, stanza }) =>
      plaintext.byteLength + stanza.byteLength + ENTRY_OVERHEAD_BYTES,
  });

  constructor(journal: Journal, accountId: string) {
    this.#journal = journal;
    this.#accountId = accountId;
  }

  /** Keeps copies of their own size: a small Buffer is a window on 8 KB, all of which it would keep. */
  remember(entry: JournalEntry): void {
    const { ciphertextHash, plaintext, stanza } = entry;
    this.#entries.set(ciphertextHash, {
      ...entry,
      plaintext: new Uint8Array(plaintext),
      stanza: new Uint8Array(stanza),
    });
  }

  /** From memory alone. */
  atHand(ciphertextHash: string): JournalEntry | undefined {
    return this.#entries.get(ciphertextHash);
  }

  /** @throws {StorageUnavailableError} it is not in memory, and the journal could not be read */
  async find(ciphertextHash: string): Promise<JournalEntry | undefined> {
    return this.atHand(ciphertextHash) ?? (await this.#journal.find(this.#accountId, ciphertextHash));
  }
}
