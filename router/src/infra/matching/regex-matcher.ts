import { LRUCache } from 'lru-cache';
import type { Piscina } from 'piscina';
import { Wa2aiError } from '../../core/errors.ts';
import type { TextMatcher } from '../../core/ports/converters.ts';
import type { MatchResult } from '../../core/routing/route-message.ts';

interface RegexMatcherOptions {
  /** Longest run of the first attempt, in milliseconds. Default 40. */
  budgetMs?: number;
  /** Longest run of the second and last attempt, in milliseconds. Default 100. */
  secondBudgetMs?: number;
  /** How long a pattern that timed out repeatedly is not run, in milliseconds. Default 10,000. */
  quarantineMs?: number;
}

/** Earlier results of a pattern. */
interface History {
  /** Length of the shortest text that made the pattern time out. Infinity: it never did. */
  slowFromChars: number;
  /** Tests in a row that ended in `timeout`. */
  timeouts: number;
  quarantinedUntilMs: number;
}

/** Longer texts are cut: no WhatsApp app lets a person write more. */
export const MAX_MATCHED_CHARS = 65_536;
const TIMEOUTS_TO_QUARANTINE = 3;
const SLOW_TTL_MS = 600_000;

/**
 * Tests patterns on two threads, so that no pattern and no text can block the event loop or another chat. One thread
 * runs patterns that ended in time before (on texts of that length), the other new and slow patterns; each runs one
 * test at a time, in order.
 * - A test that exceeds `budgetMs` is run once more with `secondBudgetMs`, so that a machine that paused for a moment
 *   does not make a good pattern fail. Then it ends in `timeout`.
 * - After three timeouts in a row a pattern is in quarantine for `quarantineMs`: texts at least as long as the shortest
 *   that timed out are `timeout` immediately. Shorter texts are still tested, so one person's hostile text does not disable
 *   a route for everybody.
 *
 * The threads start with the first tests, which also load the package. A thread that dies (out of memory) makes its test `timeout` and is replaced.
 */
export class RegexMatcher implements TextMatcher {
  readonly #budgetMs: number;
  readonly #secondBudgetMs: number;
  readonly #quarantineMs: number;
  readonly #histories = new LRUCache<string, History>({ max: 5_000 });
  /** End of the last test of each queue; tests of a queue follow one another. */
  readonly #queues: Record<'fast' | 'slow', Promise<unknown>> = {
    fast: Promise.resolve(),
    slow: Promise.resolve(),
  };
  #threads: Promise<Piscina> | undefined;
  #isClosed = false;

  constructor(options: RegexMatcherOptions = {}) {
    this.#budgetMs = options.budgetMs ?? 40;
    this.#secondBudgetMs = options.secondBudgetMs ?? 100;
    this.#quarantineMs = options.quarantineMs ?? 10_000;
  }

  /** @throws {Wa2aiError} MATCHER_CLOSED, disposition `retry`: the service is stopping */
  async test(patternAsWritten: string, fullText: string): Promise<MatchResult> {
    // Phones write an accent as part of its letter or behind it.
    const pattern = patternAsWritten.normalize('NFC');
    const text = fullText.slice(0, MAX_MATCHED_CHARS).normalize('NFC');
    if (this.#isQuarantined(pattern, text)) return 'timeout';
    const slowFromChars = this.#histories.get(pattern)?.slowFromChars ?? 0;
    const queue = text.length < slowFromChars ? 'fast' : 'slow';
    const result = this.#queues[queue].then(() => this.#testNow(pattern, text));
    this.#queues[queue] = result.catch(() => undefined);
    return result;
  }

  /** Ends the threads. Running and waiting tests are rejected as `test` says. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const threads = await this.#threads;
    await threads?.destroy();
  }

  async #testNow(pattern: string, text: string): Promise<MatchResult> {
    // A test that waited before this one may have put the pattern in quarantine.
    if (this.#isQuarantined(pattern, text)) return 'timeout';
    let result = await this.#run(pattern, text, this.#budgetMs);
    if (result === 'timeout') result = await this.#run(pattern, text, this.#secondBudgetMs);
    this.#addToHistory(pattern, text, result);
    return result;
  }

  #isQuarantined(pattern: string, text: string): boolean {
    const history = this.#histories.get(pattern);
    if (history === undefined || text.length < history.slowFromChars) return false;
    return history.quarantinedUntilMs > performance.now();
  }

  async #run(pattern: string, text: string, budgetMs: number): Promise<MatchResult> {
    if (this.#isClosed) throw closedError();
    this.#threads ??= startThreads();
    const threads = await this.#threads;
    try {
      return await threads.run({ pattern, text, budgetMs });
    } catch {
      // The thread died; Piscina has replaced it.
      if (this.#isClosed) throw closedError();
      return 'timeout';
    }
  }

  #addToHistory(pattern: string, text: string, result: MatchResult): void {
    const { slowFromChars, timeouts } = this.#histories.get(pattern) ?? {
      slowFromChars: Infinity,
      timeouts: 0,
    };
    if (result !== 'timeout') {
      const isKnownSlow = slowFromChars !== Infinity;
      const history = { slowFromChars, timeouts: 0, quarantinedUntilMs: 0 };
      this.#histories.set(pattern, history, isKnownSlow ? { ttl: SLOW_TTL_MS } : {});
      return;
    }
    const history = {
      slowFromChars: Math.min(slowFromChars, text.length),
      timeouts: timeouts + 1,
      quarantinedUntilMs: timeouts + 1 >= TIMEOUTS_TO_QUARANTINE ? performance.now() + this.#quarantineMs : 0,
    };
    this.#histories.set(pattern, history, { ttl: SLOW_TTL_MS });
  }
}

async function startThreads(): Promise<Piscina> {
  const { Piscina } = await import('piscina');
  return new Piscina({
    filename: new URL('./regex-worker.mjs', import.meta.url).href,
    minThreads: 2,
    maxThreads: 2,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 },
  });
}

function closedError(): Wa2aiError {
  return new Wa2aiError('MATCHER_CLOSED', 'retry', {
    sentence: 'The service is stopping; the text was not matched.',
  });
}
