import type { Clock } from '../../core/ports/clock.ts';
import type { NpcScope } from './npc-emotions.ts';
import { invalidParam } from './npc-error.ts';
import type { NpcTrades, ScopedTradeOffer } from './npc-trades.ts';
import { endFor, stateOf, type TradeSide } from './trades.ts';

export interface EndOfferDeps {
  trades: NpcTrades;
  clock: Pick<Clock, 'now'>;
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
  { trades, clock }: EndOfferDeps,
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
