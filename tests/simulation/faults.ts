import type { SeededRandom } from '../crash/random.ts';
import type { StatementPlan } from './sim-database.ts';
import type { SimProcess } from './sim-process.ts';

/** How often single things go wrong in one simulation; shares of 1. */
interface Rates {
  requestLost: number;
  answerLost: number;
  repeated: number;
  crash: number;
  pause: number;
  late: number;
  slowStatement: number;
  noteLost: number;
}

/** What a fault does to a process; it is started or goes on again later. */
export interface FaultEffects {
  kill(process: SimProcess): void;
  pause(process: SimProcess): void;
  /** A statement of a dead process was executed, or refused. */
  executedLate(): void;
}

/** A process that goes on after one of these writes for an account that it may have lost. */
const PAUSED_AT = new Set(['outbox.markSending', 'inbox.add', 'keys.commit']);
/** How long a caller waits before it learns that a statement was lost: a reset at once, a silent host late. */
const LOST_AFTER_MS = [5, 100, 1_000, 10_000, 30_000];

/** Decides by the seed how long things take and what goes wrong. */
export class Faults {
  readonly #random: SeededRandom;
  readonly #rates: Rates;
  readonly effects: FaultEffects;
  #isCalm = true;
  /** Statements take so many times as long. */
  diskSlowness = 1;

  /** @param isTakeOver accounts are to change nodes often */
  constructor(random: SeededRandom, effects: FaultEffects, isTakeOver: boolean) {
    this.#random = random;
    this.effects = effects;
    this.#rates = {
      requestLost: random.oneOf([0, 0.001, 0.01]),
      answerLost: random.oneOf([0, 0.001, 0.01, 0.05]),
      repeated: random.oneOf([0, 0.005, 0.05]),
      crash: random.oneOf([0, 0, 0.0005, 0.002]),
      pause: random.oneOf(isTakeOver ? [0.05, 0.1] : [0, 0, 0, 0.005]),
      late: random.oneOf(isTakeOver ? [0.05, 0.1] : [0, 0, 0, 0.005]),
      slowStatement: random.oneOf([0, 0.01, 0.1]),
      noteLost: random.oneOf([0, 0.05, 0.5]),
    };
  }

  begin(): void {
    this.#isCalm = false;
  }

  /** Nothing goes wrong from now on. */
  end(): void {
    this.#isCalm = true;
    this.diskSlowness = 1;
  }

  /** Whether something with this share happens now. */
  happens(share: number): boolean {
    return !this.#isCalm && share > 0 && this.#random.next() < share;
  }

  oneOf<T>(values: readonly T[]): T {
    return this.#random.oneOf(values);
  }

  networkMs(): number {
    return 0.2 + this.#random.next() * (this.happens(0.05) ? 300 : 3);
  }

  isNoteLost(): boolean {
    return this.happens(this.#rates.noteLost);
  }

  statement(what: string): StatementPlan {
    const { requestLost, answerLost, repeated, slowStatement } = this.#rates;
    const draw = this.#isCalm ? 1 : this.#random.next();
    // The heartbeat's own failures are those of partitions and outages.
    const isHeartbeat = what === 'cluster.beat';
    let fate: StatementPlan['fate'] = 'answered';
    if (draw < requestLost) fate = 'request-lost';
    else if (draw < requestLost + answerLost) fate = 'answer-lost';
    else if (draw < requestLost + answerLost + repeated) fate = 'repeated';
    const slowMs = this.happens(slowStatement) ? this.#random.next() * 400 : 0;
    return {
      fate: isHeartbeat ? 'answered' : fate,
      requestMs: this.networkMs(),
      responseMs: (0.3 + this.#random.next() * 3) * this.diskSlowness + slowMs,
      errorMs:
        fate === 'answered'
          ? this.#random.oneOf(LOST_AFTER_MS)
          : this.#random.oneOf(LOST_AFTER_MS.slice(0, 4)),
      isExecutedAfterDeath: this.#random.next() < 0.5,
      effect: this.#effect(what, isHeartbeat),
      lateMs:
        what === 'keys.commit' && this.happens(this.#rates.late)
          ? 2_000 + this.#random.next() * 18_000
          : undefined,
    };
  }

  #effect(what: string, isHeartbeat: boolean): StatementPlan['effect'] {
    if (isHeartbeat) return undefined;
    if (this.happens(this.#rates.crash)) return 'kill';
    return PAUSED_AT.has(what) && this.happens(this.#rates.pause) ? 'pause' : undefined;
  }
}
