import { LRUCache } from 'lru-cache';
import { Wa2aiError } from '../../core/errors.ts';
import type { TextMatcher } from '../../core/ports/text-matcher.ts';
import type { MatchResult } from '../../core/routing/route-table.ts';
import { RegexWorker } from './regex-worker.ts';

export interface RegexMatcherOptions {
  /** How long a test may hold a thread at first. Default 40 ms. */
  budgetMs?: number;
  /** The same for its second and last try. Default 150 ms. */
  patientBudgetMs?: number;
  /** How long a pattern in quarantine is not tried. Default 10,000 ms. */
  quarantineMs?: number;
}

/** `proven` ended in time before · `doubtful` new, or a suspect · `patient` the second try of a test. */
type Lane = 'proven' | 'doubtful' | 'patient';

interface Job {
  pattern: string;
  text: string;
  lane: Lane;
  settle(result: MatchResult): void;
  fail(error: Error): void;
}

/** What is known of a pattern. */
interface History {
  /** Shorter texts never made it slow; a longer one makes it a suspect. Infinity: none ever did. */
  slowFromChars: number;
  /** Tests in a row that ended in `timeout`. */
  strikes: number;
  quarantinedUntilMs: number;
}

/** Only so much of a text is matched: no WhatsApp app lets a person write more. */
export const MAX_MATCHED_CHARS = 65_536;
/** One for a new pattern, one for a second try, one for proven patterns, and one that starts when a thread was ended. */
const MAX_THREADS = 4;
const STRIKES_TO_QUARANTINE = 3;
const SUSPECT_TTL_MS = 600_000;

/**
 * Tests patterns on threads of its own, so that no pattern and no text can hold up the event loop or another chat.
 * - A test may hold a thread for `budgetMs`; then the thread is ended and a warm one takes its place.
 * - It gets a second try of `patientBudgetMs`, so that a machine short of cores does not make a good pattern fail.
 * - New patterns are tested one at a time. So are those that ran out of time once, on texts at least as long. A
 *   thread is always left for proven patterns.
 * - Three of them in a row that end in `timeout` put it in quarantine: for `quarantineMs` such texts are `timeout` at
 *   once. Shorter texts are still tested: one stranger's hostile text does not switch a rule off for everybody.
 *
 * Threads start with the first test. Of a text longer than 65,536 characters the rest is not looked at. A machine that
 * gives no more threads makes tests `timeout`.
 */
export class RegexMatcher implements TextMatcher {
  readonly #budgetMs: number;
  readonly #patientBudgetMs: number;
  readonly #quarantineMs: number;
  readonly #histories = new LRUCache<string, History>({ max: 5_000 });
  readonly #threads = new Set<RegexWorker>();
  readonly #busy: Record<Lane, number> = { proven: 0, doubtful: 0, patient: 0 };
  #idle: RegexWorker[] = [];
  #starting = 0;
  #waiting: Job[] = [];
  #isClosed = false;

  constructor(options: RegexMatcherOptions = {}) {
    this.#budgetMs = options.budgetMs ?? 40;
    this.#patientBudgetMs = options.patientBudgetMs ?? 150;
    this.#quarantineMs = options.quarantineMs ?? 10_000;
  }

