import type { Clock } from '../../../core/clock.ts';

/** WhatsApp did not exist before this time, so an earlier time is invalid. */
const EARLIEST_MS = Date.UTC(2009, 0, 1);

/**
 * The time of WhatsApp's servers, which date messages. It is set at each login and advances with the monotonic clock:
 * this machine's clock may be wrong by days, and every message would look too old to be answered. Until the first login
 * it is this machine's time.
 */
export class WhatsAppTime {
  readonly #clock: Clock;
  #login: { serverMs: number; atMs: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the time from the `t` of a `success` stanza, whole seconds; an invalid value is ignored. */
  set(seconds: string | undefined): void {
    const serverMs = Number(seconds) * 1_000;
    if (!Number.isFinite(serverMs) || serverMs <= EARLIEST_MS) return;
    this.#login = { serverMs, atMs: this.#clock.monotonicMs() };
  }

  /** Epoch milliseconds. */
  now(): number {
    if (!this.#login) return this.#clock.now();
    return Math.round(this.#login.serverMs + this.#clock.monotonicMs() - this.#login.atMs);
  }
}
