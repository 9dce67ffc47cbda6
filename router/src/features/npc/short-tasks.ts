import type { Clock } from '../../core/clock.ts';
import { isRetryable } from '../../core/errors.ts';
import { type Logger, LogThrottle } from '../../core/logger.ts';
import { invalidParam, NpcError } from './json-rpc.ts';
import {
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
import {
  ChainSettingsError,
  type NpcChain,
  type NpcChainEvents,
  type NpcServerSettings,
  type NpcTransactions,
} from './npc-chain.ts';
import { NOT_PERFORMED, type NpcTask, type NpcTaskEnd, type NpcTasks, peerOf } from './npc-tasks.ts';
import { isChainTask, settleTransaction } from './perform-chain-task.ts';

/** The importance of a memory that is stored without one. */
const DEFAULT_IMPORTANCE = 50;

/** How long an offer can be accepted, unless its maker says otherwise. */
const DEFAULT_EXPIRES_SECONDS = 86_400;

const DEFAULT_RECALLED = 5;

interface NpcCapabilityDeps {
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

/** Tasks that may wait on a node. Further ones stay stored, and are started by `openNpcTasks`. */
const MAX_WAITING = 1_000;
/** Tasks whose ends are stored together. */
const MAX_TOGETHER = 16;

interface ShortTaskDeps extends NpcCapabilityDeps {
  npcTasks: Pick<NpcTasks, 'finish'>;
  chainEvents: NpcChainEvents;
  /** Undefined: there are no chain settings. */
  chain(): Promise<NpcChain | undefined>;
  settings(): Promise<NpcServerSettings>;
  log: Logger;
}

type Perform = (deps: ShortTaskDeps, scope: NpcScope, task: NpcTask) => Promise<Record<string, unknown>>;

const CAPABILITIES: Readonly<Record<string, Perform>> = {
  emotion: performEmotion,
  memory: performMemory,
  trade: performTrade,
  // Only their action `list`: the others are transactions.
  duel: (deps, _scope, task) => listChainEvents(deps, task),
  quest: (deps, _scope, task) => listChainEvents(deps, task),
};

/** Tasks of one effect in the database, which is safe to repeat. */
export function isShortTask(task: Pick<NpcTask, 'type' | 'params'>): boolean {
  return Object.hasOwn(CAPABILITIES, task.type) && !isChainTask(task);
}

/** Whether a task only adds a memory. Several of them need no order, so that one statement can add all. */
function addsMemory({ type, params: { action } }: NpcTask): boolean {
  return type === 'memory' && action !== 'recall' && action !== 'forget';
}

/** Cuts tasks into groups to perform one after the other; the tasks of one group are performed at the same time. */
function groupsOf(tasks: readonly NpcTask[]): NpcTask[][] {
  const groups: NpcTask[][] = [];
  let before: NpcTask | undefined;
  for (const task of tasks) {
    if (before && addsMemory(before) && addsMemory(task)) groups.at(-1)?.push(task);
    else groups.push([task]);
    before = task;
  }
  return groups;
}

/**
 * Performs short tasks in the order in which they were added, so that they do not slow down the calls that open more.
 * Neighbours that only add a memory are performed at the same time. The stored task is all that a crash needs: its effect
 * is safe to repeat, so that a workflow would only add statements.
 */
export class ShortTasks {
  readonly #deps: ShortTaskDeps;
  readonly #waiting: NpcTask[] = [];
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: ShortTaskDeps) {
    this.#deps = deps;
  }

  /** Performs a stored task soon. A task that cannot be performed now stays `pending`. */
  add(task: NpcTask): void {
    if (this.#isStopped || this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(task);
    this.#running ??= this.#performAll().finally(() => {
      this.#running = undefined;
    });
  }

  /** Ends the task that runs; those that wait stay `pending`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #performAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const ending: Promise<void>[] = [];
      for (const group of groupsOf(this.#waiting.splice(0, MAX_TOGETHER))) {
        if (this.#isStopped) break;
        const performed = await Promise.all(group.map((task) => this.#perform(task)));
        // The next effect does not wait until this end is stored.
        ending.push(...performed.map((finish) => finish()));
      }
      await Promise.all(ending);
    }
  }

  /** @returns stores the end of the task; never rejects */
  async #perform(task: NpcTask): Promise<() => Promise<void>> {
    const log = this.#deps.log.child({ task: task.taskId });
    const retry = (error: unknown) => log.warn({ err: error }, 'npc task not performed, retrying');
    try {
      const end = await this.#endOf(task, log);
      return async () => {
        try {
          await this.#deps.npcTasks.finish(task.taskId, end);
          log.info({ status: end.status }, 'npc task ended');
        } catch (error) {
          retry(error);
        }
      };
    } catch (error) {
      retry(error);
      return async () => undefined;
    }
  }

  /** @throws errors with disposition `retry` */
  async #endOf(task: NpcTask, log: Logger): Promise<NpcTaskEnd> {
    try {
      const perform = CAPABILITIES[task.type];
      if (!perform) throw new TypeError(`${task.type} is no short task`);
      const { name } = await this.#deps.settings();
      return {
        status: 'completed',
        result: await perform(this.#deps, { npc: name, peer: peerOf(task) }, task),
      };
    } catch (error) {
      if (error instanceof NpcError) return { status: 'failed', error: error.body };
      if (isRetryable(error)) throw error;
      log.error({ err: error }, 'npc task failed');
      return NOT_PERFORMED;
    }
  }
}

