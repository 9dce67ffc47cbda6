import type { Request } from 'express';
import type { Document, LineCounter } from 'yaml';
import { z } from 'zod';
import { type Phrase, type Said, saidBy, say, together } from '../../core/phrases.ts';
import { cleanText, similarTo } from '../../core/text.ts';
import { HttpProblem, mistakeAt, type ProblemCode, type ProblemDetail, withPhrase } from './problem.ts';

const MULTIPART = /^multipart\/form-data *;/i;

/** A file of a form. */
export class UploadedFile {
  readonly bytes: Uint8Array;
  /** As its sender wrote it; may be wrong. */
  readonly mimeType: string;
  readonly fileName: string;

  constructor(bytes: Uint8Array, mimeType: string, fileName: string) {
    this.bytes = bytes;
    this.mimeType = mimeType;
    this.fileName = fileName;
  }
}

/** A part of a form: its name, and a text or a file. */
export interface FormPart {
  name: string;
  value: string | UploadedFile;
}

/** Whether the body of a request is a form with files. */
export function isForm(request: Pick<Request, 'get'>): boolean {
  return MULTIPART.test(request.get('content-type') ?? '');
}

/**
 * The parts of a `multipart/form-data` body, in their order.
 * @throws {HttpProblem} it is no such form
 */
export async function readForm(body: Uint8Array, contentType: string): Promise<FormPart[]> {
  let form: FormData;
  try {
    form = await new Response(Uint8Array.from(body), {
      headers: { 'content-type': contentType },
    }).formData();
  } catch {
    throw new HttpProblem(400, 'BAD_REQUEST', say('problem.bad-form'));
  }
  const parts: FormPart[] = [];
  for (const [name, value] of form) {
    const isText = typeof value === 'string';
    parts.push({ name, value: isText ? value : await uploaded(value) });
  }
  return parts;
}

async function uploaded(file: File): Promise<UploadedFile> {
  return new UploadedFile(new Uint8Array(await file.arrayBuffer()), file.type, file.name);
}

/** Whether the body of a request is YAML. */
export function isYaml(request: Pick<Request, 'get'>): boolean {
  const type = request.get('content-type') ?? '';
  return /^(?:application|text)\/(?:x-)?yaml *(;|$)/i.test(type);
}

/**
 * The value of a YAML document of at most `MAX_YAML_BYTES`.
 * @throws {HttpProblem} 400: it is not YAML, or has aliases, a key twice, or too many values or levels
 */
export async function readYaml(text: string): Promise<unknown> {
  const parsed = await parseYaml(text, MAX_YAML_BYTES);
  if ('value' in parsed) return parsed.value;
  throw invalid('body', [mistakeAt('', say('field.not-yaml', { why: parsed.message }))]);
}

