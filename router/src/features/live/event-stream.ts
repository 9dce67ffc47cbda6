import type { ServerResponse } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import type { LiveEvent } from '../../core/live/live-event.ts';
import { frameOf } from './event-batches.ts';
import type { FeedReader, LiveFeed } from './live-feed.ts';

const HEARTBEAT_MS = 15_000;
/** A reader that takes nothing for so many heartbeats is disconnected. */
const MAX_MISSED = 2;
/** After this, a client connects again. */
const RETRY_MS = 2_000;
/** Of one write; a reader that takes nothing has at most this and one event more in memory. */
const MAX_WRITE_CHARS = 65_536;

/** What a stream needs of a response of HTTP. */
export type StreamResponse = Pick<
  ServerResponse,
  'writeHead' | 'write' | 'end' | 'destroy' | 'on' | 'writableNeedDrain' | 'destroyed'
>;

export interface EventStreamDeps {
  liveFeed: Pick<LiveFeed, 'open' | 'ring'>;
  clock: Pick<Clock, 'now' | 'sleep'>;
}

/**
 * Writes live events as server-sent events until the connection ends. The ring of the feed is the only queue: a reader that is
 * slow continues where it was, and gets `reset` when that is not in the ring any more.
 */
export class EventStream implements FeedReader {
  readonly #deps: EventStreamDeps;
  readonly #response: StreamResponse;
  readonly #isFor: (event: LiveEvent) => boolean | Promise<boolean>;
  readonly #ended = new AbortController();
  /** The last event that the reader has, or that is not for it. */
  #position = 0;
  /** The last position whose id the reader has. */
  #sentId = 0;
  #isBegun = false;
  #isDeciding = false;
  #missed = 0;

  /** @param isFor whether the reader gets an event; rejects or throws never */
  constructor(
    deps: EventStreamDeps,
    response: StreamResponse,
    isFor: (event: LiveEvent) => boolean | Promise<boolean>,
  ) {
    this.#deps = deps;
    this.#response = response;
    this.#isFor = isFor;
  }

  /**
   * Writes until the stream ends.
   * @param lastId the last event that the client has; absent: it begins with what changes from now on
   */
  async run(lastId: string | undefined): Promise<void> {
    const { liveFeed, clock } = this.#deps;
    const response = this.#response;
    response.on('drain', () => this.onEvents());
    response.on('close', () => this.#ended.abort());
    if (response.destroyed) this.#ended.abort();
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // For proxies that collect responses.
      'x-accel-buffering': 'no',
      // The end of the stream ends the connection: a stop of the process does not wait for it.
      connection: 'close',
    });
    response.write(`retry: ${RETRY_MS}\n\n`);
    const close = await liveFeed.open(this);
    try {
      this.#begin(lastId);
      while (!this.#ended.signal.aborted) {
        await clock.sleep(HEARTBEAT_MS, this.#ended.signal).catch(() => undefined);
        this.#beat();
      }
    } finally {
      close();
    }
  }

  /** Writes what the reader has not got, as far as it takes it. */
  onEvents(): void {
    const response = this.#response;
    while (this.#isBegun && !this.#isDeciding && !this.#ended.signal.aborted) {
      if (response.writableNeedDrain) return;
      const text = this.#next();
      if (text === '') return;
      response.write(text);
    }
  }

  onStop(): void {
    this.end();
  }

  /** Ends the stream; a client connects again and continues, if it still may. */
  end(): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#response.end();
  }

  #begin(lastId: string | undefined): void {
    const { ring } = this.#deps.liveFeed;
    const known = lastId === undefined ? ring.last : ring.positionOf(lastId);
    this.#isBegun = true;
    if (this.#ended.signal.aborted) return;
    this.#position = known ?? ring.last;
    this.#response.write(this.#own(known === undefined ? 'reset' : 'ready'));
    this.onEvents();
  }

  /** The next frames for the reader; empty: there is none now. */
  #next(): string {
    const { ring } = this.#deps.liveFeed;
    let text = '';
    while (text.length < MAX_WRITE_CHARS) {
      if (!ring.continuesAfter(this.#position)) {
        this.#position = ring.last;
        return text + this.#own('reset');
      }
      const entry = ring.at(this.#position + 1);
      if (!entry) break;
      this.#position += 1;
      const decision = this.#isFor(entry.event);
      if (decision === true) {
        this.#sentId = this.#position;
        text += entry.frame;
      } else if (decision !== false) {
        this.#decide(decision, entry.frame);
        break;
      }
    }
    return text;
  }

  /** Continues when it is known whether the reader gets the event at the present position. */
  #decide(decision: Promise<boolean>, frame: string): void {
    this.#isDeciding = true;
    void decision.then((isFor) => {
      this.#isDeciding = false;
      if (this.#ended.signal.aborted) return;
      if (isFor) {
        this.#sentId = this.#position;
        this.#response.write(frame);
      }
      this.onEvents();
    });
  }

  /** An event of this stream alone. */
  #own(type: 'ready' | 'reset'): string {
    this.#sentId = this.#position;
    const at = new Date(this.#deps.clock.now()).toISOString();
    return frameOf(this.#deps.liveFeed.ring.idOf(this.#position), { type, at });
  }

  #beat(): void {
    if (this.#ended.signal.aborted) return;
    if (this.#response.writableNeedDrain) {
      this.#missed += 1;
      if (this.#missed >= MAX_MISSED) this.#response.destroy();
      return;
    }
    this.#missed = 0;
    // The id alone is not an event: a client that gets few events can still continue after all that were not for it.
    const id =
      this.#sentId < this.#position && !this.#isDeciding
        ? `id: ${this.#deps.liveFeed.ring.idOf(this.#position)}\n`
        : '';
    if (id !== '') this.#sentId = this.#position;
    this.#response.write(`${id}: heartbeat\n\n`);
  }
}
