import { createParser } from 'eventsource-parser';

/** An event of `GET /api/events` as a client gets it. */
export interface ReceivedEvent {
  id?: string;
  event?: string;
  data: {
    type: string;
    at: string;
    accountId?: string;
    chatId?: string;
    id?: string;
    [fact: string]: unknown;
  };
  /** When it came, by `performance.now()`. */
  atMs: number;
}

/** A client of `GET /api/events` that reads when a test asks for an event. */
export class EventClient {
  readonly response: Response;
  readonly #gone: AbortController;
  readonly #seen: ReceivedEvent[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #text = new TextDecoder();
  readonly #parser = createParser({
    onEvent: ({ id, event, data }) =>
      this.#seen.push({ id, event, data: JSON.parse(data), atMs: performance.now() }),
  });

  private constructor(response: Response, gone: AbortController) {
    this.response = response;
    this.#gone = gone;
    this.#reader = response.body?.getReader();
  }

  /** @param url of the service */
  static async open(url: string, query = '', headers: Record<string, string> = {}): Promise<EventClient> {
    const gone = new AbortController();
    const response = await fetch(`${url}/api/events${query}`, { headers, signal: gone.signal });
    return new EventClient(response, gone);
  }

  /** The next event; undefined: the stream has ended. */
  async next(): Promise<ReceivedEvent | undefined> {
    for (;;) {
      const event = this.#seen.shift();
      if (event) return event;
      const chunk = await this.#reader?.read().catch(() => undefined);
      if (!chunk || chunk.done) return undefined;
      this.#parser.feed(this.#text.decode(chunk.value, { stream: true }));
    }
  }

  /** The next event of a type; others are skipped. @throws the stream has ended */
  async nextOf(
    type: string,
    matches: (data: ReceivedEvent['data']) => boolean = () => true,
  ): Promise<ReceivedEvent> {
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error(`the stream ended before an event ${type}`);
      if (event.event === type && matches(event.data)) return event;
    }
  }

  close(): void {
    this.#gone.abort();
  }
}
