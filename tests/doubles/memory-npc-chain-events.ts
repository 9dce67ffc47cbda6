import type {
  ChainEvent,
  NpcChainEvents,
  StoredChainEvent,
} from '../../router/src/features/npc/npc-chain.ts';

/** Events of contracts in memory; it knows no tasks. */
export class MemoryNpcChainEvents implements NpcChainEvents {
  readonly #cursors = new Map<string, bigint>();
  readonly #events: Array<StoredChainEvent & { source: string }> = [];

  async cursor(source: string): Promise<bigint | undefined> {
    return this.#cursors.get(source);
  }

  async store(
    source: string,
    events: readonly ChainEvent[],
    { from, to }: { from: bigint | undefined; to: bigint },
  ): Promise<boolean> {
    if (this.#cursors.get(source) !== from) return false;
    this.#cursors.set(source, to);
    for (const event of events) {
      const isKnown = this.#events.some(
        (other) =>
          other.source === source &&
          other.transactionHash === event.transactionHash &&
          other.logIndex === event.logIndex,
      );
      if (!isKnown) {
        this.#events.push({ ...event, source, id: String(this.#events.length + 1), storedAtMs: Date.now() });
      }
    }
    return true;
  }

  async list(filter: { source?: string; kind?: ChainEvent['kind']; before?: string; limit: number }) {
    const { source, kind, before, limit } = filter;
    return this.#events
      .filter((event) => source === undefined || event.source === source)
      .filter((event) => kind === undefined || event.kind === kind)
      .filter((event) => before === undefined || Number(event.id) < Number(before))
      .map(({ source: _source, ...event }) => event)
      .reverse()
      .slice(0, limit);
  }
}
