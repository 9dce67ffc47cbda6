import { AsyncLocalStorage } from 'node:async_hooks';
import type { AgentExchange } from '../../../core/agent-exchange.ts';
import type { ExchangeRecorder } from '../../../core/ports/exchange-recorder.ts';
import type { Fetched, FetchOptions, Opened } from './bounded-fetch.ts';
import { MAX_READ_BYTES, maskedContent, maskedUrl, secretsOf } from './exchange-mask.ts';

type Sent = Pick<FetchOptions, 'method' | 'headers' | 'body'>;

/** Answers that have no body by the fetch standard. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Records the exchanges of an attempt with an agent, whatever client makes them. All transports of agents share one. Work
 * outside of `during` is not recorded and costs nothing.
 */
export class TransportRecorder implements ExchangeRecorder {
  readonly #running = new AsyncLocalStorage<ExchangeRecord[]>();
  readonly #clock: { now(): number };

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  async during<Result>(
    onExchange: (exchange: AgentExchange) => void,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const records: ExchangeRecord[] = [];
    try {
      return await this.#running.run(records, work);
    } finally {
      for (const record of records) onExchange(record.exchange());
    }
  }

  /** The record of a request that is sent now; undefined: nobody wants it. */
  begin(url: string, sent: Sent): ExchangeRecord | undefined {
    const records = this.#running.getStore();
    if (!records) return undefined;
    const record = new ExchangeRecord(url, sent, this.#clock);
    records.push(record);
    return record;
  }
}

/** One request and what is known of its answer. */
export class ExchangeRecord {
  readonly #url: string;
  readonly #sent: Sent;
  readonly #clock: { now(): number };
  readonly #startedMs: number;
  #endedMs: number | undefined;
  #answer: { status: number; headers: Headers } | undefined;
  #fault: string | undefined;
  /** The start of the answer's body, and the size of all that came. */
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;
  #size = 0;

  constructor(url: string, sent: Sent, clock: { now(): number }) {
    this.#url = url;
    this.#sent = sent;
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** An event of a stream, whose `fetched` has no body. */
  event(data: string): void {
    this.#read(Buffer.from(`data: ${data}\n\n`));
  }

  /** The exchange is over. */
  ended(fetched: Fetched): void {
    this.#endedMs = this.#clock.now();
    if (fetched.kind === 'fault') this.#fault = `${fetched.fault}: ${fetched.detail}`;
    else {
      this.#answer = fetched;
      this.#read(fetched.body);
    }
  }

  /** The answer began; its body is recorded while the caller reads it. */
  opened(opened: Opened): Opened {
    if (opened.kind === 'fault') {
      this.ended(opened);
      return opened;
    }
    const { response } = opened;
    const { status, statusText, headers, body } = response;
    this.#answer = { status, headers };
    if (!body || WITHOUT_BODY.has(status)) {
      this.#endedMs = this.#clock.now();
      return opened;
    }
    const tap = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.#read(chunk);
        controller.enqueue(chunk);
      },
      flush: () => {
        this.#endedMs = this.#clock.now();
      },
    });
    const tapped = new Response(body.pipeThrough(tap), { status, statusText, headers });
    return { kind: 'response', response: tapped };
  }

  /** As it is shown. What came so far, when the answer has not ended. */
  exchange(): AgentExchange {
    const { method, headers, body } = this.#sent;
    const secrets = secretsOf(this.#url, headers);
    const size = body === undefined ? undefined : Buffer.byteLength(body);
    const start =
      typeof body === 'string' ? body.slice(0, MAX_READ_BYTES) : body?.subarray(0, MAX_READ_BYTES);
    const request = { method, url: maskedUrl(this.#url, secrets) };
    return {
      at: new Date(this.#startedMs).toISOString(),
      ...(this.#endedMs !== undefined && { ms: Math.max(0, this.#endedMs - this.#startedMs) }),
      request: { ...request, ...maskedContent(headers, start, size, secrets) },
      ...(this.#answer && {
        response: {
          status: this.#answer.status,
          ...maskedContent(this.#answer.headers, Buffer.concat(this.#chunks), this.#size, secrets),
        },
      }),
      ...(this.#fault !== undefined && { fault: this.#fault }),
    };
  }

  #read(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    const left = MAX_READ_BYTES - this.#kept;
    if (left <= 0 || chunk.byteLength === 0) return;
    const start = chunk.subarray(0, left);
    this.#chunks.push(start);
    this.#kept += start.byteLength;
  }
}
