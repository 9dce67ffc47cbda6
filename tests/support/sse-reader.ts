import { createParser } from 'eventsource-parser';

/** A server-sent event with JSON as data. */
export interface SseEvent {
  id?: string | undefined;
  event?: string | undefined;
  data: Record<string, unknown>;
}

/** A client of any stream of server-sent events that reads when a test asks for an event. */
export class SseReader {
  readonly status: number;
  readonly #gone: AbortController;
  readonly #seen: SseEvent[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #text = new TextDecoder();
  readonly #parser = createParser({
    onEvent: ({ id, event, data }) => this.#seen.push({ id, event, data: JSON.parse(data) }),
  });

  private constructor(response: Response, gone: AbortController) {
    this.status = response.status;
    this.#gone = gone;
    this.#reader = response.body?.getReader();
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<SseReader> {
    const gone = new AbortController();
    return new SseReader(await fetch(url, { headers, signal: gone.signal }), gone);
  }

  /** The next event; undefined: the stream has ended. */
  async next(): Promise<SseEvent | undefined> {
    for (;;) {
      const event = this.#seen.shift();
      if (event) return event;
      const chunk = await this.#reader?.read().catch(() => undefined);
      if (!chunk || chunk.done) return undefined;
      this.#parser.feed(this.#text.decode(chunk.value, { stream: true }));
    }
  }

  close(): void {
    this.#gone.abort();
  }
}