/** A value as YAML, without aliases. Texts that look like numbers are quoted. */
export async function writeYaml(value: unknown): Promise<string> {
  // Loaded with its first use: the service starts without it.
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Longest YAML document of a call, in bytes. The parser takes a multiple of the time of JSON. */
export const MAX_YAML_BYTES = 256 * 1024;

/** What lines and signs cost the parser, in units of some 5 µs: a table of routes of 3,000 lines fits. */
const MAX_COST = 24_000;
const LINE_COST = 4;
/** A collection, a quoted text, an anchor, an alias, and the mistakes that these may be. */
const DEAR_SIGNS = '[{"\'&*';
const DEAR_COST = 4;
/** Lists and objects inside one another. The parser reads a level once more for each level around it. */
const MAX_LEVELS = 32;
const SIGNS = `${DEAR_SIGNS}]},:?-!`;

/** A YAML document, or what is wrong with it: `at` is a position in the text. */
type ParsedYaml = { document: Document; value: unknown } | { message: string; at: number };

/**
 * Parses a YAML document without aliases. The time of the parser grows with the square of some texts, so their values and
 * levels are counted first, and keys are compared here. Never throws for a text.
 * @param lines gets the positions of the lines
 */
export async function parseYaml(text: string, maxBytes: number, lines?: LineCounter): Promise<ParsedYaml> {
  const tooLarge = sizeProblem(text, maxBytes);
  if (tooLarge) return { message: tooLarge, at: 0 };
  // Loaded with its first use: the service starts without it.
  const { isScalar, LineCounter, parseDocument, visit } = await import('yaml');
  const lineCounter = lines ?? new LineCounter();
  // Pretty errors quote the text once for each mistake.
  const options = { uniqueKeys: false, logLevel: 'silent', prettyErrors: false, lineCounter } as const;
  const document = parseDocument(text, options);
  const [error] = document.errors;
  if (error) {
    const [at] = error.pos;
    const { line, col } = lineCounter.linePos(at);
    const place = lines ? '' : ` at line ${line}, column ${col}`;
    return { message: `${firstLine(error.message)}${place}`, at };
  }
  let problem: { message: string; at: number } | undefined;
  const report = (message: string, node: unknown) => {
    problem ??= { message, at: (node as { range?: [number] } | null)?.range?.[0] ?? 0 };
  };
  visit(document, {
    Map(_, { items }) {
      const names = new Set<string>();
      for (const { key } of items) {
        const name = isScalar(key) ? String(key.value) : undefined;
        if (name === undefined) report('a key is no text', key);
        else if (names.has(name)) report(`the key "${name.slice(0, 100)}" is there twice`, key);
        else names.add(name);
      }
    },
    Alias(_, alias) {
      report(`the alias *${alias.source.slice(0, 100)} is not allowed; write the value again`, alias);
    },
  });
  return problem ?? { document, value: document.toJS({ maxAliasCount: 0 }) };
}

function firstLine(message: string): string {
  return (message.split('\n', 1)[0] as string).replace(/[.:]$/, '');
}

function sizeProblem(text: string, maxBytes: number): string | undefined {
  if (Buffer.byteLength(text) > maxBytes) return `it has more than ${maxBytes} bytes`;
  const indents: number[] = [];
  let cost = 0;
  let open = 0;
  for (const line of text.split('\n')) {
    cost += LINE_COST;
    const words = line.trimStart();
    const indent = line.length - words.length;
    if (words !== '') {
      while ((indents.at(-1) ?? -1) >= indent) indents.pop();
      indents.push(indent);
    }
    let dashes = 0;
    for (let at = 0; at < words.length; at++) {
      const sign = words.charAt(at);
      if (!SIGNS.includes(sign)) continue;
      cost += DEAR_SIGNS.includes(sign) ? DEAR_COST : 1;
      if (sign === '[' || sign === '{') open += 1;
      else if (sign === ']' || sign === '}') open = Math.max(0, open - 1);
      else if ((sign === '-' || sign === '?') && (words[at + 1] ?? ' ').trim() === '') dashes += 1;
      if (open + indents.length + dashes > MAX_LEVELS) return `it has more than ${MAX_LEVELS} levels`;
    }
    if (cost > MAX_COST) return 'it has too many lines and values; write several files';
  }
  return undefined;
}

/** An earlier name of a field that a body used, and the name of now. */
export interface Renamed {
  from: string;
  to: string;
}

/** A body with the names of now, and the earlier names that it had. */
export interface RenamedBody {
  value: unknown;
  renamed: Renamed[];
}

/** A body with the names of now: of a field that is there under both names, the earlier one stays and is not known. */
export function withNewNames(body: unknown, oldNames: Record<string, string>): RenamedBody {
  const renamed: Renamed[] = [];
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return { value: body, renamed };
  const entries = Object.entries(body).map(([name, value]) => {
    const now = Object.hasOwn(oldNames, name) ? (oldNames[name] ?? name) : name;
    const isOpposite = now.startsWith('!');
    const field = isOpposite ? now.slice(1) : now;
    if (field === name || Object.hasOwn(body, field)) return [name, value];
    renamed.push({ from: name, to: field });
    return [field, isOpposite && typeof value === 'boolean' ? !value : value];
  });
  return { value: Object.fromEntries(entries), renamed };
}

const MAX_DEPTH = 32;
const MAX_DETAILS = 20;

/** An issue with this key in its `params` sets the code of the whole problem. */
export const PROBLEM_CODE = 'problemCode';

/** A part of a request, as problems name it. */
type RequestPart = 'body' | 'query' | 'headers';

const CODES = { body: 'INVALID_BODY', query: 'INVALID_QUERY', headers: 'INVALID_HEADERS' } as const;

/**
 * The value as parsed by the schema.
 * @throws {HttpProblem} 400 with one sentence per mistake, each with the field's path
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown, what: RequestPart): T {
  const unstorable = findUnstorable(value);
  if (unstorable) throw invalid(what, [unstorable]);
  /** For unknown fields, what was probably meant. */
  const guesses = new Map<string, string | undefined>();
  const parsed = schema.safeParse(value, {
    error: (issue) => {
      if (issue.code === 'unrecognized_keys') guessFields(issue, guesses);
      return usualMistake(issue)?.sentence;
    },
  });
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.flatMap((issue) => detailsOf(issue, guesses));
  const code = parsed.error.issues.map((issue) =>
    issue.code === 'custom' ? issue.params?.[PROBLEM_CODE] : undefined,
  );
  throw invalid(
    what,
    details,
    code.find((candidate) => candidate !== undefined),
  );
}

