import type { Change } from './live-event.ts';

/**
 * Where stores report what they have stored. Nobody listens most of the time: a store asks `isWanted` before it collects
 * anything, so that a report costs nothing then.
 */
export class Changes {
  #isWanted = false;
  #listener: (change: Change) => void = () => undefined;

  /** Somebody listens. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Reports a change after its transaction has committed; without effect while nobody listens. Never throws. */
  report(change: Change): void {
    if (this.#isWanted) this.#listener(change);
  }

  /** Sets the one listener, which must not throw. */
  onReport(listener: (change: Change) => void): void {
    this.#listener = listener;
  }

  setWanted(isWanted: boolean): void {
    this.#isWanted = isWanted;
  }
}
