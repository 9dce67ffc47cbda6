import { FAULT_POINTS, type FaultPlan, type FaultPoint } from '../../router/src/config/config-fields.ts';
import type { SeededRandom } from './random.ts';

/** How one run of the service is to end. */
export type RunPlan =
  | { kind: 'fault'; fault: FaultPlan }
  /** SIGKILL this long after the process was started. */
  | { kind: 'start'; afterMs: number }
  /** SIGKILL this long after this many replies, counted from the end of WhatsApp's offline phase. */
  | { kind: 'answers'; answers: number; afterMs: number };

/**
 * Plans kills so that messages are spread over the runs: two of three runs end at a fault point, the one that was
 * reached least so far, at any pass of it; the third at a random moment, in one of four cases while the service starts.
 */
export class KillPlan {
  readonly #random: SeededRandom;
  readonly #messagesPerRun: number;
  readonly #reached = new Map<FaultPoint, number>(FAULT_POINTS.map((point) => [point, 0]));
  /** Runs in a row that should have ended at the point and did not reach it. */
  readonly #missed = new Map<FaultPoint, number>();

  constructor(random: SeededRandom, messagesPerRun: number) {
    this.#random = random;
    this.#messagesPerRun = Math.max(1, messagesPerRun);
  }

  /** @param number of the run, from 1 */
  next(number: number): RunPlan {
    const random = this.#random;
    if (number % 3 === 0) {
      const isAtStart = random.next() < 0.25;
      return isAtStart
        ? { kind: 'start', afterMs: random.between(100, 2_000) }
        : {
            kind: 'answers',
            answers: random.between(0, 2 * this.#messagesPerRun),
            afterMs: random.between(0, 400),
          };
    }
    const [point] = [...this.#reached].sort(([, a], [, b]) => a - b)[0] ?? ['after-journal'];
    // Several messages may pass a point together, so it may have fewer passes than there are messages.
    const most = Math.floor((1.5 * this.#messagesPerRun) / 2 ** (this.#missed.get(point) ?? 0));
    return { kind: 'fault', fault: { point, pass: random.between(1, Math.max(1, most)) } };
  }

  /** @param isReached the run ended at its fault point */
  ended(plan: RunPlan, isReached: boolean): void {
    if (plan.kind !== 'fault') return;
    const { point } = plan.fault;
    if (isReached) this.#reached.set(point, (this.#reached.get(point) ?? 0) + 1);
    this.#missed.set(point, isReached ? 0 : (this.#missed.get(point) ?? 0) + 1);
  }

  /** How often each fault point ended a run, in the order in which a message passes them. */
  reached(): ReadonlyMap<FaultPoint, number> {
    return this.#reached;
  }
}

export function planName(plan: RunPlan): string {
  switch (plan.kind) {
    case 'fault':
      return `${plan.fault.point}:${plan.fault.pass}`;
    case 'start':
      return `${plan.afterMs} ms after the start`;
    case 'answers':
      return `${plan.afterMs} ms after ${plan.answers} answers`;
  }
}