/** A 400 with one sentence per mistake, at most 20. */
export function invalid(
  what: RequestPart,
  details: readonly ProblemDetail[],
  code: ProblemCode = CODES[what],
): HttpProblem {
  const shown = details.slice(0, MAX_DETAILS).map(withPhrase);
  const sentences = shown.map(({ field, message: sentence, phrase }) => {
    const mistake = { sentence, ...(phrase && { phrase }) };
    return say('field.of-request', { field: field || say(`problem.the-${what}`), mistake });
  });
  return new HttpProblem(400, code, together(sentences), shown);
}

function detailsOf(
  issue: z.core.$ZodIssue,
  guesses: ReadonlyMap<string, string | undefined>,
): ProblemDetail[] {
  const path = issue.path.map(String);
  if (issue.code !== 'unrecognized_keys') return [mistakeAt(path.join('.'), mistakeOf(issue))];
  return issue.keys.map((key) => {
    const guess = guesses.get(key);
    const mistake = guess === undefined ? say('field.unknown') : say('field.unknown-guess', { guess });
    return mistakeAt([...path, shortened(key)].join('.'), mistake);
  });
}

const MAX_EDITS = 2;
const MAX_GUESSED_CHARS = 40;

const MIN_PART_CHARS = 4;

/** The only field that has the key in its name, or is in the key, or begins with the same word: `agentUrl` and `agentEndpoint`. */
function onlyRelated(key: string, fields: readonly string[]): string | undefined {
  const wordOf = (name: string) => name.split(/(?=[A-Z])/)[0]?.toLowerCase() ?? '';
  const isPart = (part: string, of: string) =>
    part.length >= MIN_PART_CHARS && of.toLowerCase().includes(part.toLowerCase());
  const [only, ...others] = fields.filter(
    (field) => isPart(key, field) || isPart(field, key) || isPart(wordOf(key), wordOf(field)),
  );
  return others.length === 0 ? only : undefined;
}

