import type { Request as ExpressRequest } from 'express';
import { JSON_TYPE } from '../../infra/operations/guard.ts';

/** Names the version in each request, in its `_meta`, and has no `initialize`. */
const LATEST_VERSION = '2026-07-28';
const VERSION_IN_META = 'io.modelcontextprotocol/protocolVersion';

/** Nulls deeper than this stay. */
const MAX_DEPTH = 10;

interface Message {
  method?: unknown;
  id?: unknown;
  params?: { _meta?: unknown } | null;
}

/**
 * The body of a request as the SDK takes it: without null, which some clients write for what they leave out. The arguments of
 * a tool stay, in which null has a meaning; null instead of all of them does not.
 */
export function meantBody(body: string): string {
  const message = body.includes('null') ? messageOf(body) : undefined;
  if (!message) return body;
  const { id, params, ...rest } = message;
  const isNotification = String(rest.method).startsWith('notifications/');
  const keep = rest.method === 'tools/call' ? 'arguments' : undefined;
  return JSON.stringify({
    ...rest,
    ...('id' in message && !(id === null && isNotification) && { id }),
    ...(params !== undefined && params !== null && { params: withoutNull(params, keep) }),
  });
}

function withoutNull(value: unknown, keep?: string, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNull(item, undefined, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([name, item]) => [name, name === keep ? item : withoutNull(item, undefined, depth + 1)]),
  );
}

/** The request for the SDK, which is stricter than clients are. */
export function webRequest(request: ExpressRequest, body: string, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  // The SDK answers in either form; `inFormFor` gives the client the one it takes.
  headers.set('accept', 'application/json, text/event-stream');
  if (JSON_TYPE.test(headers.get('content-type') ?? '')) headers.set('content-type', 'application/json');
  const version = headers.get('mcp-protocol-version');
  if (version !== null && !mayCount(version, body)) headers.delete('mcp-protocol-version');
  return new Request('http://localhost/mcp', {
    method: request.method,
    headers,
    signal,
    ...(request.method === 'POST' && { body }),
  });
}

/**
 * Whether the header with the version says what the request is. Before a version is negotiated, the one in the body counts. A
 * client that goes on naming its own version of the future, after another one was negotiated, is answered in the latter; one
 * that names it in the body too gets the versions of wa2ai as an error.
 */
function mayCount(version: string, body: string): boolean {
  if (version === LATEST_VERSION) return true;
  const { method, params } = messageOf(body) ?? {};
  if (method === 'initialize' || version.trim() === '') return false;
  const isOfFuture = /^\d{4}-\d{2}-\d{2}$/.test(version) && version > LATEST_VERSION;
  const meta = params?._meta;
  return !isOfFuture || (typeof meta === 'object' && meta !== null && VERSION_IN_META in meta);
}

function messageOf(body: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(body);
    const isObject = typeof message === 'object' && message !== null && !Array.isArray(message);
    return isObject ? message : undefined;
  } catch {
    // The SDK refuses it.
    return undefined;
  }
}

/**
 * The response in a form that the client takes. The protocol demands that a client takes JSON and event streams; one that
 * names no event stream gets the response as JSON, without the notifications before it, and one that names only event
 * streams gets JSON as the one event of a stream.
 */
export async function inFormFor(accept: string | undefined, answer: Response): Promise<Response> {
  const isStream = answer.headers.get('content-type')?.includes('text/event-stream') ?? false;
  const takesStream = /text\/(?:event-stream|\*)/i.test(accept ?? '');
  const takesJson = !takesStream || /application\/(?:json|\*)|\*\/\*/i.test(accept ?? '');
  const isFitting = isStream ? takesStream : takesJson;
  if (isFitting || answer.status !== 200 || !answer.body) return answer;
  const headers = new Headers(answer.headers);
  headers.set('content-type', isStream ? 'application/json' : 'text/event-stream');
  const text = await answer.text();
  if (!isStream) return new Response(`event: message\ndata: ${text}\n\n`, { headers });
  const messages = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
  // The response is the last message of its stream.
  return new Response(messages.at(-1) ?? null, { headers });
}
