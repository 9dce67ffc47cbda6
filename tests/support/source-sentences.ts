import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { repositoryRoot } from './repository.ts';

/** A part of a parsed source file. */
type Part = { type: string; start: number; end: number } & Record<string, unknown>;

/** A text that begins with a capital letter or a value, has several words, and ends with a full stop. */
const SENTENCE = /^(?=.*[a-z])(?:[A-Z]|\{\}|wa2ai ).* .*\.$/s;
const CODE = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/;

/** All sentences of source files, each value in them as `{}`; not those that throw, describe fields or count. */
export function sentencesIn(
  paths: readonly string[],
  { except = [] }: { except?: readonly string[] } = {},
): string[] {
  const found = new Set<string>();
  walkFiles(
    paths,
    (part, parents) => {
      const text = textOf(part);
      if (text === undefined || !SENTENCE.test(text)) return;
      if (!parents.some(isErrorCall) && !isDescribed(part, parents)) found.add(text);
    },
    except,
  );
  return [...found].sort();
}

/** The sentences of problems in source files: each stands beside a code of the API. */
export function problemSentencesIn(paths: readonly string[]): string[] {
  const found = new Set<string>();
  walkFiles(paths, (part, parents) => {
    const text = textOf(part);
    if (text === undefined || !SENTENCE.test(text)) return;
    const parent = parents.findLast(({ type }) =>
      ['NewExpression', 'CallExpression', 'ArrayExpression'].includes(type),
    );
    const beside = (parent?.arguments ?? parent?.elements ?? []) as Part[];
    if (beside.some(({ type, value }) => type === 'Literal' && CODE.test(String(value)))) found.add(text);
  });
  return [...found].sort();
}

function walkFiles(
  paths: readonly string[],
  visit: (part: Part, parents: readonly Part[]) => void,
  except: readonly string[] = [],
): void {
  for (const path of paths) {
    const full = join(repositoryRoot, path);
    const files = statSync(full).isDirectory()
      ? readdirSync(full, { recursive: true, encoding: 'utf8' }).map((name) => join(full, name))
      : [full];
    for (const file of files.filter(
      (name) => name.endsWith('.ts') && !except.some((end) => name.endsWith(`/${end}`)),
    )) {
      walk(parseSync(file, readFileSync(file, 'utf8')).program, [], visit);
    }
  }
}

function walk(value: unknown, parents: Part[], visit: (part: Part, parents: readonly Part[]) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const part of value) walk(part, parents, visit);
    return;
  }
  const part = value as Part;
  if (typeof part.type === 'string') visit(part, parents);
  const inside = typeof part.type === 'string' ? [...parents, part] : parents;
  for (const child of Object.values(part)) walk(child, inside, visit);
}

function textOf({ type, value, quasis }: Part): string | undefined {
  if (type === 'Literal' && typeof value === 'string') return value;
  if (type !== 'TemplateLiteral') return undefined;
  return (quasis as Array<{ value: { cooked: string } }>).map((each) => each.value.cooked).join('{}');
}

/** Whether a text is what `describe` or `meta` of a field get. */
function isDescribed(part: Part, parents: readonly Part[]): boolean {
  return parents.some(({ type, callee, arguments: given }, index) => {
    const { property } = (callee ?? {}) as { property?: { name?: string } };
    if (type !== 'CallExpression' || !/^(describe|meta)$/.test(property?.name ?? '')) return false;
    return (given as Part[]).includes(parents[index + 1] ?? part);
  });
}

function isErrorCall({ type, callee }: Part): boolean {
  const { name } = (callee ?? {}) as { name?: string };
  return type === 'NewExpression' && /Error$/.test(name ?? '');
}

/** What the service says is wrong with a field: texts that follow the name of the field; each value in them as `{}`. */
export function mistakesIn(paths: readonly string[]): string[] {
  const found = new Set<string>();
  walkFiles(paths, (part, parents) => {
    const text = textOf(part);
    if (text === undefined || !MISTAKE.test(text)) return;
    if (!parents.some(isLogCall) && !isDescribed(part, parents)) found.add(text);
  });
  return [...found].sort();
}

const MISTAKE = /^(?:must|is|has|needs|may|cannot|contains) .*[^.]$/s;

function isLogCall({ type, callee }: Part): boolean {
  const { object } = (callee ?? {}) as { object?: { name?: string } };
  return type === 'CallExpression' && object?.name === 'log';
}
