import type { Clock } from '../../core/ports/clock.ts';
import type { ConsoleUsers } from '../../core/ports/console-users.ts';
import type { Logger } from '../../core/ports/logger.ts';

/** A node that missed the notification of the first user notices it with the second call after this time. */
const MAX_AGE_MS = 1_000;

export interface UserPresenceDeps {
  users: Pick<ConsoleUsers, 'hasAny'>;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

/**
 * Whether the console has users: calls of this machine need a login then. Every request asks, so the answer is the last
 * one that is known. Before the first one, and so while nothing is known, it is that there are users.
 */
export class UserPresence {
  readonly #deps: UserPresenceDeps;
  #hasUsers = true;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(deps: UserPresenceDeps) {
    this.#deps = deps;
  }

  /** The last known answer. Reads again in the background when it is old. */
  get hasUsers(): boolean {
    if (this.#deps.clock.monotonicMs() - this.#readAtMs > MAX_AGE_MS) void this.refresh();
    return this.#hasUsers;
  }

  /** Reads again: at the start, and when users have changed. Keeps the last answer when it cannot be read; never rejects. */
  async refresh(): Promise<void> {
    // A read that runs may have begun before the change.
    await this.#reading;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    this.#readAtMs = this.#deps.clock.monotonicMs();
    try {
      this.#hasUsers = await this.#deps.users.hasAny();
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'users not read');
    }
  }
}
