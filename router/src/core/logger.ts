/** What core and adapters need of a structured logger (pino fits): fields first, then a constant sentence. */
export interface Logger {
  trace(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(bindings: Record<string, unknown>): Logger;
}

/** An event that did not occur for this long counts from 1 again. */
const FORGET_AFTER_MS = 60_000;
const MAX_EVENTS = 500;

/** Whether occurrence number `count` (from 1) of a repeated event is logged: the 1st, 2nd, 4th, 8th and so on. */
export function isLoggedOccurrence(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}

/**
 * Limits log lines about events that may repeat many times a second, such as failed retries of many loops while the
 * database is unavailable. Counts each event by its name; remembers the 500 that occurred last.
 */
export class LogThrottle {
  readonly #events = new Map<string, { count: number; lastMs: number }>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Counts an occurrence. @returns its number, from 1, when it should be logged; undefined when it should not */
  count(event: string): number | undefined {
    const nowMs = this.#monotonicMs();
    const before = this.#events.get(event);
    const isRepeated = before !== undefined && nowMs - before.lastMs < FORGET_AFTER_MS;
    const count = isRepeated ? before.count + 1 : 1;
    this.#events.delete(event);
    this.#events.set(event, { count, lastMs: nowMs });
    if (this.#events.size > MAX_EVENTS) {
      const [oldest] = this.#events.keys();
      if (oldest !== undefined) this.#events.delete(oldest);
    }
    return isLoggedOccurrence(count) ? count : undefined;
  }
}
