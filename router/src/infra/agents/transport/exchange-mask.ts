import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type AgentExchange,
  type ExchangedContent,
  type ExchangeRecorder,
  MASKED,
  MAX_SHOWN_CHARS,
} from '../../../core/agent-exchange.ts';
import { REMOVED, withoutSecrets } from '../../../core/policies/egress-filter.ts';
import type { Fetched, FetchOptions, Opened } from './bounded-fetch.ts';
import { bodyText } from './error-text.ts';

/** What is read of a body before it is masked and cut: enough that a file at its start leaves the rest to see. */
const MAX_READ_BYTES = 64 * 1024;

/** Headers whose values are shown. Those of a route may be anything, so every other value is masked. */
const SHOWN_HEADERS = new Set([
  'a2a-extensions',
  'a2a-version',
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'connection',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'date',
  'idempotency-key',
  'keep-alive',
  'last-event-id',
  'retry-after',
  'server',
  'transfer-encoding',
  'user-agent',
  'vary',
  'x-accel-buffering',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-request-id',
  'x-request-replay',
]);

/** Shorter values are not replaced in a text: they would be parts of ordinary words. */
const MIN_SECRET_CHARS = 8;
/** A file in base64, such as a picture: only its length is shown. */
const ENCODED = /[A-Za-z\d+/_-]+={0,2}/g;
const MIN_FILE_CHARS = 512;
/** The call of an ABI agent. */
const CALL_DATA = /^0x[\da-f]+$/i;
/** Addresses that contain the right to load a file, to answer later, or to say that a task has changed. */
const SECRET_LINK = /(\/(?:api\/media|api\/replies|task-pushes)\/)[\w-]{20,}/g;
/** A field of JSON with a text; the text ends at a quote without a backslash. */
const TEXT_FIELD = /"([^"\\]{1,80})"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}"/g;
const SECRET_NAMES =
  /(?:token|secret|passwo?r?d|passphrase|api_?-?key|authorization|credential|private_?-?key|cookie)s?$/i;
/** Calls of ABI agents and their answers, shown in hexadecimal. */
const BYTES_TYPE = /^application\/octet-stream\b/i;
/** Only these are text; of all others the size is shown. */
const TEXT_TYPE = /json|text|xml|x-www-form-urlencoded|javascript|yaml/i;

/** The values of these headers, of the query and of the password in the URL that must not be seen anywhere. */
export function secretsOf(url: string, headers: Headers): string[] {
  const found: string[] = [];
  headers.forEach((value, name) => {
    if (!SHOWN_HEADERS.has(name)) found.push(value, ...value.split(/[ ,;=]+/));
  });
  if (URL.canParse(url)) {
    const { password, searchParams } = new URL(url);
    found.push(password, decoded(password), ...searchParams.values());
  }
  const long = found.filter((value) => value.length >= MIN_SECRET_CHARS);
  // A secret that contains another one is replaced as a whole.
  return [...new Set(long)].sort((one, other) => other.length - one.length);
}

/** A password as it was before it was encoded for a URL; unchanged when a person wrote a `%` as it is. */
function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}

/** The URL without user, password and the values of its query. */
export function maskedUrl(url: string, secrets: readonly string[]): string {
  if (!URL.canParse(url)) return withoutKnown(url, secrets);
  const shown = new URL(url);
  if (shown.username !== '' || shown.password !== '') {
    shown.username = MASKED;
    shown.password = '';
  }
  for (const name of new Set(shown.searchParams.keys())) shown.searchParams.set(name, MASKED);
  return withoutKnown(shown.href, secrets);
}

/** Headers and body as they are shown; `size` is that of the whole body when `read` is only its start. */
export function maskedContent(
  headers: Headers,
  read: Uint8Array | string | undefined,
  size: number | undefined,
  secrets: readonly string[],
): ExchangedContent {
  const shown: Record<string, string> = {};
  headers.forEach((value, name) => {
    shown[name] = SHOWN_HEADERS.has(name) ? withoutKnown(value, secrets) : MASKED;
  });
  const content: ExchangedContent = { headers: shown };
  if (size !== undefined) content.bytes = size;
  if (read === undefined || read.length === 0) return content;
  const type = headers.get('content-type') ?? '';
  if (type !== '' && !TEXT_TYPE.test(type) && !BYTES_TYPE.test(type)) return content;
  const text = typeof read === 'string' ? read : bodyText({ headers, body: read });
  const isBytes = typeof read !== 'string' && (BYTES_TYPE.test(type) || text.includes('\0'));
  const masked = isBytes ? maskedBytes(read, secrets) : maskedText(text, secrets);
  const isWhole = size !== undefined && size <= MAX_READ_BYTES && masked.length <= MAX_SHOWN_CHARS;
  content.body = isWhole ? masked : `${masked.slice(0, MAX_SHOWN_CHARS)}…`;
  return content;
}

/** A text without these secrets, without what looks like a secret, and without files in base64. */
export function maskedText(text: string, secrets: readonly string[]): string {
  const shown = withoutKnown(text, secrets)
    .replace(ENCODED, (run) => (isFile(run) ? `[${run.length} characters of a file]` : run))
    .replace(SECRET_LINK, `$1${MASKED}`);
  return withoutSecrets(withoutSecretFields(shown)).replaceAll(REMOVED, MASKED);
}