/** A field with a similar or related name, or the only one that is missing when one is unknown. */
function guessFields(
  issue: z.core.$ZodRawIssue<z.core.$ZodIssueUnrecognizedKeys>,
  guesses: Map<string, string | undefined>,
): void {
  const { keys, inst, input = {} } = issue;
  // The caller chooses how many unknown fields there are, and few are shown.
  if (guesses.size >= MAX_DETAILS) return;
  const unknown = keys
    .slice(0, MAX_DETAILS)
    .filter((key) => key.length <= MAX_GUESSED_CHARS && !guesses.has(key));
  if (unknown.length === 0) return;
  const fields =
    inst && 'shape' in inst._zod.def ? (inst._zod.def.shape as Record<string, z.core.$ZodType>) : {};
  const absent = Object.keys(fields).filter((name) => !Object.hasOwn(input, name));
  const required = absent.filter((name) => !z.safeParse(fields[name] as z.ZodType, undefined).success);
  for (const key of unknown) {
    const similar = similarTo(key, absent, Math.min(MAX_EDITS, Math.floor(key.length / 3)));
    const guess =
      similar ??
      onlyRelated(key, absent) ??
      (keys.length === 1 && required.length === 1 ? required[0] : undefined);
    guesses.set(key, guess);
  }
}

/**
 * What an issue says: its own phrase, that of its kind, or only its message.
 * @param usualOf what issues without a message of their own say
 */
export function mistakeOf(
  issue: z.core.$ZodIssue,
  usualOf: (issue: z.core.$ZodIssue) => Said | undefined = usualMistake,
): Said {
  if (issue.code === 'custom' && issue.params?.phrase) {
    return { sentence: issue.message, phrase: issue.params.phrase as Phrase };
  }
  const usual = usualOf(issue);
  return usual?.sentence === issue.message ? usual : saidBy(issue.message);
}

/** That a value must be one of these. */
export function oneOf(values: readonly unknown[]): Said {
  const names = values.map(String);
  const last = names.pop() ?? '';
  return say('field.one-of', {
    values: names.length === 0 ? last : say('or', { values: names.join(', '), last }),
  });
}

/** What issues without a message of their own say. Each follows the field's name. */
function usualMistake(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): Said | undefined {
  if (issue.input === undefined && 'input' in issue && issue.code !== 'unrecognized_keys')
    return say('field.missing');
  switch (issue.code) {
    case 'invalid_type': {
      const { expected } = issue;
      if (expected === 'object' || expected === 'record') return say('field.json-object');
      const isNamed = ['string', 'number', 'boolean', 'array', 'int'].includes(expected);
      return say('field.type', { type: isNamed ? say(`type.${expected}` as 'type.string') : expected });
    }
    case 'invalid_value':
      return oneOf(issue.values);
    case 'too_small': {
      const min = String(issue.minimum);
      return issue.origin === 'string' ? say('field.min-chars', { min }) : say('field.at-least', { min });
    }
    case 'too_big': {
      const max = String(issue.maximum);
      return issue.origin === 'string' ? say('field.max-chars', { max }) : say('field.at-most', { max });
    }
    case 'invalid_key':
      return say('field.bad-name');
    case 'invalid_union':
      return say('field.no-form');
    case 'invalid_format':
      return say('field.format', { format: issue.format });
    default:
      return undefined;
  }
}

/** The first text that PostgreSQL cannot store, or nesting that is too deep. Walks without recursion: the caller chooses the depth. */
export function findUnstorable(root: unknown): ProblemDetail | undefined {
  const open: Array<{ value: unknown; path: string; depth: number }> = [{ value: root, path: '', depth: 0 }];
  for (let item = open.pop(); item; item = open.pop()) {
    const { value, path, depth } = item;
    if (typeof value === 'string' && cleanText(value) !== value) {
      return mistakeAt(path, say('field.unicode'));
    }
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue;
    if (depth >= MAX_DEPTH) return mistakeAt('', say('field.depth', { levels: MAX_DEPTH }));
    for (const [key, child] of Object.entries(value)) {
      if (cleanText(key) !== key) return mistakeAt(path, say('field.unicode'));
      open.push({
        value: child,
        path: path ? `${path}.${shortened(key)}` : shortened(key),
        depth: depth + 1,
      });
    }
  }
  return undefined;
}

function shortened(key: string): string {
  return key.length > 60 ? `${key.slice(0, 60)}…` : key;
}
