import type { Request } from 'express';
import type { Document, LineCounter } from 'yaml';
import { say } from '../../core/phrases.ts';
import { HttpProblem, mistakeAt } from './problem.ts';
import { invalid } from './validate.ts';

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
export type ParsedYaml = { document: Document; value: unknown } | { message: string; at: number };

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
