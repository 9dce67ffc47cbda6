/** Nothing of what waited came for so many looks after the login: WhatsApp never says that it was all. */
const QUIET_LOOKS = 10;
const LOOK_EVERY_MS = 2_000;

/**
 * Knows when WhatsApp has delivered what waited while the account was not connected: it says so (`<ib><offline>`), as
 * the last of it; should it not, twenty seconds without any of it count as the end. They are counted in steps, so that a
 * process that was stopped for a while reads what came meanwhile before it gives up. Tells once in each connection.
 */
export class OfflinePhase {
  readonly #onOver: () => void;
  #state: 'away' | 'running' | 'over' = 'away';
  #timer: NodeJS.Timeout | undefined;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  /** Logged in, or something that had waited came. */
  runs(): void {
    if (this.#state === 'over') return;
    this.#state = 'running';
    clearInterval(this.#timer);
    let quiet = 0;
    this.#timer = setInterval(() => {
      quiet += 1;
      if (quiet >= QUIET_LOOKS) this.over();
    }, LOOK_EVERY_MS).unref();
  }

  /** WhatsApp says that it was all. */
  over(): void {
    if (this.#state === 'over') return;
    clearInterval(this.#timer);
    this.#state = 'over';
    this.#onOver();
  }

  connectionClosed(): void {
    clearInterval(this.#timer);
    this.#state = 'away';
  }
}
