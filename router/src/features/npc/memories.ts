import type { Clock } from '../../core/clock.ts';
import { invalidParam } from './json-rpc.ts';

/** What the NPC remembers of a peer. */
export interface Memory {
  memoryId: string;
  memoryType: string;
  content: Record<string, unknown>;
  /** 0 to 100. */
  importance: number;
  createdAtMs: number;
}

/** A memory that may be recalled. `relevance` is how well its words match the query, from 0 (not at all), by any measure. */
export interface RecalledMemory extends Memory {
  relevance: number;
}

/** After this time, a memory counts half as recent. */
const HALF_RECENT_MS = 7 * 86_400_000;
const MAX_TEXT_CHARS = 20_000;

/**
 * The best memories first: those that match the query, then the recent and the important ones. Relevance counts as much as
 * recency and importance together.
 */
export function rankMemories(
  candidates: readonly RecalledMemory[],
  { nowMs, limit }: { nowMs: number; limit: number },
): Memory[] {
  const most = Math.max(...candidates.map(({ relevance }) => relevance), Number.MIN_VALUE);
  const scored = candidates.map(({ relevance, ...memory }) => {
    const ageMs = Math.max(0, nowMs - memory.createdAtMs);
    const score = (2 * relevance) / most + 0.5 ** (ageMs / HALF_RECENT_MS) + memory.importance / 100;
    return { memory, score };
  });
  return scored
    .sort((a, b) => b.score - a.score || Number(BigInt(b.memory.memoryId) - BigInt(a.memory.memoryId)))
    .slice(0, limit)
    .map(({ memory }) => memory);
}

/** The words of a memory, which are searched: every text of its content. */
export function memoryText(content: unknown): string {
  const texts: string[] = [];
  const open: unknown[] = [content];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string' || typeof value === 'number') texts.push(String(value));
    else if (typeof value === 'object' && value !== null) open.push(...Object.values(value).reverse());
  }
  return texts.join(' ').slice(0, MAX_TEXT_CHARS);
}

/**
 * What NPCs remember of their peers.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcMemories {
  /** Stores a memory; `text` are its words. Idempotent: a task stores one. @returns its id */
  add(
    scope: NpcScope,
    memory: Pick<Memory, 'memoryType' | 'content' | 'importance'> & { taskId: string; text: string },
  ): Promise<string>;
  /**
   * Memories that may be the best ones, in any order, at most 100: with a query, those that match any of its words; and
   * unless `isMatchOnly`, the newest and the most important ones.
   */
  recall(
    scope: NpcScope,
    query: string | undefined,
    options: { isMatchOnly: boolean },
  ): Promise<RecalledMemory[]>;
  /** Deletes the content of a memory. A repeat by the same task is one. @returns false: this peer has no such memory */
  forget(scope: NpcScope, memoryId: string, taskId: string): Promise<boolean>;
}

/** Something that made the NPC feel, as it was stored. */
export interface EmotionEvent {
  /** What was felt, or what caused it: `gift`. */
  trigger: string;
  /** 0 to 100. */
  intensity: number;
  atMs: number;
}

/** What the NPC feels now. */
export interface Emotion {
  trigger: string;
  /** Whole number from 1 to 100. */
  intensity: number;
}

/** After this time, half of an emotion is gone. */
const HALF_LIFE_MS = 3_600_000;

/** An event that is older adds less than a tenth of a point. */
export const FORGOTTEN_AFTER_MS = 10 * HALF_LIFE_MS;

/**
 * What the NPC feels at a moment, strongest first. Events with the same trigger add up, to 100 at most, and decay in between.
 * @param events in any order
 */
export function emotionsAt(events: readonly EmotionEvent[], nowMs: number): Emotion[] {
  const felt = new Map<string, { value: number; atMs: number }>();
  for (const { trigger, intensity, atMs } of [...events].sort((a, b) => a.atMs - b.atMs)) {
    const before = felt.get(trigger);
    const value = Math.min(100, intensity + (before ? decayed(before, atMs) : 0));
    felt.set(trigger, { value, atMs });
  }
  return [...felt]
    .map(([trigger, state]) => ({ trigger, intensity: Math.round(decayed(state, nowMs)) }))
    .filter(({ intensity }) => intensity > 0)
    .sort((a, b) => b.intensity - a.intensity || (a.trigger < b.trigger ? -1 : 1));
}

/** A clock that goes back lets nothing grow. */
function decayed({ value, atMs }: { value: number; atMs: number }, nowMs: number): number {
  return value * 0.5 ** (Math.max(0, nowMs - atMs) / HALF_LIFE_MS);
}

/** Whose state: of the NPC of this name towards this peer. */
export interface NpcScope {
  npc: string;
  peer: string;
}

/**
 * What made NPCs feel.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcEmotions {
  /** Idempotent: a task stores one event. */
  add(
    scope: NpcScope,
    event: { taskId: string; trigger: string; intensity: number; context?: Record<string, unknown> },
  ): Promise<void>;
  /** Events that are not forgotten, in any order; at most 1,000. */
  events(scope: NpcScope): Promise<EmotionEvent[]>;
}

/** The two sides of a trade: the caller of the NPC server, and the NPC with its operator. */
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
interface EndOfferInput {
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
