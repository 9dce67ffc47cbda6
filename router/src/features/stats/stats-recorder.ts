import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { TurnResult } from '../../core/turns/turn.ts';
import type { AccountCounts, RouteCounts, Stats } from './postgres-stats.ts';

const REPORT_MS = 60_000;
/** Accounts, and routes, with counts of their own; those of further ones are not counted. */
const MAX_COUNTED = 10_000;

/**
 * Counts messages and answers of this node, by account and by route, and stores the counts once a minute in one statement; nothing when nothing
 * happened. A crash loses the counts of the last minute; while the database is unavailable they are kept.
 */
export class StatsRecorder {
  readonly #stats: Pick<Stats, 'add'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stopping = new AbortController();
  #counts = new Map<string, AccountCounts>();
  #ofRoutes = new Map<string, RouteCounts>();
  #running: Promise<void> = Promise.resolve();

  constructor(stats: Pick<Stats, 'add'>, clock: Clock, log: Logger) {
    this.#stats = stats;
    this.#clock = clock;
    this.#log = log;
  }

  /** A message was stored. */
  received(accountId: string): void {
    const counts = this.#of(accountId);
    if (counts) counts.messages += 1;
  }

  /**
   * A turn ended.
   * @param receivedAtMs when its message was stored, by the database's clock
   */
  ended(
    { state, routeId }: Pick<TurnResult, 'state' | 'routeId'>,
    accountId: string,
    receivedAtMs: number,
  ): void {
    if (routeId !== undefined) this.#addRoute({ routeId, messages: 1, failures: state === 'dead' ? 1 : 0 });
    const counts = state === 'ignored' ? undefined : this.#of(accountId);
    if (!counts) return;
    if (state === 'dead') {
      counts.failures += 1;
      return;
    }
    counts.answers += 1;
    const bucket = bucketOf(this.#clock.now() - receivedAtMs);
    counts.times[bucket] = (counts.times[bucket] ?? 0) + 1;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Stores what was counted. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#report();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#clock.sleep(REPORT_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.#report();
    }
  }

  async #report(): Promise<void> {
    if (this.#counts.size === 0 && this.#ofRoutes.size === 0) return;
    const [counts, ofRoutes] = [this.#counts, this.#ofRoutes];
    this.#counts = new Map();
    this.#ofRoutes = new Map();
    try {
      await this.#stats.add(this.#clock.now(), [...counts.values()], [...ofRoutes.values()]);
    } catch (error) {
      this.#log.debug({ err: error }, 'counts not stored, retrying with the next ones');
      for (const each of counts.values()) this.#addAgain(each);
      for (const each of ofRoutes.values()) this.#addRoute(each);
    }
  }

  #addRoute({ routeId, messages, failures }: RouteCounts): void {
    const known = this.#ofRoutes.get(routeId);
    if (!known && this.#ofRoutes.size >= MAX_COUNTED) return;
    this.#ofRoutes.set(routeId, {
      routeId,
      messages: messages + (known?.messages ?? 0),
      failures: failures + (known?.failures ?? 0),
    });
  }

  #addAgain({ accountId, messages, answers, failures, times }: AccountCounts): void {
    const counts = this.#of(accountId);
    if (!counts) return;
    counts.messages += messages;
    counts.answers += answers;
    counts.failures += failures;
    counts.times = counts.times.map((count, bucket) => count + (times[bucket] ?? 0));
  }

  #of(accountId: string): AccountCounts | undefined {
    const known = this.#counts.get(accountId);
    if (known || this.#counts.size >= MAX_COUNTED) return known;
    const times = Array.from({ length: TIME_BUCKETS }, () => 0);
    const counts = { accountId, messages: 0, answers: 0, failures: 0, times };
    this.#counts.set(accountId, counts);
    return counts;
  }
}

/** Upper bounds of the buckets of answer times, in milliseconds. Longer ones are in one more bucket. */
const BOUNDS_MS = [
  50, 100, 150, 200, 300, 400, 600, 800, 1_200, 1_600, 2_400, 3_200, 5_000, 7_500, 10_000, 15_000, 20_000,
  30_000, 45_000, 60_000, 90_000, 120_000, 300_000, 600_000, 3_600_000,
];

/** How many buckets a histogram of answer times has. Stored ones have as many. */
export const TIME_BUCKETS = BOUNDS_MS.length + 1;

/** The bucket of a time, from 0. */
export function bucketOf(ms: number): number {
  const bucket = BOUNDS_MS.findIndex((bound) => ms <= bound);
  return bucket < 0 ? BOUNDS_MS.length : bucket;
}

/**
 * The time below which this share of the counted times is, in milliseconds, as exact as the buckets are.
 * @param counts of each bucket; histograms of several nodes or minutes are added up before
 * @param share above 0, up to 1
 * @returns undefined: nothing was counted
 */
export function percentileMs(counts: readonly number[], share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let rank = share * total;
  for (const [bucket, count] of counts.entries()) {
    if (rank <= count) {
      const low = BOUNDS_MS[bucket - 1] ?? 0;
      const high = BOUNDS_MS[bucket] ?? low;
      return Math.round(low + ((high - low) * rank) / count);
    }
    rank -= count;
  }
  return BOUNDS_MS.at(-1);
}
