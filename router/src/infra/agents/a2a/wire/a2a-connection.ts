import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client, RequestOptions } from '@a2a-js/sdk/client';
import { type Clock, withLimit } from '../../../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  Wa2aiError,
} from '../../../../core/errors.ts';
import { say } from '../../../../core/phrases.ts';
import type { OwnHeaders } from '../../card-address.ts';
import { type AgentTransport, exchangeError, type Redact } from '../../transport/agent-transport.ts';
import type { Fetched } from '../../transport/bounded-fetch.ts';
import { errorText } from '../../transport/error-text.ts';
import type { A2aServer } from '../card/a2a-cards.ts';

/** What calls to one agent need. */
interface A2aPeer {
  server: A2aServer;
  transport: AgentTransport;
  clock: Clock;
  /** Limit of one request; of a stream, until its first event. */
  timeoutMs: number;
  redact: Redact;
}

/** The calls of the protocol that wa2ai makes, in the form of version 1.0 for both versions. */
export class A2aConnection {
  readonly peer: A2aPeer;

  constructor(peer: A2aPeer) {
    this.peer = peer;
  }

  /** Sends a message without waiting for the end of its task. */
  send(message: Message, signal: AbortSignal | undefined): Promise<Message | Task> {
    return this.#call(signal, (client, options) => client.sendMessage(requestOf(message), options));
  }

  task(id: string, signal: AbortSignal | undefined): Promise<Task> {
    return this.#call(signal, (client, options) => client.getTask({ tenant: '', id }, options));
  }

  /** Asks the agent to stop a task; it may go on nevertheless. */
  cancel(id: string, signal: AbortSignal | undefined): Promise<Task> {
    return this.#call(signal, (client, options) =>
      client.cancelTask({ tenant: '', id, metadata: undefined }, options),
    );
  }

  /** Asks the agent to send notifications of a task to an address. A repeat changes nothing. */
  async pushTo(taskId: string, url: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#call(signal, (client, options) =>
      client.createTaskPushNotificationConfig(
        { tenant: '', id: 'wa2ai', taskId, url, token: '', authentication: undefined },
        options,
      ),
    );
  }

  /** The newest tasks of a conversation with the messages that opened them; undefined where the protocol has no list. */
  async tasksOf(contextId: string, signal: AbortSignal | undefined): Promise<Task[] | undefined> {
    if (this.peer.server.version === '0.3') return undefined;
    const list = await this.#call(signal, (client, options) =>
      client.listTasks(
        {
          tenant: '',
          contextId,
          status: 0,
          pageSize: 50,
          pageToken: '',
          historyLength: 50,
          statusTimestampAfter: undefined,
        },
        options,
      ),
    );
    return list.tasks;
  }

  /** Sends a message and reads the events of its task until the signal aborts or the stream ends. */
  stream(message: Message, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    return this.#stream(signal, (client, options) => client.sendMessageStream(requestOf(message), options));
  }

  /** Reads the further events of a task. */
  resubscribe(id: string, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    return this.#stream(signal, (client, options) => client.resubscribeTask({ tenant: '', id }, options));
  }

  async #call<T>(
    signal: AbortSignal | undefined,
    call: (client: Client, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const { transport, clock, timeoutMs, server } = this.peer;
    return await withLimit(clock, timeoutMs, signal, async (limited) => {
      const wire = a2aFetch(transport, server, limited);
      try {
        return await call(await clientOf(server, wire), { signal: limited });
      } catch (error) {
        signal?.throwIfAborted();
        throw this.#error(error, wire, limited.aborted);
      }
    });
  }

  async *#stream(
    signal: AbortSignal,
    open: (client: Client, options: RequestOptions) => AsyncGenerator<StreamResponse>,
  ): AsyncGenerator<StreamResponse> {
    const { transport, clock, timeoutMs, server } = this.peer;
    const stopped = new AbortController();
    const stop = () => stopped.abort();
    signal.addEventListener('abort', stop, { once: true });
    const wire = a2aFetch(transport, server, stopped.signal);
    let isLate = false;
    try {
      signal.throwIfAborted();
      const events = open(await clientOf(server, wire), { signal: stopped.signal });
      const first = await withLimit(clock, timeoutMs, signal, async (limited) => {
        const late = () => {
          isLate = !signal.aborted;
          stopped.abort();
        };
        limited.addEventListener('abort', late, { once: true });
        try {
          return await events.next();
        } finally {
          limited.removeEventListener('abort', late);
        }
      });
      if (first.done) throw new AgentProtocolError(say('a2a.empty-stream'));
      yield first.value;
      for await (const event of events) yield event;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#error(error, wire, isLate);
    } finally {
      signal.removeEventListener('abort', stop);
      stopped.abort();
    }
  }

  #error(error: unknown, wire: A2aFetch, isTimeout: boolean) {
    const { clock, timeoutMs, redact } = this.peer;
    return a2aError(error, { failure: wire.failure(), isTimeout, timeoutMs, nowMs: clock.now(), redact });
  }
}

