import type { OwnHeaders } from '../../card-address.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import type { Fetched } from '../../transport/bounded-fetch.ts';
import { lenientAnswers } from './lenient-answers.ts';

/** An answer with files in base64. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** All events of one connection. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;

/** The `fetch` of the A2A client: every request goes through the transport of wa2ai, with its limits. */
export interface A2aFetch {
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
      fail({ kind: 'fault', fault: 'too-large', detail: `the answer is larger than ${limit} bytes` });
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
