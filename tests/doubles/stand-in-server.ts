import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** A request as the stand-in received it. */
export interface StandInRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  bytes: Buffer;
}

/** What it answers. */
export interface StandInAnswer {
  status?: number;
  headers?: Record<string, string>;
  /** A text or bytes as they are, a stream as it comes, anything else as JSON. */
  body?: unknown;
}

type AnswerRequest = (request: StandInRequest) => StandInAnswer | Promise<StandInAnswer>;

/**
 * What a server does instead of answering. `slow`: answers late · `hang`: never answers · `cut`: ends the connection in the
 * middle of the answer · `gzip-bomb`: 200 MB of zeros in a small answer · `100-mb`: an answer that large · `redirect`: to
 * another address · `quote`: refuses the request and quotes it, headers included.
 */
export const MISBEHAVIOURS = [
  'slow',
  'hang',
  '500',
  'wrong-json',
  'cut',
  'gzip-bomb',
  '100-mb',
  'redirect',
  'quote',
] as const;
export type Misbehaviour = (typeof MISBEHAVIOURS)[number];

/** A real HTTP server on loopback that a test controls. */
export class StandInServer {
  readonly url: string;
  readonly requests: StandInRequest[] = [];
  /** Applies to every request with a body until it is changed; a function answers instead, unless it returns nothing. */
  misbehaviour: Misbehaviour | ((request: StandInRequest) => StandInAnswer | undefined) | undefined;
  /** Bytes of an endless answer that the client accepted. */
  sentBytes = 0;
  /** Requests that followed a redirect to a private address. */
  followed = 0;
  readonly #server: Server;
  readonly #answer: AnswerRequest;
  readonly #held: ServerResponse[] = [];
  readonly #closers: Array<() => Promise<void>> = [];
  #arrived: () => void = () => undefined;

  private constructor(server: Server, answer: AnswerRequest) {
    this.#server = server;
    this.#answer = answer;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param answer what it answers while it behaves */
  static async start(answer: AnswerRequest): Promise<StandInServer> {
    let standIn: StandInServer | undefined;
    const server = createServer((request, response) => {
      standIn?.handle(request, response).catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    standIn = new StandInServer(server, answer);
    return standIn;
  }

  /** Resolves when another request has arrived. */
  nextRequest(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  /** Lets a `slow` server answer. */
  async release(): Promise<void> {
    this.misbehaviour = undefined;
    const held = this.#held.splice(0);
    const last = this.requests.at(-1);
    if (last) for (const response of held) write(response, await this.#answer(last));
  }

  /** Runs when the server closes. */
  onClose(work: () => Promise<void>): void {
    this.#closers.push(work);
  }

  async close(): Promise<void> {
    for (const work of this.#closers.splice(0)) await work();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const received: StandInRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: bytes.toString('utf8'),
      bytes,
    };
    if (received.path === '/private') {
      this.followed += 1;
      write(response, { body: 'a secret of this network' });
      return;
    }
    this.requests.push(received);
    this.#arrived();
    const how = received.method === 'GET' ? undefined : this.misbehaviour;
    if (typeof how === 'string') await this.#misbehave(how, received, response);
    else write(response, how?.(received) ?? (await this.#answer(received)));
  }

  async #misbehave(how: Misbehaviour, request: StandInRequest, response: ServerResponse): Promise<void> {
    const json = { 'content-type': 'application/json' };
    switch (how) {
      case 'slow':
      case 'hang':
        this.#held.push(response);
        return;
      case '500':
        write(response, { status: 500, body: '<html><body>Internal <b>Server</b> Error</body></html>' });
        return;
      case 'wrong-json':
        write(response, { headers: json, body: '{"half": ' });
        return;
      case 'cut':
        response.writeHead(200, { ...json, 'content-length': '1000' }).write('{"choices": [');
        await new Promise((resolve) => setImmediate(resolve));
        response.destroy();
        return;
      case 'quote':
        write(response, { status: 400, body: `wrong: ${JSON.stringify(request.headers)} ${request.body}` });
        return;
      case 'redirect':
        write(response, { status: 307, headers: { location: `${this.url}/private` } });
        return;
      case 'gzip-bomb':
        response.writeHead(200, { ...json, 'content-encoding': 'gzip' });
        await pipeline(this.#endless(200), createGzip(), response).catch(() => undefined);
        return;
      case '100-mb':
        response.writeHead(200, json);
        await pipeline(this.#endless(100), response).catch(() => undefined);
    }
  }

  /** So many megabytes of zeros. */
  #endless(megabytes: number): Readable {
    const chunk = Buffer.alloc(1024 * 1024, '0');
    const server = this;
    return Readable.from(
      (function* () {
        for (let sent = 0; sent < megabytes; sent++) {
          server.sentBytes += chunk.length;
          yield chunk;
        }
      })(),
    );
  }
}

function write(response: ServerResponse, { status = 200, headers = {}, body }: StandInAnswer): void {
  if (body instanceof Readable) {
    response.writeHead(status, headers).flushHeaders();
    body.pipe(response);
    return;
  }
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body === undefined;
  const type = isRaw ? {} : { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers }).end(isRaw ? body : JSON.stringify(body));
}