/** A younger transaction is looked at by its own task. */
const UNSETTLED_MS = 120_000;
const MAX_UNSETTLED = 50;
/** How often old transactions are looked at, and may get higher fees. */
const SETTLE_EVERY_MS = 60_000;
/** Blocks of one request; RPC servers refuse more than about a thousand. */
const MAX_BLOCKS = 500n;
/** Requests of one sweep: a long absence is made up for in several. */
const MAX_REQUESTS = 20;

interface ChainFollowerDeps {
  /** Of the settings of this moment; undefined: there are none. */
  chain(): Promise<NpcChain | undefined>;
  transactions: NpcTransactions;
  chainEvents: NpcChainEvents;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

/**
 * Follows the events of the contracts, and ends transactions whose tasks no longer do: a nonce that was given out would
 * block the wallet until its transaction is executed. One node does this at a time; two do no harm.
 */
export class ChainFollower {
  readonly #deps: ChainFollowerDeps;
  readonly #throttle: LogThrottle;
  readonly #looks = new Map<string, number>();
  #settledMs: number | undefined;

  constructor(deps: ChainFollowerDeps) {
    this.#deps = deps;
    this.#throttle = new LogThrottle(() => deps.clock.monotonicMs());
  }

  /** Does what there is to do now. Never rejects. */
  async sweep(): Promise<void> {
    try {
      const chain = await this.#deps.chain();
      if (!chain) return;
      await this.#followEvents(chain);
      await this.#settleOld(chain);
    } catch (error) {
      const count = this.#throttle.count('failed');
      if (count !== undefined)
        this.#deps.log.warn({ err: error, count }, 'chain cannot be followed, retrying');
    }
  }

  async #followEvents(chain: NpcChain): Promise<void> {
    const { chainEvents, log } = this.#deps;
    const source = chain.eventSource;
    const safe = await chain.safeBlock();
    if (safe === undefined) return;
    let cursor = await chainEvents.cursor(source);
    for (let request = 0; request < MAX_REQUESTS; request += 1) {
      const first = cursor === undefined ? (chain.startBlock ?? safe) : cursor + 1n;
      if (first > safe) return;
      const to = first + MAX_BLOCKS - 1n < safe ? first + MAX_BLOCKS - 1n : safe;
      const events = await chain.events(first, to);
      // Another node has stored them when the cursor is not the one that was read.
      if (!(await chainEvents.store(source, events, { from: cursor, to }))) return;
      for (const { kind, transactionHash } of events)
        log.info({ kind, transaction: transactionHash }, 'chain event');
      cursor = to;
    }
  }

  async #settleOld(chain: NpcChain): Promise<void> {
    const { transactions, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (this.#settledMs !== undefined && nowMs - this.#settledMs < SETTLE_EVERY_MS) return;
    this.#settledMs = nowMs;
    for (const transaction of await transactions.unsettled(chain.chainId, UNSETTLED_MS, MAX_UNSETTLED)) {
      await settleTransaction(this.#deps, chain, transaction, { mayRaise: true, looks: this.#looks });
    }
  }
}

const MAX_LISTED = 50;

/**
 * Duels of the wallet, or completed quests, as the chain has recorded them; newest first.
 * @throws {StorageUnavailableError} safe to repeat
 */
export async function listChainEvents(
  { chain, chainEvents }: { chain(): Promise<NpcChain | undefined>; chainEvents: NpcChainEvents },
  { type }: Pick<NpcTask, 'type'>,
): Promise<Record<string, unknown>> {
  const current = await chain();
  if (!current)
    throw new ChainSettingsError({
      sentence: 'There are no chain settings, or this node has no key of the wallet.',
    });
  const kind = type === 'duel' ? 'duel-created' : 'quest-completed';
  const events = await chainEvents.list({ source: current.eventSource, kind, limit: MAX_LISTED });
  const shown = events.map(({ values, transactionHash, blockNumber }) => ({
    ...values,
    transactionHash,
    blockNumber: Number(blockNumber),
  }));
  return { success: true, [type === 'duel' ? 'duels' : 'quests']: shown };
}
