import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { EmulatorError } from './emulator-error.ts';
import { digitsOf } from './participants.ts';

const MAX_BODY_BYTES = 1_048_576;

/** One request, as an endpoint receives it. */
export interface Call {
  readonly body: unknown;
  readonly query: Record<string, string>;
  /** the number in the path, digits only */
  readonly phone: string;
  readonly response: ServerResponse;
}

/** An endpoint of the control API. */
export interface Endpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly about: string;
  /** the response as JSON, or undefined when the call wrote one itself */
  readonly handle: (call: Call) => unknown;
}

/** A refusal with its HTTP status; the caller gets the message. */
class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Finds the endpoint of a request, calls it and writes its response, or the error as `{error}`. */
export async function answer(
  endpoints: readonly Endpoint[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    assertLoopback(request);
    const { endpoint, phone } = find(endpoints, request.method ?? 'GET', url.pathname);
    const body = endpoint.method === 'POST' ? await readJson(request) : undefined;
    const query = Object.fromEntries(url.searchParams);
    const result = await endpoint.handle({ body, query, phone, response });
    if (!response.headersSent) sendJson(response, 200, result);
  } catch (error) {
    if (response.headersSent) return void response.end();
    const { status, message } = problemOf(error);
    sendJson(response, status, { error: message });
  }
}

function find(endpoints: readonly Endpoint[], method: string, path: string) {
  const wanted = path.split('/');
  const atPath = endpoints.filter((endpoint) => {
    const parts = endpoint.path.split('/');
    return (
      parts.length === wanted.length &&
      parts.every((part, index) => part.startsWith(':') || part === wanted[index])
    );
  });
  if (atPath.length === 0) throw new HttpError(404, `there is no ${path}; GET / lists what there is`);
  const endpoint = atPath.find((candidate) => candidate.method === method);
  if (!endpoint) throw new HttpError(405, `${path} takes ${atPath[0]?.method}`);
  const at = endpoint.path.split('/').indexOf(':phone');
  return { endpoint, phone: at < 0 ? '' : digitsOf(decodeURIComponent(wanted[at] ?? '')) };
}

// A web page must not reach this API through a name that resolves to loopback.
function assertLoopback(request: IncomingMessage): void {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) {
    throw new HttpError(403, `the host ${host} is not loopback`);
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new HttpError(413, 'the body is larger than 1 MB');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (text && !request.headers['content-type']?.startsWith('application/json')) {
    throw new HttpError(415, 'send application/json');
  }
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    throw new HttpError(400, 'the body is not JSON');
  }
}

/** @throws {HttpError} 400 naming each invalid field */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new HttpError(400, issues.join('; '));
}

function problemOf(error: unknown): { status: number; message: string } {
  if (error instanceof HttpError) return error;
  if (error instanceof EmulatorError) return { status: 409, message: error.message };
  if (error instanceof URIError) return { status: 400, message: 'the path is not well encoded' };
  console.error(error);
  return { status: 500, message: 'the emulator failed; see its output' };
}

/** Responds with plain text. */
export function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
