/** Nothing of what waited came for so long after the login: WhatsApp never says that it was all. */
const QUIET_MS = 20_000;

/**
 * Knows when WhatsApp has delivered what waited while the account was not connected: it says so (`<ib><offline>`), as
 * the last of it; should it not, some time without any of it counts as the end. Tells once in each connection.
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
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.over(), QUIET_MS).unref();
  }

  /** WhatsApp says that it was all. */
  over(): void {
    if (this.#state === 'over') return;
    clearTimeout(this.#timer);
    this.#state = 'over';
    this.#onOver();
  }

  connectionClosed(): void {
    clearTimeout(this.#timer);
    this.#state = 'away';
  }
}
