import type { Clock } from '../../core/ports/clock.ts';
import { invalidParam } from './json-rpc.ts';
import type { NpcScope } from './memories.ts';

/** The two sides of a trade: the caller of the NPC face, and the NPC with its operator. */
export type TradeSide = 'peer' | 'npc';

/** How an offer ended. `withdrawn`: by the side that made it. */
export type TradeEnd = 'accepted' | 'declined' | 'withdrawn' | 'expired';

/** What is offered; it never changes. */
export interface TradeTerms {
  maker: TradeSide;
  /** Whether the maker sells or buys. */
  direction: 'sell' | 'buy';
  item: string;
  quantity: number;
  /** Of one item, in wei, as decimal digits. */
  price: string;
  /** Of all items, in wei. */
  total: string;
  /** Address of the token; absent: the chain's own currency. */
  currency?: string;
  expiresAtMs: number;
}

interface TradeOfferEnd {
  kind: TradeEnd;
  /** Absent: time ended it. */
  by?: TradeSide;
  atMs: number;
  /** What ended it: the id of a task, or of a call. A repeat has the same one. */
  key?: string;
}

export interface TradeOffer extends TradeTerms {
  offerId: string;
  createdAtMs: number;
  end?: TradeOfferEnd;
}

/** How long an offer can be accepted, unless its maker says otherwise. */
export const DEFAULT_EXPIRES_SECONDS = 86_400;
const MAX_UINT256 = 2n ** 256n - 1n;

/** The price of all items in wei, exactly; undefined: more than 256 bits. */
export function totalOf(quantity: number, price: string): string | undefined {
  const total = BigInt(quantity) * BigInt(price);
  return total > MAX_UINT256 ? undefined : total.toString();
}

/** `open`, or how the offer has ended at this moment. */
export function stateOf({ end, expiresAtMs }: TradeOffer, nowMs: number): 'open' | TradeEnd {
  return end?.kind ?? (nowMs >= expiresAtMs ? 'expired' : 'open');
}

/**
 * The end of an open offer that a side wants.
 * @returns `refused` when only the other side can accept it
 */
export function endFor(
  { maker }: Pick<TradeOffer, 'maker'>,
  action: 'accept' | 'decline',
  by: TradeSide,
): 'accepted' | 'declined' | 'withdrawn' | 'refused' {
  if (action === 'accept') return maker === by ? 'refused' : 'accepted';
  return maker === by ? 'withdrawn' : 'declined';
}

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

/** What a side wants of an offer. A repeat has the same `key`. */
export interface EndOfferInput {
  offerId: string;
  action: 'accept' | 'decline';
  by: TradeSide;
  key: string;
  /** Whose offer it must be; absent: anybody's. */
  scope?: NpcScope;
}

/**
 * Accepts, declines or withdraws an offer. Of two sides that end it at the same time, one succeeds.
 * @throws {NpcError} there is no such offer, it has ended, or only the other side can accept it
 * @throws {StorageUnavailableError} safe to repeat with the same key
 */
export async function endOffer(
  { trades, clock }: { trades: NpcTrades; clock: Pick<Clock, 'now'> },
  { offerId, action, by, key, scope }: EndOfferInput,
): Promise<ScopedTradeOffer> {
  const offer = await trades.find(offerId);
  if (!offer || (scope && (offer.npc !== scope.npc || offer.peer !== scope.peer))) throw noSuchOffer();
  if (offer.end?.key === key) return offer;
  const state = stateOf(offer, clock.now());
  if (state === 'expired' && !offer.end) await trades.end(offerId, { kind: 'expired' });
  if (state !== 'open') throw invalidParam('offerId', `The offer is ${state} already.`);
  const kind = endFor(offer, action, by);
  if (kind === 'refused') throw invalidParam('offerId', 'Only the other side can accept this offer.');
  const ended = await trades.end(offerId, { kind, by, key });
  if (!ended?.end) throw noSuchOffer();
  if (ended.end.key !== key) throw invalidParam('offerId', `The offer is ${ended.end.kind} already.`);
  return ended;
}

function noSuchOffer() {
  return invalidParam('offerId', 'There is no such offer.');
}
