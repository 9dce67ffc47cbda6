import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Dispatcher } from 'undici';
import { type Said, say } from '../../../core/phrases.ts';
import { type Egress, EgressRefusedError } from './egress.ts';

/**
 * How a request failed before a complete answer arrived. `refused`: the egress policy does not allow the address ·
 * `not-connected`: nothing was sent · `no-answer`: the connection ended before any byte of an answer · `broken`: it ended
 * in the middle of an answer · `too-large`: the answer exceeds the limit · `aborted`: by the given signal.
 */
export type FaultKind = 'refused' | 'not-connected' | 'no-answer' | 'broken' | 'too-large' | 'aborted';

export type Fetched =
  | { kind: 'answer'; status: number; headers: Headers; body: Buffer }
  | { kind: 'fault'; fault: FaultKind; detail: Said; cause?: unknown };

/** How a request leaves this machine: which addresses are refused, and what connects to the others. */
interface Way extends Pick<Egress, 'refusalOfUrl'> {
  readonly dispatcher: Dispatcher;
}

export interface FetchOptions {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Headers;
  body?: string | Uint8Array;
  signal: AbortSignal;
  /** A successful answer above this is a `too-large` fault; wa2ai stops reading it. */
  maxBytes: number;
}

/** wa2ai reads no more of a refusal than this: enough to say why. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * One HTTP exchange with a bounded answer, to an address that `egress` allows. Redirects are not followed: they would
 * carry a route's headers to another server, or a request to an address that is refused.
 * Never throws; every failure is a fault.
 */
export async function boundedFetch(url: string, options: FetchOptions, egress: Way): Promise<Fetched> {
  const { maxBytes, ...init } = options;
  const opened = await openFetch(url, init, egress);
  if (opened.kind === 'fault') return opened;
  return readWhole(url, opened.response, maxBytes, options.signal);
}

async function readWhole(
  url: string,
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Fetched> {
  const { status, headers } = response;
  try {
    const read = await readUpTo(response, response.ok ? maxBytes : MAX_REFUSAL_BYTES);
    if (read.isCut && response.ok) return tooLarge(maxBytes);
    return { kind: 'answer', status, headers, body: read.bytes };
  } catch (error) {
    return faultOf(error, signal, 'broken', url);
  }
}

function tooLarge(maxBytes: number): Fetched {
  return { kind: 'fault', fault: 'too-large', detail: say('fetch.too-large', { bytes: maxBytes }) };
}

/** A request whose answer began; its body is not read and not limited. */
export type Opened = { kind: 'response'; response: Response } | Extract<Fetched, { kind: 'fault' }>;

/** As `boundedFetch`, up to the headers of the answer. */
export async function openFetch(
  url: string,
  init: Omit<FetchOptions, 'maxBytes'>,
  egress: Way,
): Promise<Opened> {
  const refusal = egress.refusalOfUrl(url);
  if (refusal !== undefined) return { kind: 'fault', fault: 'refused', detail: refusal };
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', dispatcher: egress.dispatcher });
    return { kind: 'response', response };
  } catch (error) {
    const cause = rootCause(error);
    if (cause instanceof EgressRefusedError) return { kind: 'fault', fault: 'refused', detail: cause.said };
    return faultOf(error, init.signal, isBeforeConnect(error) ? 'not-connected' : 'no-answer', url);
  }
}

/**
 * As `boundedFetch`, for an answer that is written event by event: each server-sent event goes to `onEvent` when it arrives,
 * and the body is empty. An answer that is no stream of events is read as `boundedFetch` does. The limit is that of all events
 * together; `onEvent` must not throw.
 */
export async function streamedFetch(
  url: string,
  { maxBytes, ...init }: FetchOptions,
  egress: Egress,
  onEvent: (data: string) => void,
): Promise<Fetched> {
  const opened = await openFetch(url, init, egress);
  if (opened.kind === 'fault') return opened;
  const { response } = opened;
  if (!response.ok || !/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
    return readWhole(url, response, maxBytes, init.signal);
  }
  let size = 0;
  try {
    for await (const { data } of readEvents(response, maxBytes)) {
      size += Buffer.byteLength(data);
      if (size > maxBytes) return tooLarge(maxBytes);
      onEvent(data);
    }
  } catch (error) {
    if (error instanceof SseTooLargeError) return tooLarge(maxBytes);
    return faultOf(error, init.signal, 'broken', url);
  }
  return { kind: 'answer', status: response.status, headers: response.headers, body: Buffer.alloc(0) };
}

