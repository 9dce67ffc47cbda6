import { withoutReasoning, withoutStackTraces } from './reasoning.ts';

/** What was removed from a text, and how often. */
export interface Removed {
  kind: Leak;
  count: number;
}

type Leak = 'reasoning' | 'private-key' | 'secret' | 'stack-trace' | 'file-path' | 'private-address';

const MAX_PASSES = 20;
/** Characters that all passes over a text may read; a text that needs more is withheld. */
const MAX_WORK_CHARS = 4_000_000;

/** In place of a value that people must not see. */
export const REMOVED = '[removed]';

interface Rule {
  kind: Leak;
  /** The text without what the rule finds, and how often it was there. Reads the text a fixed number of times. */
  apply(text: string): { text: string; count: number };
}

/** In this order: what an earlier rule removed is not seen by a later one. */
const RULES: readonly Rule[] = [
  { kind: 'reasoning', apply: withoutReasoning },
  {
    kind: 'private-key',
    apply: replacing(
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g,
      ['-----BEGIN'],
    ),
  },
  { kind: 'stack-trace', apply: withoutStackTraces },
  { kind: 'secret', apply: withoutTokens },
  { kind: 'secret', apply: withoutCredentials },
  { kind: 'secret', apply: withoutNamedSecrets },
  {
    kind: 'secret',
    apply: replacing(/(?<=\b[a-z][a-z\d+.-]{1,20}:\/\/)[^\s/@:]{0,100}:[^\s/@]{1,200}(?=@)/gi, ['://']),
  },
  { kind: 'private-address', apply: (text) => cutting(text, URL_START, privateUrlAt) },
  { kind: 'private-address', apply: (text) => cutting(text, HOST_START, privateHostAt) },
  { kind: 'file-path', apply: (text) => cutting(text, PATH_START, pathAt) },
];

/** @param hints a text that has none of these has no match */
function replacing(pattern: RegExp, hints: readonly string[]): Rule['apply'] {
  return (text) => {
    if (!hints.some((hint) => text.includes(hint))) return { text, count: 0 };
    let count = 0;
    const rest = text.replace(pattern, () => {
      count += 1;
      return REMOVED;
    });
    return { text: rest, count };
  };
}

/** Words that may be joined by dots. */
const JOINED = /[\w-]+(?:\.[\w-]+)*/g;
const TOKEN_START =
  /^(?:sk|pk|rk|AKIA|ASIA|gh[opusr]_|github_pat_|glpat-|xox|AIza|eyJ|hf_|npm_|dop_v1_|SG$|ya29$)/;
/** Where one of these begins. Most texts have no such place, and so no token. */
const TOKEN_HINT =
  /(?<![\w-])(?:sk|pk|rk|AKIA|ASIA|gh[opusr]_|github_pat_|glpat-|xox|AIza|eyJ|hf_|npm_|dop_v1_|SG\.|ya29\.)/;
const TOKEN =
  /^(?:(?:sk|pk)-[\w-]{20,200}|(?:sk|rk)_(?:live|test)_\w{16,200}|(?:AKIA|ASIA)[0-9A-Z]{16}|gh[opusr]_\w{30,255}|github_pat_\w{30,255}|glpat-[\w-]{20,100}|xox[abeoprs]-[\w-]{10,200}|AIza[\w-]{35}|hf_\w{30,100}|npm_\w{36}|dop_v1_[a-f\d]{64})$/;
/** What ordinary words begin with too, such as `sk-learn` and `xoxo-`. */
const ORDINARY_START = /^(?:[sp]k-|xox)/;
const MAX_TOKEN_CHARS = 300;

/** The tokens that services give out, which show by their first letters what they are. */
function withoutTokens(text: string): { text: string; count: number } {
  if (!TOKEN_HINT.test(text)) return { text, count: 0 };
  let count = 0;
  const rest = text.replace(JOINED, (joined) => {
    const words = joined.split('.');
    const kept: string[] = [];
    for (let at = 0; at < words.length; ) {
      const length = tokenWords(words, at);
      kept.push(length === 0 ? (words[at] as string) : REMOVED);
      count += length === 0 ? 0 : 1;
      at += Math.max(length, 1);
    }
    return kept.join('.');
  });
  return count === 0 ? { text, count } : { text: rest, count };
}

