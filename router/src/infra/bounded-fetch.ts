/**
 * How a request went wrong before a whole answer was there. `not-connected`: nothing was sent · `no-answer`: the
 * connection ended before any byte of an answer · `broken`: it ended, or stalled, in the middle of an answer ·
 * `too-large`: cut off · `aborted`: by the given signal.
 */
export type FaultStage = 'not-connected' | 'no-answer' | 'broken' | 'too-large' | 'aborted';

export type Fetched =
  | { kind: 'answer'; status: number; headers: Headers; body: Buffer }
  | { kind: 'fault'; stage: FaultStage; detail: string; cause?: unknown };

export interface FetchOptions {
  method: 'GET' | 'POST';
  headers: Headers;
  body?: string | Uint8Array;
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
export async function boundedFetch(url: string, options: FetchOptions): Promise<Fetched> {
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
    return { kind: 'answer', status, headers, body: read.bytes };
  } catch (error) {
    return faultOf(error, options.signal, 'broken');
  }
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

function rootCause(error: unknown): Error & { code?: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  // A host name with several addresses fails with one error an address.
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? first : new Error(String(first));
}

function isBeforeConnect(error: unknown): boolean {
  const { code, message } = rootCause(error);
  // What fetch says of a port that browsers keep clear of, such as 6000.
  return message === 'bad port' || (code !== undefined && BEFORE_CONNECT.has(code));
}

function faultOf(error: unknown, signal: AbortSignal, stage: FaultStage): Fetched {
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
