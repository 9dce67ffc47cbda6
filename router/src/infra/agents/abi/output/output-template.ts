import { detectMediaType } from '../../../../core/delivery/agent-file.ts';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { MAX_MEDIA_BYTES, type ReplyFile } from '../../../../core/models.ts';
import { type Said, say } from '../../../../core/phrases.ts';
import type { AbiFileOutput } from '../abi-settings.ts';
import {
  AbiDefinitionError,
  type AbiParam,
  type AbiType,
  type AbiValue,
  shortened,
  typeText,
} from '../codec/abi-type.ts';

interface Section {
  kind: 'section';
  path: string[];
  isInverted: boolean;
  nodes: Node[];
}

type Node = { kind: 'text'; text: string } | { kind: 'value'; path: string[] } | Section;

/** A parsed output template. */
export type OutputTemplate = readonly Node[];

/** A value with its type; all outputs together are a tuple. */
interface Typed {
  type: AbiType;
  value: AbiValue;
}

const MAX_TEMPLATE_CHARS = 10_000;
/** Maximum number of characters and parts in a rendered text: nested sections over one list multiply. */
const MAX_WORK = 1_000_000;
/** `{{name}}`, `{{#name}}`, `{{^name}}`, `{{/name}}`, or Mustache's forms without escaping, `{{{name}}}` and `{{&name}}`. */
const TAG = /\{\{\{([^{}]*)\}\}\}|\{\{([^{}]*)\}\}/g;

/**
 * Parses a template in Mustache syntax, without escaping: `{{sum}}`, `{{user.name}}`, `{{numbers.0}}`, `{{0}}` for
 * an output without a name, `{{#items}}{{name}}{{/items}}` for each item or when a bool is true, `{{^valid}}…{{/valid}}`
 * when it is false or empty, `{{.}}` for the item itself, `{{! a comment }}`. Each name is checked against the outputs.
 * @throws {AbiDefinitionError} an unknown name, a section that is not closed, or a template that is too long
 */
