import type { Clock } from '../../../core/ports/clock.ts';

/** WhatsApp did not exist before; an earlier time is none. */
const EARLIEST_MS = Date.UTC(2009, 0, 1);

/**
 * The time at WhatsApp's servers, which messages are dated by: told at each login and counted on from there. This machine's
 * own clock may be wrong by days, and would make every message look too old to be answered. Until the first login it is
 * all there is.
 */
export class WhatsAppTime {
  readonly #clock: Clock;
  #told: { serverMs: number; atMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the `t` of a `success` stanza, whole seconds; what is no time is left alone. */
  tell(seconds: string | undefined): void {
    const serverMs = Number(seconds) * 1_000;
    if (serverMs > EARLIEST_MS) this.#told = { serverMs, atMs: this.#clock.monotonicMs() };
  }

  /** Epoch milliseconds. */
  now(): number {
    if (!this.#told) return this.#clock.now();
    return Math.round(this.#told.serverMs + this.#clock.monotonicMs() - this.#told.atMs);
  }
}
