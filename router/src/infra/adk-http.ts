import { AgentProtocolError } from '../core/errors.ts';

/** Where an ADK server is and what every request to it carries. */
export interface AdkServer {
  /** Origin and path without a trailing slash, credentials or query: names the server in memory and in logs. */
  name: string;
  /** Base URL with its path, plus these segments, each encoded. */
  url(...segments: string[]): string;
  headers: Headers;
  /** Values that must not show in an error or a log: what the headers and the URL's credentials hold. */
  secrets: string[];
}

/**
 * Reads a route's base URL and extra headers. A path and a query in the URL stay, trailing slashes go, a user and
 * password become an Authorization header unless the route sets its own.
 * @throws {AgentProtocolError} the URL or a header cannot be used; the sentence does not quote it
 */
export function adkServer(baseUrl: string, extraHeaders: Record<string, string> = {}): AdkServer {
  const url = parseUrl(baseUrl);
  const path = url.pathname.replace(/\/+$/, '');
  const headers = new Headers();
  const secrets: string[] = [];
  if (url.username || url.password) {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers.set('authorization', `Basic ${Buffer.from(pair).toString('base64')}`);
    secrets.push(decodeURIComponent(url.password));
  }
  for (const [name, value] of Object.entries(extraHeaders)) setHeader(headers, name, value);
  for (const value of headers.values()) secrets.push(value, ...value.split(' ').slice(1));
  headers.set('content-type', 'application/json');
  return {
    name: `${url.origin}${path}`,
    url: (...segments) => `${url.origin}${path}/${segments.map(encodeURIComponent).join('/')}${url.search}`,
    headers,
    secrets,
  };
}

function parseUrl(text: string): URL {
  const problem = "the agent's base URL is not an http:// or https:// address";
  try {
    const url = new URL(text);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  } catch {
    throw new AgentProtocolError(`Failed to send message to ADK agent: ${problem}`);
  }
  throw new AgentProtocolError(`Failed to send message to ADK agent: ${problem}`);
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // The platform's own error quotes the value.
    throw new AgentProtocolError(
      `Failed to send message to ADK agent: the route's header "${name.replace(/[^\w-]/g, '?')}" is not a valid HTTP header`,
    );
  }
}

/**
 * How a request went wrong before a whole answer was there. `not-connected`: nothing was sent · `no-answer`: the
 * connection ended before any byte of an answer · `broken`: it ended, or stalled, in the middle of an answer ·
 * `too-large`: cut off · `aborted`: by the given signal.
 */
export type FaultStage = 'not-connected' | 'no-answer' | 'broken' | 'too-large' | 'aborted';

export type Exchange =
  | { kind: 'answer'; status: number; headers: Headers; body: string }
  | { kind: 'fault'; stage: FaultStage; detail: string; cause?: unknown };

export interface ExchangeOptions {
  method: 'GET' | 'POST';
  headers: Headers;
  body?: string;
  signal: AbortSignal;
  /** A 200 answer above this is a `too-large` fault and no further byte of it is read. */
  maxBytes: number;
}

/** Of a refusal no more than this is read: enough to say why. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * One HTTP exchange with a bounded answer. Redirects are not followed: they would carry a route's headers elsewhere.
 * Never throws; every failure is a fault.
 */
export async function exchange(url: string, options: ExchangeOptions): Promise<Exchange> {
  const { maxBytes, ...init } = options;
  let response: Response;
  try {
    response = await fetch(url, { ...init, redirect: 'manual' });
  } catch (error) {
    return faultOf(error, options.signal, isBeforeConnect(error) ? 'not-connected' : 'no-answer');
  }
  const { status, headers } = response;
  try {
    const read = await readUpTo(response, response.ok ? maxBytes : MAX_REFUSAL_BYTES);
    if (read.isCut && response.ok) {
      return { kind: 'fault', stage: 'too-large', detail: `the answer is larger than ${maxBytes} bytes` };
    }
    return { kind: 'answer', status, headers, body: read.text };
  } catch (error) {
    return faultOf(error, options.signal, 'broken');
  }
}

async function readUpTo(response: Response, maxBytes: number): Promise<{ text: string; isCut: boolean }> {
  const reader = response.body?.getReader();
  if (!reader) return { text: '', isCut: false };
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
  return { text: new TextDecoder().decode(Buffer.concat(chunks)), isCut: size > maxBytes };
}

const BEFORE_CONNECT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function rootCause(error: unknown): Error & { code?: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // A host name with several addresses fails with one error an address.
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? first : new Error(String(first));
}

function isBeforeConnect(error: unknown): boolean {
  const { code } = rootCause(error);
  return code !== undefined && BEFORE_CONNECT.has(code);
}

function faultOf(error: unknown, signal: AbortSignal, stage: FaultStage): Exchange {
  const cause = rootCause(error);
  if (signal.aborted) return { kind: 'fault', stage: 'aborted', detail: 'aborted' };
  const isStall = cause.code === 'UND_ERR_HEADERS_TIMEOUT' || cause.code === 'UND_ERR_BODY_TIMEOUT';
  return {
    kind: 'fault',
    stage: isStall ? 'broken' : stage,
    detail: cause.message || cause.code || 'unknown',
    cause,
  };
}
