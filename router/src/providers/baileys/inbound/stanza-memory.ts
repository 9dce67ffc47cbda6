import { LRUCache } from 'lru-cache';

/** Stanzas whose order and outcome are remembered, for those that come twice. */
const REMEMBERED = 10_000;

/** `open`: to be decrypted; `handed`: on its way to core; `failed`: could not be decrypted; `received`: core has it. */
export type Outcome = 'open' | 'handed' | 'failed' | 'received';

/** The order of messages' stanzas, and what became of each; by message key, the latest 10,000. */
export class StanzaMemory {
  readonly #known = new LRUCache<string, { order: bigint; outcome: Outcome }>({ max: REMEMBERED });
  #lastOrder = 0n;

  /** Orders given from now on are above this one. */
  countFrom(order: bigint): void {
    if (order > this.#lastOrder) this.#lastOrder = order;
  }

  /** The message's order: the one of its first stanza, or the next. */
  orderOf(key: string): bigint {
    const known = this.#known.get(key);
    if (known) return known.order;
    this.#lastOrder += 1n;
    return this.#lastOrder;
  }

  outcomeOf(key: string): Outcome | undefined {
    return this.#known.get(key)?.outcome;
  }

  /** Its text was read: what else comes under its id says nothing new. */
  isRead(key: string): boolean {
    const outcome = this.outcomeOf(key);
    return outcome === 'handed' || outcome === 'received';
  }

  /** What core has received stays so. */
  note(key: string, order: bigint, outcome: Outcome): void {
    if (this.outcomeOf(key) === 'received') return;
    this.#known.set(key, { order, outcome });
  }
}