/** Where a redirect points, in brackets for the end of a sentence; undefined for any other answer. */
export function redirectHint({ status, headers }: { status: number; headers: Headers }): Said | undefined {
  const location = status >= 300 && status < 400 ? headers.get('location') : undefined;
  return location ? say('fetch.redirect', { location }) : undefined;
}

async function readUpTo(response: Response, maxBytes: number): Promise<{ bytes: Buffer; isCut: boolean }> {
  const reader = response.body?.getReader();
  if (!reader) return { bytes: Buffer.alloc(0), isCut: false };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.byteLength;
    chunks.push(read.value);
    if (size > maxBytes) {
      // Closing can only fail on a connection that is closed already.
      await reader.cancel().catch(() => undefined);
      break;
    }
  }
  return { bytes: Buffer.concat(chunks), isCut: size > maxBytes };
}

const BEFORE_CONNECT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** A TLS handshake that failed because of the server: nothing of the request was sent. */
const HANDSHAKE: Record<string, Said> = {
  ERR_SSL_WRONG_VERSION_NUMBER: say('fetch.no-tls'),
  DEPTH_ZERO_SELF_SIGNED_CERT: say('fetch.self-signed'),
  SELF_SIGNED_CERT_IN_CHAIN: say('fetch.untrusted-authority'),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: say('fetch.unknown-authority'),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: say('fetch.unknown-authority'),
  CERT_HAS_EXPIRED: say('fetch.certificate-expired'),
  CERT_NOT_YET_VALID: say('fetch.certificate-not-yet-valid'),
  ERR_TLS_CERT_ALTNAME_INVALID: say('fetch.other-host'),
};

function rootCause(error: unknown): Error & { code?: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // A host name with several addresses fails with one error per address.
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? first : new Error(String(first));
}

function isBeforeConnect(error: unknown): boolean {
  const { code = '', message } = rootCause(error);
  return isBadPort(message) || BEFORE_CONNECT.has(code) || code in HANDSHAKE;
}

/** What fetch says about a port that the fetch standard forbids, such as 6000. */
function isBadPort(message: string): boolean {
  return message === 'bad port';
}

function faultOf(
  error: unknown,
  signal: AbortSignal,
  fault: FaultKind,
  url: string,
): Extract<Fetched, { kind: 'fault' }> {
  const cause = rootCause(error);
  if (signal.aborted) return { kind: 'fault', fault: 'aborted', detail: say('fetch.aborted') };
  return { kind: 'fault', fault, detail: detailOf(cause, url), cause };
}

function detailOf({ code = '', message }: Error & { code?: string }, url: string): Said {
  if (isBadPort(message)) return say('fetch.bad-port', { port: new URL(url).port });
  const sentence = message.trim() || code;
  return HANDSHAKE[code] ?? (sentence ? { sentence } : say('fetch.unknown'));
}

/** One event of a stream of server-sent events; `event` absent: the stream did not name it. */
type SseEvent = Pick<EventSourceMessage, 'event' | 'id' | 'data'>;

/** An event, or a line, is larger than the limit. */
export class SseTooLargeError extends Error {}

/**
 * The events of an answer of type `text/event-stream`, in order, the last one also without its blank line. Ends when the stream ends; a consumer that stops early
 * closes the connection.
 * @param maxChars of one event, and of one line
 * @throws {SseTooLargeError} an event or a line is longer
 * @throws what the connection throws when it breaks or its request is aborted
 */
export async function* readEvents(response: Response, maxChars: number): AsyncGenerator<SseEvent> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const ready: SseEvent[] = [];
  let isTooLarge = false;
  const parser = createParser({
    maxBufferSize: maxChars,
    onEvent: ({ event, id, data }) => {
      isTooLarge ||= data.length > maxChars;
      ready.push({ data, ...(event !== undefined && { event }), ...(id !== undefined && { id }) });
    },
    onError: ({ type }) => {
      isTooLarge ||= type === 'max-buffer-size-exceeded';
    },
  });
  const decoder = new TextDecoder();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      parser.feed(decoder.decode(read.value, { stream: true }));
      if (isTooLarge) throw new SseTooLargeError(`an event has more than ${maxChars} characters`);
      yield* ready.splice(0);
    }
    // The last event of many servers has no blank line behind it.
    parser.feed(`${decoder.decode()}\n\n`);
    if (isTooLarge) throw new SseTooLargeError(`an event has more than ${maxChars} characters`);
    yield* ready.splice(0);
  } finally {
    // Closing can only fail on a connection that is closed already.
    await reader.cancel().catch(() => undefined);
  }
}