  /** @throws {Wa2aiError} MATCHER_CLOSED, disposition `retry`: the service is stopping */
  test(pattern: string, text: string): Promise<MatchResult> {
    const cut = text.slice(0, MAX_MATCHED_CHARS);
    return new Promise((settle, fail) => {
      if (this.#isClosed) return fail(closedError());
      const history = this.#histories.get(pattern);
      const isProven = history !== undefined && cut.length < history.slowFromChars;
      if (!isProven && history && history.quarantinedUntilMs > performance.now()) return settle('timeout');
      this.#waiting.push({ pattern, text: cut, lane: isProven ? 'proven' : 'doubtful', settle, fail });
      this.#dispatch();
    });
  }

  /** Ends all threads; tests under way are rejected as `test` says. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.fail(closedError());
    this.#idle = [];
    await Promise.all([...this.#threads].map((thread) => thread.terminate()));
  }

  #dispatch(): void {
    while (this.#idle.length > 0) {
      const next = this.#waiting.findIndex((job) => this.#mayRun(job.lane));
      const job = this.#waiting[next];
      if (!job) break;
      this.#waiting.splice(next, 1);
      void this.#run(this.#idle.pop() as RegexWorker, job);
    }
    if (this.#isClosed) return;
    // Nobody waits for a thread to start, if that can be helped: there are two to begin with, and then one more than busy.
    const wanted = Math.min(Math.max(2, this.#busyThreads() + 1), MAX_THREADS);
    while (this.#threads.size < wanted) void this.#start();
  }

  /** A pattern that may be slow never takes the last thread, and no lane of such patterns more than one. */
  #mayRun(lane: Lane): boolean {
    if (lane === 'proven') return true;
    const ready = this.#threads.size - this.#starting;
    return this.#busy[lane] === 0 && ready - this.#busy.doubtful - this.#busy.patient > 1;
  }

  #busyThreads(): number {
    return this.#busy.proven + this.#busy.doubtful + this.#busy.patient;
  }

  async #start(): Promise<void> {
    const thread = new RegexWorker();
    this.#threads.add(thread);
    this.#starting++;
    const isReady = await thread.ready;
    this.#starting--;
    if (isReady && !this.#isClosed) {
      this.#idle.push(thread);
      this.#dispatch();
      return;
    }
    this.#threads.delete(thread);
    const isStuck = (job: Job) => this.#threads.size === 0 || job.lane !== 'proven';
    this.#drop(isStuck);
  }

  async #run(thread: RegexWorker, job: Job): Promise<void> {
    const { lane } = job;
    this.#busy[lane]++;
    const budgetMs = lane === 'patient' ? this.#patientBudgetMs : this.#budgetMs;
    const verdict = await thread.run(job.pattern, job.text, budgetMs);
    this.#busy[lane]--;
    if (this.#isClosed) return job.fail(closedError());
    if (verdict === 'exceeded' || verdict === 'died') {
      this.#threads.delete(thread);
      this.#ranOut(job);
    } else {
      this.#idle.push(thread);
      if (lane !== 'proven') this.#endedInTime(job.pattern);
      job.settle(verdict);
    }
    this.#dispatch();
  }

  #endedInTime(pattern: string): void {
    const history = this.#histories.get(pattern);
    if (history) history.strikes = 0;
    else this.#histories.set(pattern, { slowFromChars: Infinity, strikes: 0, quarantinedUntilMs: 0 });
  }

  #ranOut(job: Job): void {
    const { pattern, text, lane } = job;
    const before = this.#histories.get(pattern);
    const history: History = {
      slowFromChars: Math.min(before?.slowFromChars ?? Infinity, text.length),
      strikes: (before?.strikes ?? 0) + Number(lane === 'patient'),
      quarantinedUntilMs: 0,
    };
    this.#histories.set(pattern, history, { ttl: SUSPECT_TTL_MS });
    if (lane !== 'patient') {
      job.lane = 'patient';
      this.#waiting.push(job);
      return;
    }
    job.settle('timeout');
    if (history.strikes < STRIKES_TO_QUARANTINE) return;
    history.quarantinedUntilMs = performance.now() + this.#quarantineMs;
    this.#drop((other) => other.pattern === pattern && other.text.length >= history.slowFromChars);
  }

  /** Answers waiting tests that have no prospect. */
  #drop(isHopeless: (job: Job) => boolean): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter((job) => !isHopeless(job));
    for (const job of waiting) if (isHopeless(job)) job.settle('timeout');
  }
}

function closedError(): Wa2aiError {
  return new Wa2aiError('MATCHER_CLOSED', 'retry', 'The service is stopping; the text was not matched.');
}
