import type { Clock } from '../../core/clock.ts';
import { invalidParam } from './json-rpc.ts';
import {
  DEFAULT_EXPIRES_SECONDS,
  DEFAULT_IMPORTANCE,
  emotionsAt,
  endOffer,
  type Memory,
  memoryText,
  type NpcEmotions,
  type NpcMemories,
  type NpcScope,
  type NpcTrades,
  rankMemories,
  type ScopedTradeOffer,
  stateOf,
  totalOf,
} from './memories.ts';
import type { NpcTask } from './npc-tasks.ts';

const DEFAULT_RECALLED = 5;
const MAX_LISTED = 50;

export interface NpcCapabilityDeps {
  emotions: NpcEmotions;
  memories: NpcMemories;
  trades: NpcTrades;
  clock: Pick<Clock, 'now'>;
}

/** Parameters as `checkedTask` returns them. */
type Task = Pick<NpcTask, 'taskId' | 'params'>;

/**
 * Adds an emotion, unless the action is `show`; the result has what is felt now. Safe to repeat.
 * @throws {StorageUnavailableError}
 */
export async function performEmotion(
  { emotions, clock }: NpcCapabilityDeps,
  scope: NpcScope,
  { taskId, params }: Task,
): Promise<Record<string, unknown>> {
  if (params.action !== 'show') {
    const { trigger, intensity, context } = params as {
      trigger: string;
      intensity: number;
      context?: Record<string, unknown>;
    };
    await emotions.add(scope, { taskId, trigger, intensity, ...(context && { context }) });
  }
  const felt = emotionsAt(await emotions.events(scope), clock.now());
  return { success: true, emotions: felt, ...(felt[0] && { mood: felt[0].trigger }) };
}

/**
 * Stores, recalls or forgets memories. Safe to repeat.
 * @throws {NpcError} there is nothing to forget
 * @throws {StorageUnavailableError}
 */
export async function performMemory(
  { memories, clock }: NpcCapabilityDeps,
  scope: NpcScope,
  { taskId, params }: Task,
): Promise<Record<string, unknown>> {
  const { action, query, limit, memoryId } = params as {
    action?: string;
    query?: string;
    limit?: number;
    memoryId?: string;
  };
  if (action === 'recall') {
    const found = await memories.recall(scope, query, { isMatchOnly: query !== undefined });
    const best = rankMemories(found, { nowMs: clock.now(), limit: limit ?? DEFAULT_RECALLED });
    return { success: true, memories: best.map(shownMemory) };
  }
  if (action === 'forget') {
    if (!(await memories.forget(scope, memoryId ?? '', taskId))) {
      throw invalidParam('memoryId', 'There is no such memory.');
    }
    return { success: true, memoryId };
  }
  const { memoryType, content, importance } = params as {
    memoryType: string;
    content: Record<string, unknown>;
    importance?: number;
  };
  const id = await memories.add(scope, {
    taskId,
    memoryType,
    content,
    importance: importance ?? DEFAULT_IMPORTANCE,
    text: memoryText(content),
  });
  return { success: true, memoryId: id };
}

function shownMemory({ createdAtMs, ...memory }: Memory): Record<string, unknown> {
  return { ...memory, createdAt: createdAtMs };
}

/**
 * Makes, accepts, declines or lists offers of the peer. Safe to repeat.
 * @throws {NpcError} the offer cannot be made or ended
 * @throws {StorageUnavailableError}
 */
export async function performTrade(
  deps: NpcCapabilityDeps,
  scope: NpcScope,
  { taskId, params }: Task,
): Promise<Record<string, unknown>> {
  const { trades, clock } = deps;
  const { action, offerId } = params as { action?: string; offerId?: string };
  const shown = (offer: ScopedTradeOffer) => shownOffer(offer, clock.now());
  if (action === 'list') {
    const offers = await trades.list({ scope, limit: MAX_LISTED });
    return { success: true, offers: offers.map(shown) };
  }
  if (action === 'accept' || action === 'decline') {
    const ended = await endOffer(deps, { offerId: offerId ?? '', action, by: 'peer', key: taskId, scope });
    return { success: true, ...shown(ended) };
  }
  const terms = tradeTerms(params, clock.now());
  return { success: true, ...shown(await trades.offer(scope, { ...terms, maker: 'peer' }, taskId)) };
}

/** Terms of an offer, from checked parameters. @throws {NpcError} the total has more than 256 bits */
export function tradeTerms(params: Readonly<Record<string, unknown>>, nowMs: number) {
  const { item, quantity, price, currency, direction, expiresIn } = params as {
    item: string;
    quantity: number;
    price: string;
    currency?: string;
    direction?: 'sell' | 'buy';
    expiresIn?: number;
  };
  const total = totalOf(quantity, price);
  if (total === undefined) throw invalidParam('price', 'The price of all items has more than 256 bits.');
  return {
    direction: direction ?? ('sell' as const),
    item,
    quantity,
    price,
    total,
    ...(currency !== undefined && { currency }),
    expiresAtMs: nowMs + (expiresIn ?? DEFAULT_EXPIRES_SECONDS) * 1_000,
  };
}

function shownOffer(offer: ScopedTradeOffer, nowMs: number): Record<string, unknown> {
  const { npc: _npc, peer: _peer, end: _end, expiresAtMs, createdAtMs, ...terms } = offer;
  return { ...terms, state: stateOf(offer, nowMs), createdAt: createdAtMs, expiresAt: expiresAtMs };
}
