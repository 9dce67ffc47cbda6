import type {
  AccountCounts,
  RouteCounts,
  StatPoint,
  StatQuery,
  Stats,
} from '../../router/src/features/stats/postgres-stats.ts';

/** Counts in memory, as they came. */
export class MemoryStats implements Stats {
  readonly added: Array<AccountCounts & { atMs: number }> = [];
  readonly addedOfRoutes: Array<RouteCounts & { atMs: number }> = [];
  /** Set: `add` fails with it. */
  failure: Error | undefined;

  async add(atMs: number, counts: readonly AccountCounts[], ofRoutes: readonly RouteCounts[]): Promise<void> {
    if (this.failure) throw this.failure;
    for (const each of counts) this.added.push({ ...structuredClone(each), atMs });
    for (const each of ofRoutes) this.addedOfRoutes.push({ ...each, atMs });
  }

  async read({ accountId, fromMs, stepMs }: StatQuery): Promise<StatPoint[]> {
    const unitMs = stepMs % 3_600_000 === 0 ? 3_600_000 : 60_000;
    const points = new Map<number, StatPoint>();
    for (const each of this.added) {
      const beginsAtMs = Math.floor(each.atMs / unitMs) * unitMs;
      if (beginsAtMs < fromMs || (accountId !== undefined && each.accountId !== accountId)) continue;
      const atMs = Math.floor(each.atMs / stepMs) * stepMs;
      const point = points.get(atMs) ?? { atMs, messages: 0, answers: 0, failures: 0, times: [] };
      points.set(atMs, {
        atMs,
        messages: point.messages + each.messages,
        answers: point.answers + each.answers,
        failures: point.failures + each.failures,
        times: each.times.map((count, bucket) => count + (point.times[bucket] ?? 0)),
      });
    }
    return [...points.values()].sort((a, b) => a.atMs - b.atMs);
  }

  async ofRoutes(fromMs: number): Promise<RouteCounts[]> {
    const hourMs = (ms: number) => Math.floor(ms / 3_600_000);
    const found = new Map<string, RouteCounts>();
    for (const { atMs, routeId, messages, failures } of this.addedOfRoutes) {
      if (hourMs(atMs) < hourMs(fromMs)) continue;
      const before = found.get(routeId);
      found.set(routeId, {
        routeId,
        messages: messages + (before?.messages ?? 0),
        failures: failures + (before?.failures ?? 0),
      });
    }
    return [...found.values()];
  }
}
