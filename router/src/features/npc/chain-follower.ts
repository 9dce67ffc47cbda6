import { LogThrottle } from '../../core/log-throttle.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { ChainSettingsError, type NpcChain, type NpcChainEvents, type NpcTransactions } from './npc-chain.ts';
import type { NpcTask } from './npc-tasks.ts';
import { settleTransaction } from './perform-chain-task.ts';

/** A younger transaction is looked at by its own task. */
const UNSETTLED_MS = 120_000;
const MAX_UNSETTLED = 50;
/** How often old transactions are looked at, and may get higher fees. */
const SETTLE_EVERY_MS = 60_000;
/** Blocks of one request; RPC servers refuse more than about a thousand. */
const MAX_BLOCKS = 500n;
/** Requests of one sweep: a long absence is made up for in several. */
const MAX_REQUESTS = 20;

export interface ChainFollowerDeps {
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
    throw new ChainSettingsError('There are no chain settings, or this node has no key of the wallet.');
  const kind = type === 'duel' ? 'duel-created' : 'quest-completed';
  const events = await chainEvents.list({ source: current.eventSource, kind, limit: MAX_LISTED });
  const shown = events.map(({ values, transactionHash, blockNumber }) => ({
    ...values,
    transactionHash,
    blockNumber: Number(blockNumber),
  }));
  return { success: true, [type === 'duel' ? 'duels' : 'quests']: shown };
}
