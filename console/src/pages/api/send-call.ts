import { urlOf } from '../../api/call.ts';
import type { Operation } from './document.ts';

/** Of a text that the page shows. */
const MAX_CHARS = 100_000;
/** A stream never ends; what has come until then is shown. */
const MAX_WAIT_MS = 10_000;

/** What the service answered. */
export interface CallAnswer {
  status: number;
  milliseconds: number;
  type: string;
  text?: string;
  isCut: boolean;
  bytes: number;
}

/** The values of a call, by the name of their parameter. */
export interface CallInput {
  values: Record<string, string>;
  body?: string;
}

/** The URL of a call. */
function callUrl({ method, path, parameters = [] }: Operation, { values }: CallInput): string {
  const of = (place: string) =>
    Object.fromEntries(
      parameters.filter(({ in: where }) => where === place).map(({ name }) => [name, values[name] ?? '']),
    );
  return urlOf(`${method} ${path}`, { path: of('path'), query: of('query') });
}

/** Calls an operation with the session of this browser. @throws {TypeError} the service does not answer */
export async function sendCall(operation: Operation, input: CallInput): Promise<CallAnswer> {
  const { method, parameters = [] } = operation;
  const beganMs = performance.now();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), MAX_WAIT_MS);
  const named = parameters
    .filter(({ in: where, name }) => where === 'header' && input.values[name])
    .map(({ name }) => [name, input.values[name] ?? '']);
  const headers = {
    'x-wa2ai-csrf': '1',
    ...(input.body !== undefined && { 'content-type': 'application/json' }),
    ...Object.fromEntries(named),
  };
  try {
    const response = await fetch(callUrl(operation, input), {
      method,
      credentials: 'same-origin',
      redirect: 'manual',
      headers,
      signal: late.signal,
      ...(input.body !== undefined && { body: input.body }),
    });
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    const { bytes, isCut } = await readSome(response, late);
    const isText = type === '' || /json|text|yaml|xml|event-stream|javascript/.test(type);
    return {
      status: response.status,
      milliseconds: Math.round(performance.now() - beganMs),
      type,
      ...(isText && { text: pretty(new TextDecoder().decode(bytes), type) }),
      isCut,
      bytes: bytes.length,
    };
  } finally {
    clearTimeout(timer);
    late.abort();
  }
}

/** The beginning of an answer; of a stream, what comes in time. */
async function readSome(
  response: Response,
  late: AbortController,
): Promise<{ bytes: Uint8Array; isCut: boolean }> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  try {
    while (reader && length < MAX_CHARS) {
      const { done, value } = await reader.read();
      if (done) return { bytes: joined(parts, length), isCut: false };
      parts.push(value);
      length += value.length;
    }
  } catch (error) {
    if (!late.signal.aborted) throw error;
  }
  return { bytes: joined(parts, length), isCut: reader !== undefined };
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function pretty(text: string, type: string): string {
  if (!/json/.test(type)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The same call for a terminal, with a key in the place of the session. */
export function curlOf(operation: Operation, input: CallInput): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return [
    `curl -X ${operation.method} ${quoted(callUrl(operation, input))}`,
    `  -H "X-API-Key: $WA2AI_API_KEY"`,
    ...(input.body === undefined
      ? []
      : [`  -H 'Content-Type: application/json'`, `  -d ${quoted(compact(input.body))}`]),
  ].join(' \\\n');
}

function compact(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return body;
  }
}
