import { type ExchangedContent, MASKED, MAX_SHOWN_CHARS } from '../../../core/agent-exchange.ts';
import { REMOVED, withoutSecrets } from '../../../core/policies/egress-filter.ts';
import { bodyText } from './error-text.ts';

/** What is read of a body before it is masked and cut: enough that a file at its start leaves the rest to see. */
export const MAX_READ_BYTES = 64 * 1024;

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
