import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { RequestError, RuntimeFault } from './fault.ts';
import { storeUpload } from './files.ts';
import type { Runtime } from './runtime.ts';

const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** Answers that are kept for a repeated `X-Request-ID`, and their bytes together. */
const MAX_KEPT = 200;
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** Tells clients that a repeated request id is answered from memory, also while the first request still runs. */
const REPLAY_HEADER = 'x-request-replay';

interface Answer {
  status: number;
  body: string;
}

/** The HTTP API of the runtime: every answer is JSON, an error of the runtime has the status 511. */
export function runtimeServer(runtime: Runtime, token: string): Server {
  const kept = new KeptAnswers();
  const server = createServer(async (request, response) => {
    let answer: Answer;
    try {
      answer = await answerTo(runtime, token, kept, request);
    } catch (error) {
      answer = errorAnswer(error);
    }
    // what was not read of a refused request would be taken for the next one; after close() there is no next one
    send(response, answer, !request.complete || !server.listening);
  });
  // commands may take hours
  server.requestTimeout = 0;
  server.timeout = 0;
  return server;
}

async function answerTo(
  runtime: Runtime,
  token: string,
  kept: KeptAnswers,
  request: IncomingMessage,
): Promise<Answer> {
  authorize(request, token);
  const { pathname } = new URL(request.url ?? '/', 'http://runtime');
  if (request.method === 'GET') {
    if (pathname === '/') return json(200, { message: 'hello world' });
    if (pathname === '/is_alive') return json(200, { is_alive: true, message: '' });
  }
  const action =
    pathname === '/upload'
      ? (bytes: Buffer) => upload(request, bytes)
      : withJson(Object.hasOwn(runtime.actions, pathname) ? runtime.actions[pathname] : undefined);
  if (!action) {
    const isKnown = pathname === '/' || pathname === '/is_alive';
    throw new RequestError(isKnown ? 405 : 404, isKnown ? 'Method Not Allowed' : 'Not Found');
  }
  if (request.method !== 'POST') throw new RequestError(405, 'Method Not Allowed');
  const body = await bodyOf(request);
  const work = () => action(body).then((result) => json(200, result), errorAnswer);
  const id = request.headers['x-request-id'];
  if (typeof id !== 'string' || id === '') return await work();
  const key = `${pathname} ${id}`;
  // a client that repeats a request must not run a command twice, even when this process is a new one
  if (request.headers[REPLAY_HEADER] === 'only' && !kept.has(key)) {
    throw new RequestError(409, 'This request is not known');
  }
  return await kept.answer(key, work);
}

/** @throws {RequestError} 403 without a key, 401 with a wrong one, as the Python original answers */
function authorize(request: IncomingMessage, token: string): void {
  const key = request.headers['x-api-key'];
  if (typeof key !== 'string' || key === '') throw new RequestError(403, 'Not authenticated');
  const [given, expected] = [key, token].map((text) => createHash('sha256').update(text).digest());
  if (!given || !expected || !timingSafeEqual(given, expected)) {
    throw new RequestError(401, 'Invalid API Key');
  }
}

function withJson(action: ((body: unknown) => Promise<unknown>) | undefined) {
  if (!action) return undefined;
  return async (bytes: Buffer) => {
    let body: unknown;
    try {
      body = bytes.length === 0 ? {} : JSON.parse(bytes.toString('utf8'));
    } catch {
      throw new RequestError(422, [{ type: 'json_invalid', loc: ['body'], msg: 'JSON decode error' }]);
    }
    return await action(body ?? {});
  };
}

async function upload(request: IncomingMessage, bytes: Buffer): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  let form: FormData;
  try {
    form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  } catch {
    throw new RequestError(400, 'There was an error parsing the body');
  }
  const [file, path] = [form.get('file'), form.get('target_path')];
  if (!file || typeof file === 'string') throw missing('file');
  if (typeof path !== 'string' || path === '') throw missing('target_path');
  const isZip = /^(true|t|1|on|yes|y)$/i.test(String(form.get('unzip') ?? ''));
  storeUpload(path, Buffer.from(await file.arrayBuffer()), isZip);
  return {};
}

function missing(name: string): RequestError {
  return new RequestError(422, [{ type: 'missing', loc: ['body', name], msg: 'Field required' }]);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new RequestError(413, `At most ${MAX_BODY_BYTES} bytes are read`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function json(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body) };
}

function errorAnswer(error: unknown): Answer {
  if (error instanceof RequestError) return json(error.status, { detail: error.detail });
  const isFault = error instanceof RuntimeFault;
  const message = error instanceof Error ? error.message : String(error);
  return json(511, {
    swerexception: {
      message,
      class_path: isFault ? error.classPath : 'builtins.RuntimeError',
      traceback: '',
      extra_info: isFault ? error.extraInfo : {},
    },
  });
}

function send(response: ServerResponse, { status, body }: Answer, isLast: boolean): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    [REPLAY_HEADER]: 'yes',
    ...(isLast && { connection: 'close' }),
  });
  response.end(body);
}

/** Answers by request id: the last ones, and those of requests that still run. */
class KeptAnswers {
  readonly #answers = new Map<string, { answer: Promise<Answer>; bytes: number }>();
  #bytes = 0;

  has(key: string): boolean {
    return this.#answers.has(key);
  }

  /** The kept answer of this request, or that of `work`. */
  async answer(key: string, work: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key);
    if (known) return await known.answer;
    const entry = { answer: work(), bytes: 0 };
    this.#answers.set(key, entry);
    const answer = await entry.answer;
    entry.bytes = answer.body.length;
    this.#bytes += entry.bytes;
    this.#forget();
    return answer;
  }

  /** Removes the oldest answers; a request that still runs stays. */
  #forget(): void {
    for (const [key, { bytes }] of this.#answers) {
      if (this.#answers.size <= MAX_KEPT && this.#bytes <= MAX_KEPT_BYTES) return;
      if (bytes === 0) continue;
      this.#answers.delete(key);
      this.#bytes -= bytes;
    }
  }
}
