import { createHmac } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { untilEvent } from './until-event.ts';
import { unusedPort } from './unused-port.ts';

/** A request of a webhook as it arrived. */
export interface ReceivedEvent {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of all events
  body: any;
  isSigned: boolean;
  /** The value of `Idempotency-Key`. */
  key: string;
}

/** What the receiver answers; `hang`: nothing. */
type Answer = (event: ReceivedEvent) => number | 'hang' | Promise<number | 'hang'>;

/** A program on loopback that gets the events of a webhook. */
export class WebhookReceiver {
  static readonly SECRET = 'the secret of this test';
  /** Everything that arrived, in order. */
  readonly all: ReceivedEvent[] = [];
  /** What was answered with 200, in order. */
  readonly taken: ReceivedEvent[] = [];
  answer: Answer = () => 200;
  readonly #events = new EventEmitter();
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await receiver.listen();
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`;
  }

  /** Starts, or after `stop` starts again at the same address. */
  async listen(): Promise<void> {
    this.#port ||= await unusedPort();
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const digest = createHmac('sha256', WebhookReceiver.SECRET)
        .update(`${request.headers['x-wa2ai-timestamp']}.${text}`)
        .digest('hex');
      const event: ReceivedEvent = {
        body: JSON.parse(text),
        isSigned: request.headers['x-wa2ai-signature'] === `sha256=${digest}`,
        key: String(request.headers['idempotency-key']),
      };
      this.all.push(event);
      this.#events.emit('arrived', event);
      const status = await this.answer(event);
      if (status === 'hang') return;
      if (status === 200) {
        this.taken.push(event);
        this.#events.emit('taken', event);
      }
      response.writeHead(status).end();
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
  }

  /** The events that it took, when they are so many. */
  async takes(count: number): Promise<ReceivedEvent[]> {
    if (this.taken.length < count) {
      await untilEvent(this.#events, 'taken', () => this.taken.length >= count, {
        timeoutMs: 60_000,
        problem: () => `took ${this.taken.length} events, not ${count}`,
      });
    }
    return this.taken;
  }

  /** Resolves when so many requests have arrived. */
  async gets(count: number): Promise<void> {
    if (this.all.length >= count) return;
    await untilEvent(this.#events, 'arrived', () => this.all.length >= count, {
      timeoutMs: 60_000,
      problem: () => `got ${this.all.length} requests, not ${count}`,
    });
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
