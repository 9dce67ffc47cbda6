import { type Said, say } from '../../core/phrases.ts';

/** A mistake in a template; what it says continues the name of the field. */
export class JsonTemplateError extends Error {
  readonly said: Said;

  constructor(said: Said) {
    super(said.sentence);
    this.said = said;
  }
}

interface Section {
  path: string[];
  isInverted: boolean;
  nodes: JsonTemplate;
}

type Node = { text: string } | { value: string[] } | { section: Section };

/** A parsed template. */
export type JsonTemplate = readonly Node[];

const MAX_TEMPLATE_CHARS = 10_000;
/** Maximum number of characters and parts in a rendered text: nested sections over one list multiply. */
const MAX_WORK = 100_000;
const TAG = /\{\{\{?([^{}]*)\}\}\}?/g;

/**
 * Parses a template in Mustache syntax without escaping, for JSON whose fields are not known before: `{{status}}`,
 * `{{result.hash}}`, `{{items.0}}`, `{{#items}}{{name}} {{/items}}`, `{{^ok}}no{{/ok}}`, `{{.}}`. A field that is missing
 * is an empty text.
 * @throws {JsonTemplateError} a section that is not closed, or braces that are not closed
 */
export function parseJsonTemplate(text: string): JsonTemplate {
  if (text.length > MAX_TEMPLATE_CHARS) {
    throw new JsonTemplateError(say('field.max-chars', { max: MAX_TEMPLATE_CHARS }));
  }
  if (text.replace(TAG, '').includes('{{')) throw new JsonTemplateError(say('template.open', { text: '{{' }));
  const root: Node[] = [];
  const open: Array<{ name: string; nodes: Node[] }> = [{ name: '', nodes: root }];
  let at = 0;
  for (const tag of text.matchAll(TAG)) {
    const [whole, inner = ''] = tag;
    const { sigil, name } = tagOf(inner.trim());
    const here = open.at(-1) as (typeof open)[number];
    if (tag.index > at) here.nodes.push({ text: text.slice(at, tag.index) });
    at = tag.index + whole.length;
    if (name.startsWith('!')) continue;
    if (sigil === '/') {
      if (open.length === 1 || here.name !== name) {
        throw new JsonTemplateError(say('template.not-open', { tag: `{{/${name}}}` }));
      }
      open.pop();
      continue;
    }
    const path = name === '.' ? [] : name.split('.');
    if (sigil !== '#' && sigil !== '^') {
      here.nodes.push({ value: path });
      continue;
    }
    const nodes: Node[] = [];
    here.nodes.push({ section: { path, isInverted: sigil === '^', nodes } });
    open.push({ name, nodes });
  }
  if (open.length > 1)
    throw new JsonTemplateError(say('template.never-closed', { tag: `{{#${open.at(-1)?.name}}}` }));
  if (at < text.length) root.push({ text: text.slice(at) });
  return root;
}

function tagOf(words: string): { sigil: string; name: string } {
  const first = words.charAt(0);
  const sigil = '#^/&'.includes(first) ? first : '';
  return { sigil, name: words.slice(sigil.length).trim() };
}

/** Renders a template; sections over long lists end after a hundred thousand characters and parts. */
export function renderJsonTemplate(template: JsonTemplate, json: unknown): string {
  const parts: string[] = [];
  let work = 0;
  const render = (nodes: JsonTemplate, scopes: readonly unknown[]) => {
    for (const node of nodes) {
      work += 1;
      if (work > MAX_WORK) return;
      if ('section' in node) {
        for (const inner of passes(node.section, valueAt(scopes, node.section.path))) {
          work += 1;
          if (work > MAX_WORK) return;
          render(node.section.nodes, [...scopes, inner]);
        }
        continue;
      }
      const text = 'text' in node ? node.text : shown(valueAt(scopes, node.value));
      parts.push(text.slice(0, MAX_WORK));
      work += text.length;
    }
  };
  render(template, [json]);
  return parts.join('');
}

function passes({ isInverted }: Section, found: unknown): unknown[] {
  const isEmpty = !found || (Array.isArray(found) && found.length === 0);
  if (isInverted) return isEmpty ? [found] : [];
  if (isEmpty) return [];
  return Array.isArray(found) ? found : [found];
}

/** The innermost scope that has the first name of the path decides. */
function valueAt(scopes: readonly unknown[], path: readonly string[]): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return scopes.at(-1);
  const scope = scopes.findLast((candidate) => hasKey(candidate, first));
  return [first, ...rest].reduce<unknown>(
    (value, key) => (hasKey(value, key) ? (value as Record<string, unknown>)[key] : undefined),
    scope,
  );
}

function hasKey(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;

/** JSON as lines for people, `gas used: 150000` for each field; fields of an object are indented, items of a list marked. */
export function readableFields(json: unknown): string[] {
  return fieldLines(json, 0);
}

function fieldLines(value: unknown, depth: number): string[] {
  if (value === undefined || value === null) return [];
  const indent = '  '.repeat(depth);
  if (typeof value !== 'object') return [`${indent}${scalarText(value)}`];
  if (depth >= MAX_DEPTH) return [`${indent}${JSON.stringify(value)}`];
  if (Array.isArray(value))
    return value.slice(0, MAX_ITEMS).flatMap((item) => bulleted(fieldLines(item, depth)));
  return Object.entries(value).flatMap(([key, item]) => {
    if (item === null || item === undefined) return [];
    const label = `${indent}${words(key)}:`;
    return typeof item === 'object'
      ? [label, ...fieldLines(item, depth + 1)]
      : [`${label} ${scalarText(item)}`];
  });
}

function bulleted([first, ...rest]: string[]): string[] {
  if (first === undefined) return [];
  return [first.replace(/^(\s*)/, '$1• '), ...rest.map((line) => `  ${line}`)];
}

function scalarText(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** `transactionHash` → `transaction hash`. */
function words(key: string): string {
  return key
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