/** The number of words that are a token from here on; 0: none is. */
function tokenWords(words: readonly string[], at: number): number {
  const word = words[at] as string;
  if (!TOKEN_START.test(word)) return 0;
  const second = words[at + 1]?.length ?? 0;
  const third = words[at + 2]?.length ?? 0;
  if (word.startsWith('eyJ')) return word.length >= 11 && second >= 8 && third >= 8 ? 3 : 0;
  if (word === 'SG') return second >= 16 && second <= 64 && third >= 16 && third <= 64 ? 3 : 0;
  if (word === 'ya29') return second >= 20 ? 2 : 0;
  return word.length <= MAX_TOKEN_CHARS && TOKEN.test(word) && (!ORDINARY_START.test(word) || isRandom(word))
    ? 1
    : 0;
}

/**
 * Whether a value looks as a generator makes it, not as people join words and dates: at least 16 letters and digits in a row, of
 * both; or letters and digits that change at least four times; or base64 with its `=`.
 */
function isRandom(value: string): boolean {
  if (value.length < MIN_RANDOM_CHARS) return false;
  if (value.endsWith('=')) return true;
  const changes = value.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
  return changes >= 4 || value.split(/[^A-Za-z\d]/).some((part) => isMixed(part));
}

const MIN_RANDOM_CHARS = 16;

function isMixed(part: string): boolean {
  return part.length >= MIN_RANDOM_CHARS && /\d/.test(part) && /[A-Za-z]/.test(part);
}

const MAX_NAME_CHARS = 80;
const UPPER_NAME = /^[A-Z\d_]+$/;
const UPPER_PART = /API_?KEY|SECRET|PASSWORD|TOKEN/;
const LOWER_NAMES = ['key', 'secret', 'token'].flatMap((end) =>
  ({ key: ['api'], secret: ['client', 'access'], token: ['access', 'refresh', 'auth'] })[
    end as 'key'
  ].flatMap((start) => ['', '-', '_'].map((sign) => `${start}${sign}${end}`)),
);

const CREDENTIALS = /\b(?:Bearer|Basic)[ \t]{1,4}/gi;
const AUTHORIZATION = /Authorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?$/i;
const CREDENTIALS_VALUE = /[A-Za-z\d._~+/-]+={0,2}/y;

function withoutCredentials(text: string): { text: string; count: number } {
  return cutting(text, CREDENTIALS, (start) => {
    const value = start[0].length + start.index;
    const end = endOf(CREDENTIALS_VALUE, text, value);
    const isHeader = AUTHORIZATION.test(text.slice(Math.max(0, start.index - 24), start.index));
    const isSecret = end - value >= 16 && (isHeader || isRandom(text.slice(value, end)));
    return isSecret ? { from: value, to: end } : undefined;
  });
}

/**
 * Replaces parts of a text. Each place is looked at once, and none inside a part that was replaced.
 * @param partAt the part for a match, which ends after it begins; undefined: there is none
 */
function cutting(
  text: string,
  start: RegExp,
  partAt: (start: RegExpExecArray, text: string) => { from: number; to: number } | undefined,
): { text: string; count: number } {
  let kept = '';
  let count = 0;
  let at = 0;
  for (const match of text.matchAll(start)) {
    const part = match.index < at ? undefined : partAt(match, text);
    if (!part) continue;
    kept += text.slice(at, part.from) + REMOVED;
    at = part.to;
    count += 1;
  }
  return count === 0 ? { text, count } : { text: kept + text.slice(at), count };
}

/** The end of what a sticky pattern matches here; `from` when it does not. */
function endOf(sticky: RegExp, text: string, from: number): number {
  sticky.lastIndex = from;
  return sticky.test(text) ? sticky.lastIndex : from;
}

const PRIVATE_IP =
  /(?:(?:10|127)(?:\.(?:0|[1-9]\d{0,2})){3}|(?:192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254)(?:\.(?:0|[1-9]\d{0,2})){2}|\[(?:::1|f[cd][\da-f]{2}:[\da-f:]*|fe80:[\da-f:]*)\])/iy;
const HOST_NAME = /[a-z\d-]+(?:\.[a-z\d-]+)*/iy;
const INTERNAL_ENDS = ['.internal', '.local', '.lan', '.svc'];
const PORT = /:\d{1,5}/y;

function isInternalName(name: string): boolean {
  const known = name.toLowerCase();
  return (
    known === 'localhost' || INTERNAL_ENDS.some((end) => known.endsWith(end) && known.length > end.length)
  );
}

