import type { Clock } from '../../../core/ports/clock.ts';

/** WhatsApp did not exist before; an earlier time is invalid. */
const EARLIEST_MS = Date.UTC(2009, 0, 1);

/**
 * The time of WhatsApp's servers, which date messages: set at each login, then counted by the monotonic clock. This
 * machine's own clock may be wrong by days, and every message would look too old to be answered. It is used until the
 * first login.
 */
export class WhatsAppTime {
  readonly #clock: Clock;
  #told: { serverMs: number; atMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the time from the `t` of a `success` stanza, whole seconds; an invalid value is ignored. */
  tell(seconds: string | undefined): void {
    const serverMs = Number(seconds) * 1_000;
    if (!Number.isFinite(serverMs) || serverMs <= EARLIEST_MS) return;
    this.#told = { serverMs, atMs: this.#clock.monotonicMs() };
  }

  /** Epoch milliseconds. */
  now(): number {
    if (!this.#told) return this.#clock.now();
    return Math.round(this.#told.serverMs + this.#clock.monotonicMs() - this.#told.atMs);
  }
}
