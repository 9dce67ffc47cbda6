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

export interface TradeOfferEnd {
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
