import { type Admission, RESTRICTIONS } from '../access/caller.ts';

/** Types of live events, each with who gets its events: who may read what they are about. */
export type LiveEventTypes = Readonly<Record<string, Admission | ((event: Change) => Admission)>>;

/** Who gets events of messages. */
export const OF_MESSAGES: Admission = { scopes: ['messages:read'], honours: RESTRICTIONS };

/** A change that is stored: ids and small facts, without texts of people and without secrets. */
export interface Change {
  /** One of the types that a feature names. */
  type: string;
  accountId?: string;
  /** Id of the stored chat. */
  chatId?: string;
  /** Id of what changed: of the message for `message`, `turn` and `draft`, of the message sent for `reply` and `delivery`. */
  id?: string;
  [fact: string]: string | number | boolean | undefined;
}

/** A change with the time of its report. */
export interface LiveEvent extends Change {
  /** UTC, ISO 8601. */
  at: string;
}

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
