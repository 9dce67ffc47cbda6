import type { LiveEvent } from '../../core/live/live-event.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** The first event after a pause waits so long for others that come with it. */
const GATHER_MS = 10;
/** Between two publications: at most five a second. */
const INTERVAL_MS = 200;
/** Of one node message, which PostgreSQL limits to 8,000 bytes. */
const MAX_CHARS = 6_500;
/** Node messages of one publication, which one statement sends. Further events are lost, and the number shows it. */
const MAX_MESSAGES = 8;

/** Events of one node for the others. A receiver that misses a number has lost events. */
export interface EventBatch {
  /** Of the sending process. */
  run: string;
  /** Of this batch, one more than that of the batch before; of a batch without events, the one of the batch before. */
  number: number;
  events: LiveEvent[];
}

export interface EventBatchesDeps {
  run: string;
  publish(batch: EventBatch): void;
  clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
}

/** Collects this node's events for the other nodes and publishes them a few times a second, in their order. */
export class EventBatches {
  readonly #deps: EventBatchesDeps;
  #waiting: LiveEvent[] = [];
  #number = 0;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  #isTimed = false;

  constructor(deps: EventBatchesDeps) {
    this.#deps = deps;
  }

  add(event: LiveEvent): void {
    this.#waiting.push(event);
    if (this.#isTimed) return;
    this.#isTimed = true;
    const { clock } = this.#deps;
    const sinceMs = clock.monotonicMs() - this.#publishedAtMs;
    void clock.sleep(Math.max(GATHER_MS, INTERVAL_MS - sinceMs)).then(() => this.flush());
  }

  /** Publishes what waits. */
  flush(): void {
    const { clock, publish, run } = this.#deps;
    this.#isTimed = false;
    if (this.#waiting.length === 0) return;
    this.#publishedAtMs = clock.monotonicMs();
    const batches = split(this.#waiting);
    this.#waiting = [];
    for (const events of batches.slice(0, MAX_MESSAGES)) {
      this.#number += 1;
      publish({ run, number: this.#number, events });
    }
    if (batches.length > MAX_MESSAGES) this.skip();
  }

  /** Publishes the number of the last batch: a receiver learns where it begins, and whether it has lost one. */
  greet(): void {
    this.flush();
    this.#deps.publish({ run: this.#deps.run, number: this.#number, events: [] });
  }

  /** Events were not published: receivers notice with the next batch. */
  skip(): void {
    this.#number += 1;
  }
}

/** Parts that fit into a node message each. */
function split(events: readonly LiveEvent[]): LiveEvent[][] {
  const parts: LiveEvent[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const event of events) {
    const size = JSON.stringify(event).length + 1;
    if (chars + size > MAX_CHARS) {
      parts.push([]);
      chars = 0;
    }
    chars += size;
    parts.at(-1)?.push(event);
  }
  return parts;
}
