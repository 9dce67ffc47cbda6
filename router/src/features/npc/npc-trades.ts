import type { NpcScope } from './npc-emotions.ts';
import type { TradeEnd, TradeOffer, TradeSide, TradeTerms } from './trades.ts';

export interface ScopedTradeOffer extends TradeOffer, NpcScope {}

/**
 * Offers of NPCs and their peers, in a ledger to which rows are only added: an offer, and at most one end.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcTrades {
  /** Idempotent by `key`. @returns the stored offer */
  offer(scope: NpcScope, terms: TradeTerms, key: string): Promise<ScopedTradeOffer>;
  find(offerId: string): Promise<ScopedTradeOffer | undefined>;
  /** Ends an offer, once: one that has ended is not changed. @returns the offer with its end */
  end(
    offerId: string,
    end: { kind: TradeEnd; by?: TradeSide; key?: string },
  ): Promise<ScopedTradeOffer | undefined>;
  /** Newest first. */
  list(filter: { scope?: NpcScope; before?: string; limit: number }): Promise<ScopedTradeOffer[]>;
}
