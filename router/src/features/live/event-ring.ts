import type { LiveEvent } from '../../core/live/live-event.ts';

/** An event and its text as a server-sent event, which all streams share. */
export interface RingEntry {
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
