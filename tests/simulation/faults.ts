import type { SeededRandom } from '../crash/random.ts';
import type { StatementPlan } from './sim-database.ts';
import type { SimProcess } from './sim-process.ts';

/** Probabilities of single faults in one simulation, from 0 to 1. */
interface Rates {
  requestLost: number;
  answerLost: number;
  repeated: number;
  crash: number;
  pause: number;
  late: number;
  slowStatement: number;
  notificationLost: number;
}

/** What a fault does to a process. The process restarts or resumes later. */
export interface FaultEffects {
  kill(process: SimProcess): void;
  pause(process: SimProcess): void;
  /** A statement of a dead process was executed, or refused. */
  executedLate(): void;
}

/** A process that resumes after one of these writes for an account that it may have lost. */
const PAUSED_AT = new Set(['outbox.markSending', 'inbox.add', 'keys.commit']);
/** Time until the caller of a lost statement gets an error: short for a reset, long for a silent host. */
const LOST_AFTER_MS = [5, 100, 1_000, 10_000, 30_000];

/** Chooses delays and faults by the seed. */
export class Faults {
  readonly #random: SeededRandom;
  readonly #rates: Rates;
  readonly effects: FaultEffects;
  #isWithoutFaults = true;
  /** Factor on the time of every statement. */
  diskSlowness = 1;

  /** @param isTakeOver accounts change nodes often */
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
      notificationLost: random.oneOf([0, 0.05, 0.5]),
    };
  }

  begin(): void {
    this.#isWithoutFaults = false;
  }

  /** No fault happens from now on. */
  end(): void {
    this.#isWithoutFaults = true;
    this.diskSlowness = 1;
  }

  /** Whether a fault with this probability happens now; never before `begin` and after `end`. */
  happens(share: number): boolean {
    return !this.#isWithoutFaults && share > 0 && this.#random.next() < share;
  }

  oneOf<T>(values: readonly T[]): T {
    return this.#random.oneOf(values);
  }

  networkMs(): number {
    return 0.2 + this.#random.next() * (this.happens(0.05) ? 300 : 3);
  }

  isNotificationLost(): boolean {
    return this.happens(this.#rates.notificationLost);
  }

  statement(what: string): StatementPlan {
    const { requestLost, answerLost, repeated, slowStatement } = this.#rates;
    const draw = this.#isWithoutFaults ? 1 : this.#random.next();
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
