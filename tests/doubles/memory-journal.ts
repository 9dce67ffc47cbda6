import type { Journal, JournalEntry } from '../../router/src/core/ports/inbox.ts';
import type { MemoryState } from './memory-state.ts';

type MemoryEntry = JournalEntry & { runsAlone?: boolean };

/** Journal in memory, for tests; MemoryKeyStore writes it. */
export class MemoryJournal implements Journal {
  readonly #entries = new Map<string, Map<string, MemoryEntry>>();
  readonly #lastOrders = new Map<string, bigint>();
  readonly #state: (() => MemoryState) | undefined;

  /** @param state of the inbox in the same database; without one no message is done */
  constructor(state?: () => MemoryState) {
    this.#state = state;
  }

  /** Adds what is not there yet. */
  add(accountId: string, entries: readonly JournalEntry[]): void {
    const own = this.#own(accountId);
    for (const entry of entries) {
      if (own.has(entry.ciphertextHash)) continue;
      own.set(entry.ciphertextHash, structuredClone(entry));
      const last = this.#lastOrders.get(accountId) ?? 0n;
      if (entry.stanzaOrder > last) this.#lastOrders.set(accountId, entry.stanzaOrder);
    }
  }

  hasMessage(accountId: string, waMessageId: string): boolean {
    for (const entry of this.#own(accountId).values()) if (entry.waMessageId === waMessageId) return true;
    return false;
  }

  async find(accountId: string, ciphertextHash: string): Promise<JournalEntry | undefined> {
    const entry = this.#own(accountId).get(ciphertextHash);
    return entry && withoutMark(entry);
  }

  async pending(accountId: string, page: { afterOrder: bigint; limit: number }): Promise<JournalEntry[]> {
    const later = [...this.#own(accountId).values()]
      .filter((entry) => entry.stanzaOrder > page.afterOrder)
      .sort((a, b) => (a.stanzaOrder < b.stanzaOrder ? -1 : a.stanzaOrder > b.stanzaOrder ? 1 : 0));
    const lastOrder = later[page.limit - 1]?.stanzaOrder;
    return later
      .filter((entry) => lastOrder === undefined || entry.stanzaOrder <= lastOrder)
      .map((entry) => ({
        ...withoutMark(entry),
        ...(this.#isDone(accountId, entry) && { isDone: true }),
      }));
  }

  async setAlone(accountId: string, ciphertextHash: string, runsAlone: boolean): Promise<void> {
    const entry = this.#own(accountId).get(ciphertextHash);
    if (entry) entry.runsAlone = runsAlone;
  }

  /** The process that had the account ended; of SQL's `lease_count_end`. */
  countEnd(accountId: string): void {
    for (const entry of this.#own(accountId).values()) {
      if (entry.suspicion && !entry.runsAlone) continue;
      Object.assign(entry, { suspicion: (entry.suspicion ?? 0) + 1, runsAlone: false });
    }
  }

  async forget(accountId: string, ciphertextHashes: readonly string[]): Promise<void> {
    for (const hash of ciphertextHashes) this.#own(accountId).delete(hash);
  }

  async lastOrder(accountId: string): Promise<bigint> {
    const own = [...(this.#state?.().messages.values() ?? [])].filter((each) => each.accountId === accountId);
    const orders = [this.#lastOrders.get(accountId) ?? 0n, ...own.map(({ stanzaOrder }) => stanzaOrder)];
    return orders.reduce((last, order) => (order > last ? order : last));
  }

  #isDone(accountId: string, { waMessageId, stanzaOrder }: JournalEntry): boolean {
    const messages = [...(this.#state?.().messages.values() ?? [])];
    return messages.some(
      (message) =>
        message.accountId === accountId &&
        message.waMessageId === waMessageId &&
        message.stanzaOrder === stanzaOrder &&
        message.state !== 'received',
    );
  }

  #own(accountId: string): Map<string, MemoryEntry> {
    const own = this.#entries.get(accountId) ?? new Map<string, MemoryEntry>();
    this.#entries.set(accountId, own);
    return own;
  }
}

function withoutMark({ runsAlone: _, ...entry }: MemoryEntry): JournalEntry {
  return structuredClone(entry);
}
