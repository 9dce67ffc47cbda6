import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { CliError, EXIT } from '../exit-code.ts';
import type { Target } from './target.ts';

/** Longest wait for an answer. A stream has no such limit. */
const ANSWER_LIMIT_MS = 60_000;

/** What a query may contain; undefined is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A request to the service. */
export interface ApiRequest {
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent instead of `body`, as multipart/form-data. */
  form?: FormData;
  /** Sent as it is, instead of `body`. */
  text?: { type: string; content: string };
  headers?: Readonly<Record<string, string>>;
  /** Statuses besides 2xx whose answer is a result: 503 of `/health/ready`. */
  accept?: readonly number[];
}

/** The answer of the service as it is. */
interface ApiAnswer<Body> {
  status: number;
  body: Body;
  /** Of what the call read or changed. */
  etag?: string;
  /** Of a stored route: id of the route before it that takes each of its messages. */
  coveredBy?: string;
}

/** The REST API of the running service, over its Unix socket or its URL. */
export class Api {
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  /** For sentences: the Unix socket or the URL. */
  get name(): string {
    return this.#target.name;
  }

  /**
   * Calls the API and returns the JSON of its answer.
   * @throws {CliError} no service answers (exit code 3), it refuses the caller (4), or the call failed (1)
   */
  async call<Body>(method: string, path: string, request: ApiRequest = {}): Promise<Body> {
    return (await this.answer<Body>(method, path, request)).body;
  }

  /** The same with the status. @throws as `call` */
  async answer<Body>(method: string, path: string, request: ApiRequest = {}): Promise<ApiAnswer<Body>> {
    const response = await this.#send(method, path, request, ANSWER_LIMIT_MS);
    const body = jsonOf(await textOf(response, this.name));
    const status = response.statusCode ?? 0;
    if (isGood(status) || request.accept?.includes(status)) {
      const { etag, 'x-wa2ai-covered-by': covering } = response.headers;
      return {
        ...{ status, body: body as Body },
        ...(etag !== undefined && { etag }),
        ...(covering !== undefined && { coveredBy: String(covering) }),
      };
    }
    throw this.#refusal(status, body);
  }

  /** The text of an answer that is not JSON. @throws as `call` */
  async text(method: string, path: string, request: ApiRequest = {}): Promise<string> {
    const response = await this.#send(method, path, request, ANSWER_LIMIT_MS);
    const text = await textOf(response, this.name);
    if (isGood(response.statusCode ?? 0)) return text;
    throw this.#refusal(response.statusCode ?? 0, jsonOf(text));
  }

  /**
   * Opens a stream of server-sent events.
   * @param signal ends the stream
   * @throws as `call`
   */
  async stream(path: string, request: ApiRequest & { signal?: AbortSignal } = {}): Promise<IncomingMessage> {
    const headers = { accept: 'text/event-stream', ...request.headers };
    const response = await this.#send('GET', path, { ...request, headers }, 0, request.signal);
    if (isGood(response.statusCode ?? 0)) return response;
    throw this.#refusal(response.statusCode ?? 0, jsonOf(await textOf(response, this.name)));
  }

  async #send(
    method: string,
    path: string,
    { query = {}, headers, ...given }: ApiRequest,
    limitMs: number,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, socketPath, key } = this.#target;
    const content = await contentOf(given);
    const address = new URL(url + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) address.searchParams.append(name, String(value));
    }
    const send = address.protocol === 'https:' ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const request: ClientRequest = send(address, {
        method,
        ...(signal && { signal }),
        ...(socketPath !== undefined && { socketPath }),
        headers: {
          ...(content && { 'content-type': content.type, 'content-length': content.bytes.length }),
          ...(key !== undefined && { 'x-api-key': key }),
          ...headers,
        },
      });
      if (limitMs > 0) {
        request.setTimeout(limitMs, () => {
          request.destroy(new CliError(`wa2ai at ${this.name} did not answer in ${limitMs / 1000} seconds.`));
        });
      }
      request.once('response', resolve);
      request.once('error', (error: NodeJS.ErrnoException) => reject(this.#unreachable(error)));
      request.end(content?.bytes);
    });
  }

  #unreachable(error: NodeJS.ErrnoException): Error {
    if (error instanceof CliError || error.name === 'AbortError') return error;
    const hint = 'Start it with "wa2ai start", or name another address with --url.';
    const sentence = `No wa2ai answers at ${this.name} (${error.code ?? error.message}). ${hint}`;
    return new CliError(sentence, EXIT.unreachable, { cause: error });
  }

  #refusal(status: number, body: unknown): CliError {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as {
      error?: string;
    };
    const sentence = problem.error ?? `wa2ai at ${this.name} answered with status ${status}.`;
    const keyHint = status === 401 ? ' Name the file of a key with --key-file, or set WA2AI_API_KEY.' : '';
    const isRefused = [401, 403, 429].includes(status);
    return new CliError(`${sentence}${keyHint}`, isRefused ? EXIT.refused : EXIT.failed, { status });
  }
}

async function contentOf({
  body,
  form,
  text,
}: Pick<ApiRequest, 'body' | 'form' | 'text'>): Promise<{ type: string; bytes: Buffer } | undefined> {
  if (form) {
    const response = new Response(form);
    const type = response.headers.get('content-type') ?? '';
    return { type, bytes: Buffer.from(await response.arrayBuffer()) };
  }
  if (text) return { type: text.type, bytes: Buffer.from(text.content) };
  if (body === undefined) return undefined;
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) };
}

function isGood(status: number): boolean {
  return status >= 200 && status < 300;
}

async function textOf(response: IncomingMessage, name: string): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  try {
    for await (const chunk of response) text += chunk;
  } catch (error) {
    throw new CliError(`wa2ai at ${name} closed the connection.`, EXIT.failed, { cause: error });
  }
  return text;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
