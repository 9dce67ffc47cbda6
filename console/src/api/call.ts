import { problemInWords } from '../translation/use-translation.ts';
import { baseUrl } from './base-url.ts';
import type { Operations, Schemas } from './generated/api.ts';
import { setReached } from './live.ts';
import { Problem } from './problem.ts';

export type { Schemas };

/** An operation of the REST API: method and path as the OpenAPI document has them, such as `GET /api/routes/{id}`. */
export type Operation = keyof Operations;
/** What an operation returns. */
export type ResponseOf<Name extends Operation> = Operations[Name]['response'];

/** The parameters of a call. */
export interface Args<Name extends Operation = Operation> {
  path?: Operations[Name]['path'];
  query?: { [Key in keyof Operations[Name]['query']]?: string | number | boolean | undefined };
  body?: Operations[Name]['body'];
  /** Sent instead of `body`, for calls that take it. */
  yaml?: string;
  /** Likewise: a form with files. */
  form?: FormData;
  /** The `ETag` of what the change is about, as it was shown: another person's change is not replaced. */
  ifMatch?: string | undefined;
  signal?: AbortSignal;
}

const etags = new WeakMap<object, string>();

/** The `ETag` of an answer of `call`. Undefined: it had none. */
export function etagOf(answer: object | undefined): string | undefined {
  return answer && etags.get(answer);
}

/** The URL of a call. */
export function urlOf(operation: string, args: { path?: object; query?: object } = {}): string {
  const template = operation.slice(operation.indexOf(' ') + 2);
  const values = (args.path ?? {}) as Record<string, string>;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  const url = new URL(path, baseUrl);
  for (const [name, value] of Object.entries(args.query ?? {})) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url.href;
}

/**
 * Calls the API.
 * @throws {Problem} in the language of the console: the API refuses, or does not answer. Without a session, the browser goes to the login page.
 */
export async function call<Name extends Operation>(
  operation: Name,
  args: Args<Name> = {},
): Promise<ResponseOf<Name>> {
  return (await callAny(operation, args)) as ResponseOf<Name>;
}

/** The same for an operation that the types do not know. @throws {Problem} */
export async function callAny(operation: string, args: Args = {}): Promise<unknown> {
  const { yaml, form, signal } = args;
  const body = form ?? yaml ?? (args.body === undefined ? undefined : JSON.stringify(args.body));
  const type = yaml === undefined ? 'application/json' : 'application/yaml';
  const response = await reached(urlOf(operation, args), {
    method: operation.slice(0, operation.indexOf(' ')),
    credentials: 'same-origin',
    // The service refuses changes with a session that do not have the header.
    headers: {
      'x-wa2ai-csrf': '1',
      ...(body !== undefined && !form && { 'content-type': type }),
      ...(args.ifMatch !== undefined && { 'if-match': args.ifMatch }),
    },
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const answer = isJson(response) && text !== '' ? JSON.parse(text) : text;
  if (response.ok) {
    const etag = response.headers.get('etag');
    if (etag !== null && typeof answer === 'object') etags.set(answer, etag);
    return answer;
  }
  // A wrong password is not a session that has ended.
  if (response.status === 401 && answer?.code !== 'LOGIN_FAILED') location.assign(baseUrl);
  const code = answer?.code ?? `HTTP_${response.status}`;
  const error = answer?.error ?? `The service answered ${response.status}.`;
  const { message, details } = problemInWords({ ...answer, code, error });
  throw new Problem(response.status, code, message, details);
}

/** A proxy answers for a service that does not, without JSON. */
async function reached(url: string, request: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, request);
    setReached(![502, 503, 504].includes(response.status) || isJson(response));
    return response;
  } catch (error) {
    if (!request.signal?.aborted) setReached(false);
    throw error;
  }
}

function isJson(response: Response): boolean {
  return /json/.test(response.headers.get('content-type') ?? '');
}
