import type { Clock } from '../../core/ports/clock.ts';

/** A limit that WhatsApp put on the account for a time; a reason ready to show. */
export interface Limit {
  reason: string;
  untilMs: number;
}

/** The limit in force, and its end. */
export class Restriction {
  readonly #clock: Clock;
  readonly #stopping: AbortSignal;
  readonly #onChange: () => void;
  #limit: Limit | undefined;

  /** @param onChange a limit began, was replaced or ended */
  constructor(clock: Clock, stopping: AbortSignal, onChange: () => void) {
    this.#clock = clock;
    this.#stopping = stopping;
    this.#onChange = onChange;
  }

  current(): Limit | undefined {
    return this.#limit && this.#limit.untilMs > this.#clock.now() ? this.#limit : undefined;
  }

  /** From now on, instead of any limit before. */
  begin(limit: Limit): void {
    this.#limit = limit;
    this.#onChange();
    const waitMs = Math.max(0, limit.untilMs - this.#clock.now());
    this.#clock.sleep(waitMs, this.#stopping).then(
      () => {
        if (this.#limit === limit) this.end();
      },
      () => undefined,
    );
  }

  end(): void {
    if (!this.#limit) return;
    this.#limit = undefined;
    this.#onChange();
  }

  /** Forgets the limit without telling: a person wants a new start, and WhatsApp may name it again. */
  forget(): void {
    this.#limit = undefined;
  }
}