/** The package is loaded when the first A2A route is used: it is large, and most services have none. */
async function clientOf({ card }: A2aServer, wire: A2aFetch): Promise<Client> {
  const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await import('@a2a-js/sdk/client');
  const options = { fetchImpl: wire.fetch, legacyCompat: { enabled: true } };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    clientConfig: { polling: true },
  });
  return await factory.createFromAgentCard(card);
}

function requestOf(message: Message) {
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

/** What the error for a call of the A2A client says. */
interface A2aErrorContext {
  /** What went wrong on the wire, when something did. */
  failure: Fetched | undefined;
  /** The time limit ended the call. */
  isTimeout: boolean;
  timeoutMs: number;
  nowMs: number;
  redact: Redact;
}

/** The error for a call that the A2A client rejected: of the wire, else as the agent reported it in its own dialect. */
export function a2aError(error: unknown, context: A2aErrorContext): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  const { failure, isTimeout, timeoutMs, nowMs, redact } = context;
  const agent = say('agent-name.a2a');
  const aborted = say('agent.silent', { agent, ms: timeoutMs });
  if (isTimeout) return new AgentTimeoutError(aborted);
  // A status with an error of the protocol in its body is the agent's own word.
  const isReported = failure?.kind === 'answer' && failure.status >= 400 && isProtocolError(error);
  if (failure && !(isReported && !isAwayStatus(failure))) {
    return exchangeError(failure, { agent, aborted, nowMs, redact });
  }
  const why = redact(errorText(error instanceof Error ? error.message : String(error)));
  if (isBroken(error)) {
    return new AgentUnavailableError(say('a2a.connection-lost', { why }), {
      cause: error,
      mayHaveRun: true,
    });
  }
  if (isProtocolError(error)) {
    return new AgentProtocolError(say('a2a.answered-error', { why }), {
      code: 'AGENT_REPORTED_ERROR',
    });
  }
  return new AgentProtocolError(say('a2a.not-a2a', { why }));
}

function isAwayStatus(failure: Fetched): boolean {
  return failure.kind === 'answer' && [401, 403, 429, 502, 503, 504].includes(failure.status);
}

/** Whether the error is one of the protocol, which the client makes from an error in an answer. */
function isProtocolError(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return [error, cause].some((one) => {
    if (!(one instanceof Error)) return false;
    return 'reason' in one || 'code' in one || /A2A|JsonRpc/.test(one.constructor.name);
  });
}

/** Whether the connection ended in the middle of an answer: the platform's error is the cause of the client's. */
function isBroken(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    if ('code' in one && /^(?:UND_ERR_|ECONN|EPIPE)/.test(String(one.code))) return true;
  }
  return false;
}

/** An answer with files in base64. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** All events of one connection. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;

/** The `fetch` of the A2A client: every request goes through the transport of wa2ai, with its limits. */
interface A2aFetch {
  fetch: typeof fetch;
  /** The exchange that went wrong last: a fault, or a status that is no success. */
  failure(): Fetched | undefined;
}

/** One per attempt: it remembers what went wrong, because the client wraps it in its own errors. */
export function a2aFetch(
  transport: AgentTransport,
  { headersFor }: OwnHeaders,
  signal: AbortSignal,
): A2aFetch {
  let failure: Fetched | undefined;
  const fail = (fetched: Fetched): Error => {
    failure = fetched;
    return new Error('the request failed');
  };
  const call: typeof fetch = async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = headersFor(url);
    new Headers(init.headers).forEach((value, name) => {
      headers.set(name, value);
    });
    const body = typeof init.body === 'string' ? init.body : undefined;
    const opened = await transport.open(url, {
      method: init.method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body !== undefined && { body }),
      signal: init.signal ?? signal,
    });
    if (opened.kind === 'fault') throw fail(opened);
    const { response } = opened;
    const { status } = response;
    const limit = response.ok ? limitOf(response) : MAX_REFUSAL_BYTES;
    const tooLarge = () =>
      fail({ kind: 'fault', fault: 'too-large', detail: say('fetch.too-large', { bytes: limit }) });
    if (response.ok && declaredLength(response) > limit) {
      // Its body is not read: that would only take time.
      response.body?.cancel().catch(() => undefined);
      throw tooLarge();
    }
    const limited = response.body?.pipeThrough(byteLimit(limit, tooLarge));
    const copy = { status, statusText: response.statusText, headers: response.headers };
    if (response.ok) {
      const lenient = lenientAnswers(body);
      if (!lenient || !limited) return new Response(limited ?? null, copy);
      if (isEvents(response)) return new Response(limited.pipeThrough(lenient.events()), copy);
      return new Response(lenient.answer(await new Response(limited).text()), copy);
    }
    const text = limited ? Buffer.from(await new Response(limited).arrayBuffer()) : Buffer.alloc(0);
    failure = { kind: 'answer', status, headers: response.headers, body: text };
    const hasBody = status >= 200 && status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? new Uint8Array(text) : null, copy);
  };
  return { fetch: call, failure: () => failure };
}