function isFile(run: string): boolean {
  return run.length >= MIN_FILE_CHARS && !CALL_DATA.test(run);
}

function withoutSecretFields(text: string): string {
  let shown = '';
  let at = 0;
  for (const field of text.matchAll(TEXT_FIELD)) {
    const start = field.index + field[0].length;
    if (field.index < at || !SECRET_NAMES.test(field[1] ?? '')) continue;
    shown += `${text.slice(at, start)}${MASKED}`;
    at = start;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  }
  return shown + text.slice(at);
}

function maskedBytes(bytes: Uint8Array, secrets: readonly string[]): string {
  const text = withoutKnown(Buffer.from(bytes).toString('latin1'), secrets);
  return `0x${Buffer.from(text, 'latin1').toString('hex')}`;
}

function withoutKnown(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) {
    shown = shown.replaceAll(secret, MASKED);
    const escaped = JSON.stringify(secret).slice(1, -1);
    if (escaped !== secret) shown = shown.replaceAll(escaped, MASKED);
  }
  return shown;
}

type Sent = Pick<FetchOptions, 'method' | 'headers' | 'body'>;

/** Answers that have no body by the fetch standard. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * Records the exchanges of an attempt with an agent, whatever client makes them. All transports of agents share one. Work
 * outside of `during` is not recorded and costs nothing.
 */
export class TransportRecorder implements ExchangeRecorder {
  readonly #running = new AsyncLocalStorage<ExchangeRecord[]>();
  readonly #clock: { now(): number };
  readonly #isOn: () => boolean;

  /** @param isOn whether attempts that begin now are recorded */
  constructor(clock: { now(): number }, isOn = () => true) {
    this.#clock = clock;
    this.#isOn = isOn;
  }

  async during<Result>(
    onExchange: (exchange: AgentExchange) => void,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (!this.#isOn()) return work();
    const records: ExchangeRecord[] = [];
    try {
      return await this.#running.run(records, work);
    } finally {
      for (const record of records) onExchange(record.exchange());
    }
  }

  /** The record of a request that is sent now; undefined: nobody wants it. */
  begin(url: string, sent: Sent): ExchangeRecord | undefined {
    const records = this.#running.getStore();
    if (!records) return undefined;
    const record = new ExchangeRecord(url, sent, this.#clock);
    records.push(record);
    return record;
  }
}

/** One request and what is known of its answer. */
class ExchangeRecord {
  readonly #url: string;
  readonly #sent: Sent;
  readonly #clock: { now(): number };
  readonly #startedMs: number;
  #endedMs: number | undefined;
  #answer: { status: number; headers: Headers } | undefined;
  #fault: string | undefined;
  /** The start of the answer's body, and the size of all that came. */
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;
  #size = 0;

  constructor(url: string, sent: Sent, clock: { now(): number }) {
    this.#url = url;
    this.#sent = sent;
    this.#clock = clock;
    this.#startedMs = clock.now();
  }

  /** An event of a stream, whose `fetched` has no body. */
  event(data: string): void {
    this.#read(Buffer.from(`data: ${data}\n\n`));
  }

  /** The exchange is over. */
  ended(fetched: Fetched): void {
    this.#endedMs = this.#clock.now();
    if (fetched.kind === 'fault') this.#fault = `${fetched.fault}: ${fetched.detail}`;
    else {
      this.#answer = fetched;
      this.#read(fetched.body);
    }
  }

  /** The answer began; its body is recorded while the caller reads it. */
  opened(opened: Opened): Opened {
    if (opened.kind === 'fault') {
      this.ended(opened);
      return opened;
    }
    const { response } = opened;
    const { status, statusText, headers, body } = response;
    this.#answer = { status, headers };
    if (!body || WITHOUT_BODY.has(status)) {
      this.#endedMs = this.#clock.now();
      return opened;
    }
    const tap = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        this.#read(chunk);
        controller.enqueue(chunk);
      },
      flush: () => {
        this.#endedMs = this.#clock.now();
      },
    });
    const tapped = new Response(body.pipeThrough(tap), { status, statusText, headers });
    return { kind: 'response', response: tapped };
  }

  /** As it is shown. What came so far, when the answer has not ended. */
  exchange(): AgentExchange {
    const { method, headers, body } = this.#sent;
    const secrets = secretsOf(this.#url, headers);
    const size = body === undefined ? undefined : Buffer.byteLength(body);
    const start =
      typeof body === 'string' ? body.slice(0, MAX_READ_BYTES) : body?.subarray(0, MAX_READ_BYTES);
    const request = { method, url: maskedUrl(this.#url, secrets) };
    return {
      at: new Date(this.#startedMs).toISOString(),
      ...(this.#endedMs !== undefined && { ms: Math.max(0, this.#endedMs - this.#startedMs) }),
      request: { ...request, ...maskedContent(headers, start, size, secrets) },
      ...(this.#answer && {
        response: {
          status: this.#answer.status,
          ...maskedContent(this.#answer.headers, Buffer.concat(this.#chunks), this.#size, secrets),
        },
      }),
      ...(this.#fault !== undefined && { fault: this.#fault }),
    };
  }

  #read(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    const left = MAX_READ_BYTES - this.#kept;
    if (left <= 0 || chunk.byteLength === 0) return;
    const start = chunk.subarray(0, left);
    this.#chunks.push(start);
    this.#kept += start.byteLength;
  }
}
