import type { Clock } from '../../core/clock.ts';
import type { LiveEvent } from '../../core/live/live-event.ts';

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

interface EventBatchesDeps {
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

/** An event and its text as a server-sent event, which all streams share. */
interface RingEntry {
  event: LiveEvent;
  frame: string;
}

/**
 * The last events, in order, each with a position from 1. Ids of events contain the ring's own name, so that an id of another
 * ring (of another node, or of an earlier start) is never taken for one of this ring.
 */
export class EventRing {
  readonly #name: string;
  readonly #capacity: number;
  readonly #entries: RingEntry[] = [];
  #last = 0;

  /** @param name letters and digits; another one for each ring */
  constructor(name: string, capacity: number) {
    this.#name = name;
    this.#capacity = capacity;
  }

  /** Position of the newest event; 0: there is none. */
  get last(): number {
    return this.#last;
  }

  add(event: LiveEvent): void {
    this.#last += 1;
    this.#entries[this.#last % this.#capacity] = { event, frame: frameOf(this.idOf(this.#last), event) };
  }

  /** The event at a position; undefined: it is not there yet, or not any more. */
  at(position: number): RingEntry | undefined {
    const isThere = position > this.#last - this.#capacity && position > 0 && position <= this.#last;
    return isThere ? this.#entries[position % this.#capacity] : undefined;
  }

  /** Whether a reader that has everything up to this position can continue without a loss. */
  continuesAfter(position: number): boolean {
    return position <= this.#last && position >= this.#last - this.#capacity;
  }

  idOf(position: number): string {
    return `${this.#name}-${position}`;
  }

  /** The position of an id; undefined: it is not one of this ring, or a reader cannot continue after it. */
  positionOf(id: string): number | undefined {
    const [, name, digits] = /^(\w+)-(\d{1,15})$/.exec(id) ?? [];
    const position = Number(digits);
    return name === this.#name && this.continuesAfter(position) ? position : undefined;
  }
}

/** A server-sent event. JSON has no line break outside of strings, and none unescaped inside. */
export function frameOf(id: string, event: LiveEvent): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