export function parseOutputTemplate(written: string, outputs: readonly AbiParam[]): OutputTemplate {
  if (written.length > MAX_TEMPLATE_CHARS) {
    throw new AbiDefinitionError(say('field.max-chars', { max: MAX_TEMPLATE_CHARS }));
  }
  const text = withoutComments(written);
  const half = /\{\{[\s\S]*/.exec(text.replace(TAG, ''))?.[0];
  if (half !== undefined) throw new AbiDefinitionError(say('template.open', { text: shortened(half) }));
  const root: Node[] = [];
  const open: Array<{ name: string; nodes: Node[]; scopes: AbiType[] }> = [
    { name: '', nodes: root, scopes: [{ kind: 'tuple', fields: [...outputs] }] },
  ];
  let at = 0;
  for (const tag of text.matchAll(TAG)) {
    const [whole, unescaped, escaped = ''] = tag;
    const { sigil, name } =
      unescaped === undefined ? partsOf(escaped) : { sigil: '', name: unescaped.trim() };
    const here = open.at(-1) as (typeof open)[number];
    if (tag.index > at) here.nodes.push({ kind: 'text', text: text.slice(at, tag.index) });
    at = tag.index + whole.length;
    if (sigil === '/') {
      if (open.length === 1 || here.name !== name) {
        throw new AbiDefinitionError(say('template.not-open', { tag: `{{/${shortened(name)}}}` }));
      }
      open.pop();
      continue;
    }
    const path = name === '.' ? [] : name.split('.');
    const type = typeAt(here.scopes, path);
    if (!type) throw new AbiDefinitionError(say('template.no-output', { tag: `{{${shortened(name)}}}` }));
    if (sigil === '') {
      here.nodes.push({ kind: 'value', path });
      continue;
    }
    const nodes: Node[] = [];
    here.nodes.push({ kind: 'section', path, isInverted: sigil === '^', nodes });
    const inner = type.kind === 'array' ? type.item : type;
    open.push({ name, nodes, scopes: [...here.scopes, inner] });
  }
  if (open.length > 1)
    throw new AbiDefinitionError(
      say('template.never-closed', { tag: `{{#${shortened(open.at(-1)?.name ?? '')}}}` }),
    );
  if (at < text.length) root.push({ kind: 'text', text: text.slice(at) });
  return root;
}

/** `#items` → its sigil and its name. */
function partsOf(inner: string): { sigil: string; name: string } {
  const text = inner.trim();
  const sigil = /^[#^/]/.exec(text)?.[0] ?? '';
  return { sigil, name: text.slice(sigil.length).replace(/^&/, '').trim() };
}

/** Renders a template; sections over long lists end after a million characters and parts. */
export function renderTemplate(
  template: OutputTemplate,
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
): string {
  const parts: string[] = [];
  let work = 0;
  const put = (text: string) => {
    parts.push(text);
    work += text.length;
  };
  const render = (nodes: readonly Node[], scopes: readonly Typed[]) => {
    for (const node of nodes) {
      work += 1;
      if (work > MAX_WORK) return;
      if (node.kind === 'text') put(node.text);
      else {
        const found = valueAt(scopes, node.path);
        if (node.kind === 'value') put(found ? block(found.type, found.value) : '');
        else renderSection(node, found, scopes);
      }
    }
  };
  const renderSection = (node: Section, found: Typed | undefined, scopes: readonly Typed[]) => {
    const inners = passes(node.isInverted, found);
    work += inners.length;
    for (const inner of inners) {
      if (work > MAX_WORK) return;
      render(node.nodes, [...scopes, inner]);
    }
  };
  render(template, [{ type: { kind: 'tuple', fields: [...outputs] }, value: [...values] }]);
  return parts.join('');
}

/** Path and type of a template that is only one `{{name}}`; undefined for any other template. */
export function soleReference(
  text: string,
  outputs: readonly AbiParam[],
): { path: string[]; type: AbiType } | undefined {
  const name = /^\{\{([^{}]*)\}\}$/.exec(text.trim())?.[1]?.trim();
  if (!name || /^[#^/.]/.test(name)) return undefined;
  const path = name.split('.');
  const type = typeAt([{ kind: 'tuple', fields: [...outputs] }], path);
  return type && { path, type };
}

/** The value at a path; undefined where a list is too short. */
export function outputAt(
  path: readonly string[],
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
): AbiValue | undefined {
  return valueAt([{ type: { kind: 'tuple', fields: [...outputs] }, value: [...values] }], path)?.value;
}

/** The outputs with one value, at a path, replaced. */
export function withOutputAt(
  path: readonly string[],
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
  replacement: AbiValue,
): AbiValue[] {
  const replaced = ({ type, value }: Typed, [key, ...rest]: readonly string[]): AbiValue => {
    if (key === undefined) return replacement;
    const inner = childType(type, key);
    if (!inner || !Array.isArray(value)) return value;
    const at = type.kind === 'tuple' ? indexOf(type.fields, key) : Number(key);
    return value.map((item, index) => (index === at ? replaced({ type: inner, value: item }, rest) : item));
  };
  const all = replaced({ type: { kind: 'tuple', fields: [...outputs] }, value: [...values] }, path);
  return Array.isArray(all) ? all : [...values];
}

/** The text of a template without placeholders; undefined for one with placeholders. */
function literalText(template: OutputTemplate): string | undefined {
  if (template.some(({ kind }) => kind !== 'text')) return undefined;
  return template.map((node) => (node.kind === 'text' ? node.text : '')).join('');
}

/** The scopes in which a section is rendered: none, one, or one for each item. */
function passes(isInverted: boolean, found: Typed | undefined): Typed[] {
  const isEmpty =
    !found || found.value === false || found.value === '' || found.value === '0x' || found.value === 0n;
  const isEmptyList = Array.isArray(found?.value) && found.value.length === 0;
  if (isInverted) return isEmpty || isEmptyList ? [found ?? { type: { kind: 'bool' }, value: false }] : [];
  if (isEmpty) return [];
  const { type, value } = found;
  if (type.kind !== 'array' || !Array.isArray(value)) return [found];
  return value.map((item) => ({ type: type.item, value: item }));
}

function typeAt(scopes: readonly AbiType[], path: readonly string[]): AbiType | undefined {
  if (path.length === 0) return scopes.at(-1);
  for (const scope of [...scopes].reverse()) {
    let type: AbiType | undefined = scope;
    for (const key of path) type = type && childType(type, key);
    if (type) return type;
  }
  return undefined;
}

function childType(type: AbiType, key: string): AbiType | undefined {
  if (type.kind === 'tuple') return type.fields[indexOf(type.fields, key)]?.type;
  if (type.kind !== 'array' || !/^\d{1,7}$/.test(key)) return undefined;
  return type.length === undefined || Number(key) < type.length ? type.item : undefined;
}

function indexOf(fields: readonly AbiParam[], key: string): number {
  const named = fields.findIndex(({ name }) => name === key && name !== '');
  return named < 0 && /^\d{1,4}$/.test(key) ? Number(key) : named;
}

function valueAt(scopes: readonly Typed[], path: readonly string[]): Typed | undefined {
  if (path.length === 0) return scopes.at(-1);
  for (const scope of [...scopes].reverse()) {
    // The innermost scope that knows the name by its type decides, even when a list is too short to contain the value.
    if (!typeAt([scope.type], path)) continue;
    let found: Typed | undefined = scope;
    for (const key of path) found = found && child(found, key);
    return found;
  }
  return undefined;
}

function child({ type, value }: Typed, key: string): Typed | undefined {
  const inner = childType(type, key);
  if (!inner || !Array.isArray(value)) return undefined;
  const item = value[type.kind === 'tuple' ? indexOf(type.fields, key) : Number(key)];
  return item === undefined ? undefined : { type: inner, value: item };
}

function withoutComments(text: string): string {
  let kept = '';
  let at = 0;
  for (;;) {
    const start = text.indexOf('{{!', at);
    const end = start < 0 ? -1 : text.indexOf('}}', start + 3);
    if (end < 0) return kept + text.slice(at);
    kept += text.slice(at, start);
    at = end + 2;
  }
}

/** Maximum number of characters of a list on one line. Lists of short numbers have no limit, because lines wrap at spaces. */
const MAX_LINE_CHARS = 60;
const MAX_NUMBER_CHARS = 20;

/** A value as one line of text or, when it does not fit, as several lines. */
export function block(type: AbiType, value: AbiValue): string {
  if (!Array.isArray(value)) return String(value);
  const line = inline(type, value);
  if (line !== undefined) return line;
  if (type.kind === 'tuple') return lines(type.fields, value).join('\n');
  if (type.kind !== 'array') return String(value);
  return value.map((item, index) => labelled(`${index + 1}.`, block(type.item, item), ' ')).join('\n');
}

/** A list of short plain values, separated by commas; undefined when each item needs a line. */
function inline(type: AbiType, value: AbiValue[]): string | undefined {
  if (value.length === 0) return '(none)';
  if (type.kind !== 'array') return undefined;
  const { kind } = type.item;
  const areNumbers = kind === 'uint' || kind === 'int' || kind === 'bool';
  if (areNumbers && value.every((item) => String(item).length <= MAX_NUMBER_CHARS)) return value.join(', ');
  if (value.length > MAX_LINE_CHARS / 2) return undefined;
  if (value.some((item) => Array.isArray(item) || /[\n,]/.test(String(item)))) return undefined;
  const line = value.join(', ');
  return line.length <= MAX_LINE_CHARS ? line : undefined;
}

/** One line for each field: `name: value`, or its number when it has no name; a longer value is indented below. */
export function lines(fields: readonly AbiParam[], values: readonly AbiValue[]): string[] {
  return fields.map(({ name, type }, index) =>
    labelled(`${name || index + 1}:`, block(type, values[index] as AbiValue), '\n'),
  );
}

/** `name: text`, or the label and the text indented under it (or after it, for a list's number). */
function labelled(label: string, text: string, separator: ' ' | '\n'): string {
  if (!text.includes('\n')) return `${label} ${text}`;
  const indented = text.replaceAll('\n', '\n  ');
  return separator === '\n' ? `${label}\n  ${indented}` : `${label} ${indented}`;
}

/** A parsed template of a file reply. */
export interface FileTemplate {
  kind: AbiFileKind;
  /** Path of the bytes in the outputs. */
  path: string[];
  mimeType?: OutputTemplate;
  fileName?: OutputTemplate;
  caption?: OutputTemplate;
}

/** A rendered file template; `shown` are the outputs for the message log, without the bytes. */
interface RenderedFile {
  file: ReplyFile;
  caption?: string;
  shown: AbiValue[];
}

const KINDS: AbiFileKind[] = ['image', 'audio', 'document'];
const A: Record<AbiFileKind, Said> = {
  image: say('abi.an-image'),
  audio: say('abi.an-audio-file'),
  document: say('abi.a-document'),
};
const MIME_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(?:; ?[\w-]{1,20}="?[\w.+-]{1,40}"?)?$/;
const MAX_FILE_NAME_CHARS = 200;

/**
 * Parses a template such as `{"image": "{{chart}}", "mimeType": "image/png", "caption": "{{title}}"}`, and checks it
 * against the outputs.
 * @throws {AbiDefinitionError} the template cannot give a file of its kind
 */
export function parseFileOutput(output: AbiFileOutput, outputs: readonly AbiParam[]): FileTemplate {
  const kinds = KINDS.filter((kind) => output[kind] !== undefined);
  const [kind] = kinds;
  if (!kind || kinds.length > 1) throw new AbiDefinitionError(say('abi-file.one-kind'));
  const reference = soleReference(output[kind] ?? '', outputs);
  if (!reference) {
    throw new AbiDefinitionError(
      say('abi-file.not-output', { file: A[kind], example: `{{${outputs[0]?.name || '0'}}}` }),
    );
  }
  if (reference.type.kind !== 'bytes') {
    const type = shortened(typeText(reference.type));
    throw new AbiDefinitionError(say('abi-file.not-bytes', { file: A[kind], type }));
  }
  const { mimeType, fileName, caption } = output;
  if (caption !== undefined && kind === 'audio') {
    throw new AbiDefinitionError(say('abi-file.caption'));
  }
  if (fileName !== undefined && kind !== 'document') {
    throw new AbiDefinitionError(say('abi-file.file-name', { file: A[kind] }));
  }
  const template: FileTemplate = { kind, path: reference.path };
  if (mimeType !== undefined) {
    template.mimeType = parseOutputTemplate(mimeType, outputs);
    const literal = literalText(template.mimeType);
    const mistake = literal === undefined ? undefined : mimeTypeMistake(kind, literal);
    if (mistake) throw new AbiDefinitionError(say('abi-file.bad-type', { why: mistake }));
  }
  if (fileName !== undefined) template.fileName = parseOutputTemplate(fileName, outputs);
  if (caption !== undefined) template.caption = parseOutputTemplate(caption, outputs);
  return template;
}

/**
 * The file and the caption in an agent's outputs.
 * @throws {AgentProtocolError} the bytes are empty or above the limit, or the media type does not fit the kind
 */
export function renderFile(
  template: FileTemplate,
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
): RenderedFile {
  const { kind, path } = template;
  const hex = outputAt(path, outputs, values);
  const bytes = Buffer.from(typeof hex === 'string' ? hex.slice(2) : '', 'hex');
  if (bytes.length === 0) throw new AgentProtocolError(say('abi.empty-file', { kind: A[kind] }));
  if (bytes.length > MAX_MEDIA_BYTES) {
    throw new AgentProtocolError(
      say('abi.file-too-large', { kind: A[kind], bytes: bytes.length, max: MAX_MEDIA_BYTES }),
    );
  }
  const text = (part: OutputTemplate | undefined) => part && renderTemplate(part, outputs, values).trim();
  const mimeType = text(template.mimeType) || mediaTypeOf(bytes, kind);
  const mistake = mimeTypeMistake(kind, mimeType);
  if (mistake) throw new AgentProtocolError(say('abi.bad-type', { kind: A[kind], why: mistake }));
  const fileName = text(template.fileName)
    ?.replace(/[\p{Cc}/\\]/gu, '_')
    .slice(0, MAX_FILE_NAME_CHARS);
  const caption = text(template.caption);
  return {
    file: { kind, mimeType, ...(fileName && { fileName }), bytes },
    ...(caption && { caption }),
    shown: withOutputAt(path, outputs, values, `<${mimeType}, ${bytes.length} bytes>`),
  };
}

/** Why a text is not a MIME type of the kind; undefined when it is. */
function mimeTypeMistake(kind: AbiFileKind, text: string): Said | undefined {
  if (!MIME_TYPE.test(text)) return say('abi-file.not-mime-type', { text: shortened(text) });
  if (kind === 'document' || text.startsWith(`${kind}/`)) return undefined;
  return say('abi-file.other-type', { kind, text: shortened(text) });
}

/** Kinds of files that a template can make. */
type AbiFileKind = 'image' | 'audio' | 'document';

const DEFAULT_TYPE: Record<AbiFileKind, string> = {
  image: 'image/jpeg',
  audio: 'audio/mpeg',
  document: 'application/octet-stream',
};

/** Media type of a file without a declared one: detected from the first bytes when it fits the kind, else the kind's default. */
export function mediaTypeOf(bytes: Uint8Array, kind: AbiFileKind): string {
  const detected = detectMediaType(bytes);
  const found = detected === 'audio/ogg' ? 'audio/ogg; codecs=opus' : detected;
  return found && (kind === 'document' || found.startsWith(kind)) ? found : DEFAULT_TYPE[kind];
}
