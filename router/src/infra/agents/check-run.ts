import { Wa2aiError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { CheckReport, CheckResult } from './agent-tools.ts';

/** What a check found: the result and a sentence about it. */
export type Found = [result: CheckResult['result'], found: string];

/** Runs checks of an agent one after another and collects their results. */
export class CheckRun {
  readonly #url: string;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #results: CheckResult[] = [];

  constructor(url: string, clock: Pick<Clock, 'monotonicMs'>) {
    this.#url = url;
    this.#clock = clock;
  }

  /** Runs one check. A Wa2aiError is its failure; any other error rejects. */
  async run(check: string, work: () => Promise<Found>): Promise<CheckResult['result']> {
    const startedMs = this.#clock.monotonicMs();
    let [result, found]: Found = ['fail', ''];
    try {
      [result, found] = await work();
    } catch (error) {
      if (!(error instanceof Wa2aiError)) throw error;
      found = error.message;
    }
    this.#results.push({ check, result, found, ms: Math.round(this.#clock.monotonicMs() - startedMs) });
    return result;
  }

  /** Adds a check of the time of all checks so far: a warning if one took longer than `limitMs`. */
  runTimes(limitMs: number): void {
    const slowest = Math.max(0, ...this.#results.map(({ ms }) => ms));
    this.#results.push({
      check: `every answer comes within ${limitMs / 1_000} s`,
      result: slowest > limitMs ? 'warn' : 'pass',
      found: `the slowest took ${slowest} ms`,
      ms: slowest,
    });
  }

  report(): CheckReport {
    const isConforming = this.#results.every(({ result }) => result !== 'fail');
    return { url: this.#url, isConforming, results: this.#results };
  }
}
