import type {
  NpcScope,
  NpcTrades,
  ScopedTradeOffer,
  TradeEnd,
  TradeSide,
  TradeTerms,
} from '../../router/src/features/npc/memories.ts';

/** The ledger of trades in memory. */
export class MemoryNpcTrades implements NpcTrades {
  readonly #now: () => number;
  readonly #offers: Array<{ offer: ScopedTradeOffer; key: string }> = [];

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async offer({ npc, peer }: NpcScope, terms: TradeTerms, key: string): Promise<ScopedTradeOffer> {
    const known = this.#offers.find((each) => each.key === key);
    if (known) return structuredClone(known.offer);
    const offer = { npc, peer, ...terms, offerId: String(this.#offers.length + 1), createdAtMs: this.#now() };
    this.#offers.push({ offer, key });
    return structuredClone(offer);
  }

  async find(offerId: string): Promise<ScopedTradeOffer | undefined> {
    return structuredClone(this.#offers.find(({ offer }) => offer.offerId === offerId)?.offer);
  }

  async end(
    offerId: string,
    end: { kind: TradeEnd; by?: TradeSide; key?: string },
  ): Promise<ScopedTradeOffer | undefined> {
    const found = this.#offers.find(({ offer }) => offer.offerId === offerId);
    if (found) found.offer.end ??= { ...end, atMs: this.#now() };
    return this.find(offerId);
  }

  async list({ scope, before, limit }: { scope?: NpcScope; before?: string; limit: number }) {
    const found = this.#offers
      .map(({ offer }) => offer)
      .filter(({ npc, peer }) => scope === undefined || (npc === scope.npc && peer === scope.peer))
      .filter(({ offerId }) => before === undefined || Number(offerId) < Number(before));
    return structuredClone(found.reverse().slice(0, limit));
  }
}
