/** When asks of an endpoint are held back. */
export interface CircuitSettings {
  /** Failed asks in a row that open the circuit, from 1. */
  failures: number;
  /** How long it stays open before one ask may try again, in milliseconds. */
  openMs: number;
}

/**
 * What is known of one endpoint. `closed` counts failures in a row; `open` lets nothing through until its time; `probing`
 * has let one ask through and waits for its end.
 */
export type Circuit =
  | { kind: 'closed'; failures: number }
  | { kind: 'open'; untilMs: number }
  | { kind: 'probing'; untilMs: number };

/** A circuit that nothing has failed on. */
export const CLOSED: Circuit = { kind: 'closed', failures: 0 };

/** Endpoints remembered; the one that was asked longest ago is forgotten first, which closes its circuit. */
const MAX_CIRCUITS = 1_000;

/**
 * Whether an ask may go now, and the circuit after that. Of those that come when the time of an open circuit is over one
 * goes, as a probe; the next one goes when that ended, or when it did not end within `openMs` (its process may be gone).
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

/** The circuit after an ask ended: any success closes it, a failed probe or enough failures in a row open it. */
export function noted(
  circuit: Circuit,
  settings: CircuitSettings,
  end: 'success' | 'failure',
  nowMs: number,
): Circuit {
  if (end === 'success') return CLOSED;
  // An ask that was let through before the circuit opened tells nothing new.
  if (circuit.kind === 'open') return circuit;
  const failures = circuit.kind === 'closed' ? circuit.failures + 1 : settings.failures;
  if (failures < settings.failures) return { kind: 'closed', failures };
  return { kind: 'open', untilMs: nowMs + settings.openMs };
}

/** Circuits of this process by agent endpoint; at most 1,000 are kept. Another node learns of failures by itself. */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #onOpened: (endpoint: string) => void;

  /** @param onOpened told each time a circuit opens, also again after a failed probe */
  constructor(onOpened: (endpoint: string) => void = () => undefined) {
    this.#onOpened = onOpened;
  }

  /** Endpoints that are held back or probed now. */
  get openCount(): number {
    return [...this.#circuits.values()].filter((circuit) => circuit.kind !== 'closed').length;
  }

  /** Whether an ask of this endpoint may go; one that may go must be followed by `note`. */
  admit(endpoint: string, settings: CircuitSettings, nowMs: number): boolean {
    const { isAdmitted, circuit } = admit(this.#circuits.get(endpoint) ?? CLOSED, settings, nowMs);
    this.#set(endpoint, circuit);
    return isAdmitted;
  }

  /** Notes how an ask ended. */
  note(endpoint: string, settings: CircuitSettings, end: 'success' | 'failure', nowMs: number): void {
    const before = this.#circuits.get(endpoint) ?? CLOSED;
    const after = noted(before, settings, end, nowMs);
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