function limitOf(response: Response): number {
  return isEvents(response) ? MAX_STREAM_BYTES : MAX_ANSWER_BYTES;
}

function isEvents({ headers }: Response): boolean {
  return headers.get('content-type')?.includes('text/event-stream') ?? false;
}

/** What an answer that is not compressed says about its length, in bytes; 0: nothing. */
function declaredLength({ headers }: Response): number {
  return headers.has('content-encoding') ? 0 : Number(headers.get('content-length') ?? 0);
}

/** Passes so many bytes; more of them are the error. */
function byteLimit(maxBytes: number, error: () => Error): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size > maxBytes) controller.error(error());
      else controller.enqueue(chunk);
    },
  });
}

/** What the SDK's client demands of an answer and older or simpler agents leave out. */
interface LenientAnswers {
  /** A JSON-RPC answer as the SDK takes it. */
  answer(text: string): string;
  /** The same for each event of a stream; an event whose data has several lines stays as it is. */
  events(): TransformStream<Uint8Array, Uint8Array>;
}

/**
 * Reads answers to one JSON-RPC request. Each request has its own connection, so an answer belongs to it whatever `id` says:
 * a number as text, or null. A result of version 0.3 without `kind`, and parts without it, get the one that their fields show.
 * @param request the body of the request
 * @returns undefined when it is not a JSON-RPC request
 */
function lenientAnswers(request: string | undefined): LenientAnswers | undefined {
  const sent = objectIn(request ?? '');
  if (sent?.jsonrpc !== '2.0' || sent.id === undefined) return undefined;
  // Methods of version 0.3 have a slash: `message/send`.
  const isLegacy = String(sent.method).includes('/');
  const answer = (text: string) => {
    const json = objectIn(text);
    if (json?.jsonrpc === undefined && json?.result === undefined) return text;
    const result = isLegacy ? withKinds(json.result) : json.result;
    return json.id === sent.id && result === json.result
      ? text
      : JSON.stringify({ ...json, id: sent.id, ...(result !== undefined && { result }) });
  };
  return {
    answer,
    events: () =>
      eachLine((line) => (line.startsWith('data:') ? `data: ${answer(line.slice(5).trimStart())}` : line)),
  };
}

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectIn(text: string): Fields | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** The same value when nothing is missing. */
function withKinds(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withKinds);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const changed: Fields = {};
  // What a program attached is not of the protocol.
  for (const [name, field] of Object.entries(value)) {
    const kinds = name === 'data' || name === 'metadata' ? field : withKinds(field);
    if (kinds !== field) changed[name] = kinds;
  }
  const kind = value.kind === undefined ? kindOf(value) : undefined;
  if (kind !== undefined) changed.kind = kind;
  return Object.keys(changed).length > 0 ? { ...value, ...changed } : value;
}

function kindOf(fields: Fields): string | undefined {
  const { parts, artifactId, artifact, status, id, taskId, text, file, data } = fields;
  if (isObject(artifact)) return 'artifact-update';
  if (isObject(status))
    return typeof id === 'string' ? 'task' : taskId === undefined ? undefined : 'status-update';
  if (Array.isArray(parts)) return artifactId === undefined ? 'message' : undefined;
  if (typeof text === 'string') return 'text';
  if (isObject(file)) return 'file';
  return isObject(data) ? 'data' : undefined;
}

function eachLine(change: (line: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let parts: string[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
      parts.push(first);
      for (const next of more) {
        controller.enqueue(encoder.encode(`${change(parts.join(''))}\n`));
        parts = [next];
      }
    },
    flush(controller) {
      const last = parts.join('') + decoder.decode();
      if (last !== '') controller.enqueue(encoder.encode(change(last)));
    },
  });
}
