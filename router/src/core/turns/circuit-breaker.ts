/** When a circuit opens, and for how long. */
export interface CircuitSettings {
  /** Consecutive failed attempts that open the circuit, from 1. */
  failures: number;
  /** How long it stays open before one attempt may probe the endpoint, in milliseconds. */
  openMs: number;
}

/**
 * The state of one endpoint. `closed` counts failures in a row; `open` allows no attempt until its time; `probing` has
 * allowed one attempt and waits for its end.
 */
export type Circuit =
  | { kind: 'closed'; failures: number }
  | { kind: 'open'; untilMs: number }
  | { kind: 'probing'; untilMs: number };

/** A circuit without a failure. */
export const CLOSED: Circuit = { kind: 'closed', failures: 0 };

/** Limit of endpoints; the least recently used one is removed first, which closes its circuit. */
const MAX_CIRCUITS = 1_000;

/**
 * Whether an attempt is allowed now, and the circuit after that. When the time of an open circuit is over, one attempt
 * is allowed as a probe; the next one when that ended, or when it did not end within `openMs` (its process may be gone).
 */
export function admit(
  circuit: Circuit,
  settings: CircuitSettings,
  nowMs: number,
): { isAdmitted: boolean; circuit: Circuit } {
  if (circuit.kind === 'closed') return { isAdmitted: true, circuit };
  if (nowMs < circuit.untilMs) return { isAdmitted: false, circuit };
  return { isAdmitted: true, circuit: { kind: 'probing', untilMs: nowMs + settings.openMs } };
}

/** The circuit after an attempt ended: any success closes it, a failed probe or enough failures in a row open it. */
export function afterAttempt(
  circuit: Circuit,
  settings: CircuitSettings,
  end: 'success' | 'failure',
  nowMs: number,
): Circuit {
  if (end === 'success') return CLOSED;
  // An attempt that began before the circuit opened says nothing new.
  if (circuit.kind === 'open') return circuit;
  const failures = circuit.kind === 'closed' ? circuit.failures + 1 : settings.failures;
  if (failures < settings.failures) return { kind: 'closed', failures };
  return { kind: 'open', untilMs: nowMs + settings.openMs };
}

/** Circuits of this process by agent endpoint; at most 1,000 are kept. Each node counts for itself. */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #onOpened: (endpoint: string) => void;

  /** @param onOpened called each time a circuit opens, also again after a failed probe */
  constructor(onOpened: (endpoint: string) => void = () => undefined) {
    this.#onOpened = onOpened;
  }

  /** Whether an attempt at this endpoint is allowed; `record` follows an allowed one that sent a request. */
  admit(endpoint: string, settings: CircuitSettings, nowMs: number): boolean {
    const { isAdmitted, circuit } = admit(this.#circuits.get(endpoint) ?? CLOSED, settings, nowMs);
    this.#set(endpoint, circuit);
    return isAdmitted;
  }

  /** Records how an attempt ended. */
  record(endpoint: string, settings: CircuitSettings, end: 'success' | 'failure', nowMs: number): void {
    const before = this.#circuits.get(endpoint) ?? CLOSED;
    const after = afterAttempt(before, settings, end, nowMs);
    this.#set(endpoint, after);
    if (after.kind === 'open' && before.kind !== 'open') this.#onOpened(endpoint);
  }

  #set(endpoint: string, circuit: Circuit): void {
    this.#circuits.delete(endpoint);
    if (circuit.kind === 'closed' && circuit.failures === 0) return;
    this.#circuits.set(endpoint, circuit);
    if (this.#circuits.size <= MAX_CIRCUITS) return;
    const [oldest] = this.#circuits.keys();
    if (oldest !== undefined) this.#circuits.delete(oldest);
  }
}