const URL_START = /\b(?:https?|wss?|postgres(?:ql)?|redis|amqp|mongodb|grpc|tcp):\/\//gi;
const URL_USER = /[^\s/@]{1,200}@/y;
const URL_PATH = /\/[^\s<>"')\]]*/y;

function privateUrlAt(start: RegExpExecArray, text: string): { from: number; to: number } | undefined {
  const host = endOf(URL_USER, text, start.index + start[0].length);
  let end = endOf(PRIVATE_IP, text, host);
  if (end === host) {
    end = endOf(HOST_NAME, text, host);
    if (!isInternalName(text.slice(host, end))) return undefined;
  }
  return { from: start.index, to: endOf(URL_PATH, text, endOf(PORT, text, end)) };
}

/** Where a host may begin: not inside a word, a name or a number. */
const HOST_START = /[\w.-]+|\[/g;
const VERSION = 'version ';
/** Also the number of a section or of a phone: without a port, and without a zero or a large number, it is not an address. */
const MANY_MEANINGS = /^10(?:\.[1-9]\d?){3}$/;
const MORE_DIGITS = /[\w.]*\d/y;

function privateHostAt(start: RegExpExecArray, text: string): { from: number; to: number } | undefined {
  const from = start.index;
  const isVersion = text.slice(Math.max(0, from - VERSION.length), from).toLowerCase() === VERSION;
  if (isVersion || (start[0] === '[' && /[\w.-]/.test(text.charAt(from - 1)))) return undefined;
  const ip = endOf(PRIVATE_IP, text, from);
  const name = ip > from ? from : endOf(HOST_NAME, text, from);
  const host = Math.max(ip, name);
  const withPort = endOf(PORT, text, host);
  if (withPort > host && isHostEnd(text, withPort) && (ip > from || isInternalName(text.slice(from, name)))) {
    return { from, to: withPort };
  }
  const isAddress = ip > from && isHostEnd(text, ip) && !MANY_MEANINGS.test(text.slice(from, ip));
  return isAddress ? { from, to: ip } : undefined;
}

function isHostEnd(text: string, at: number): boolean {
  return endOf(MORE_DIGITS, text, at) === at && !/[\w-]/.test(text.charAt(at));
}

const PATH_START =
  /\/(?:home|Users|opt|root|app|workspace|usr\/src|usr\/local\/lib|usr\/lib|site-packages|node_modules|var\/task|srv|data)[\\/]|[A-Za-z]:\\(?:Users|Windows|Program Files|Program Files \(x86\))\\/g;
/** Words of menus and addresses of pages too: only a file, a hidden folder or a line in it shows a path. */
const ORDINARY_FOLDER = /^\/(?:app|data|workspace|root|srv)[\\/]/;
const FILE_END = /[\\/]\.|\.\w{1,10}$/;
/** The folders of one person or program are below these. */
const PATH_OF_MANY = /^(?:\/(?:home|Users|opt)|[A-Za-z]:)/;
const PATH_OWNER = /[^\s/\\"'`<>:]{1,100}/y;
const PATH_REST = /(?:[\\/][^\s\\/"'`<>:,;)]+)+/y;
const PATH_PLACE = /(?::\d{1,7}){1,2}/y;

/** A file below a folder of a person, of the system or of a program. */
function pathAt(start: RegExpExecArray, text: string): { from: number; to: number } | undefined {
  if (/[\w/:.]/.test(text.charAt(start.index - 1))) return undefined;
  const begin = start.index + start[0].length;
  const folder = PATH_OF_MANY.test(start[0]) ? endOf(PATH_OWNER, text, begin) : begin - 1;
  if (folder === begin) return undefined;
  const end = endOf(PATH_REST, text, folder);
  const to = endOf(PATH_PLACE, text, end);
  if (end === folder) return undefined;
  const isOrdinary = ORDINARY_FOLDER.test(start[0]) && to === end && !FILE_END.test(text.slice(folder, end));
  return isOrdinary ? undefined : { from: start.index, to };
}

/**
 * `API_KEY=abc123def456`, `"client-secret": "abc123def456"`: a value of 12 characters or more with a digit. After a word and a
 * colon, as people write them (`PASSWORD: see-room-204-at-10`), only one that looks generated.
 */
function withoutNamedSecrets(text: string): { text: string; count: number } {
  let kept = '';
  let count = 0;
  let at = 0;
  /** Up to here, nothing has a digit. */
  let plainUntil = 0;
  for (const sign of text.matchAll(/[:=]/g)) {
    const name = sign.index < at ? undefined : secretNameBefore(text, sign.index);
    if (name === undefined) continue;
    let start = sign.index + 1;
    const maxStart = start + 4;
    while (start < maxStart && isBlank(text[start])) start += 1;
    if (text[start] === '"' || text[start] === "'") start += 1;
    if (start < plainUntil) continue;
    const end = wordEnd(text, start, VALUE_ENDS);
    if (end - start < 12) continue;
    const lastEnd = wordEnd(text, end, WORD_ENDS);
    const isSettings = sign[0] === '=' || /[_-]/.test(name) || text[start - 1] === '"';
    const isSecret = isSettings ? /\d/.test(text.slice(start, lastEnd)) : isRandom(text.slice(start, end));
    if (isSecret) {
      kept += text.slice(at, start) + REMOVED;
      count += 1;
      at = end;
    } else if (isSettings) plainUntil = lastEnd;
  }
  return count === 0 ? { text, count } : { text: kept + text.slice(at), count };
}

const WORD_ENDS = '"\'<>';
const VALUE_ENDS = `${WORD_ENDS}[]`;

function wordEnd(text: string, from: number, ends: string): number {
  let at = from;
  while (at < text.length && !ends.includes(text.charAt(at)) && text.charAt(at).trim() !== '') at += 1;
  return at;
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

/** The word before this place, when it is the name of a secret. */
function secretNameBefore(text: string, sign: number): string | undefined {
  let end = sign;
  while (end > sign - 4 && isBlank(text[end - 1])) end -= 1;
  if (text[end - 1] === '"' || text[end - 1] === "'") end -= 1;
  let start = end;
  while (start > end - MAX_NAME_CHARS && /[\w-]/.test(text.charAt(start - 1))) start -= 1;
  const name = text.slice(start, end);
  const part = name.slice(name.lastIndexOf('-') + 1);
  if (UPPER_NAME.test(part)) return UPPER_PART.test(part) ? name : undefined;
  const isKnown = LOWER_NAMES.some(
    (known) => name.endsWith(known) && !/\w/.test(name.charAt(name.length - known.length - 1)),
  );
  return isKnown ? name : undefined;
}

/**
 * Removes from an agent's text what must not reach a chat: secrets, private keys, stack traces, reasoning, internal file
 * paths, private addresses. Pure. Applied to its own result it changes nothing.
 * @returns the text, trimmed when something was removed (`` when nothing remains), and what was removed, by kind
 */
export function filterEgress(text: string): { text: string; removed: Removed[] } {
  const counts = new Map<Leak, number>();
  let rest = text;
  // What was removed may have hidden the start of something else.
  let work = 0;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    work += rest.length;
    if (pass > 0 && work > MAX_WORK_CHARS) return withheld(counts);
    const filtered = applyRules(rest, counts);
    if (filtered === rest) break;
    rest = filtered.replace(/\n{3,}/g, '\n\n').trim();
  }
  if (counts.size === 0) return { text, removed: [] };
  return isEmpty(rest) ? withheld(counts) : { text: rest, removed: removedOf(counts) };
}

function withheld(counts: ReadonlyMap<Leak, number>): { text: string; removed: Removed[] } {
  return { text: '', removed: removedOf(counts) };
}

function removedOf(counts: ReadonlyMap<Leak, number>): Removed[] {
  return [...counts].map(([kind, count]) => ({ kind, count }));
}

function applyRules(text: string, counts: Map<Leak, number>): string {
  let filtered = text;
  for (const { kind, apply } of RULES) {
    const { text: rest, count } = apply(filtered);
    if (count > 0) counts.set(kind, (counts.get(kind) ?? 0) + count);
    filtered = rest;
  }
  return filtered;
}

/** A text in which secrets and private keys are `[removed]`, for operators: paths, addresses and errors stay. Pure. */
export function withoutSecrets(text: string): string {
  let shown = text;
  for (const { kind, apply } of RULES) {
    if (kind === 'secret' || kind === 'private-key') shown = apply(shown).text;
  }
  return shown;
}

/** Nothing but placeholders, empty code blocks and punctuation. */
function isEmpty(text: string): boolean {
  return (
    text
      .replaceAll(REMOVED, '')
      .replace(/```/g, '')
      .replace(/[\p{P}\s]/gu, '') === ''
  );
}
