import { createParser } from 'eventsource-parser';
import { AgentProtocolError } from '../../core/errors.ts';
import { type Said, say } from '../../core/phrases.ts';
import { decodeEntities } from '../../core/text.ts';
import { bodyText, parsedJson } from './transport/error-text.ts';

/** How the answers of a kind of agent are read. */
export interface AnswerForm {
  /** As sentences of errors name it: `webhook`, `hosted agent`. */
  agent: Said;
  /** Fields that may have the answer, in the order in which they are looked for. */
  fields: readonly string[];
  /** Whether an object is an answer without a text. */
  isAnswer?: (fields: Record<string, unknown>) => boolean;
  /** Path of the answer in JSON. Absent: `fields` are looked for. */
  output?: string;
  /** The setting of `output`, for errors. */
  setting?: string;
  /** Of a list, only the first item is the answer; else all. */
  isFirstOnly?: boolean;
}

/** What an answer says; without `text`: nothing. */
interface AnswerText {
  text?: string;
  /** The object with the answer. */
  fields?: Record<string, unknown>;
}

/**
 * The text in the body of a successful answer: JSON, a stream of events or of lines of JSON, TwiML, or plain text. The one place
 * that says what counts as an answer where a protocol leaves it open.
 * @throws {AgentProtocolError} there is no answer in it, such as in a web page; the sentence says what was expected
 */
export function readAnswerText(answer: { headers: Headers; body: Uint8Array }, form: AnswerForm): AnswerText {
  const type = answer.headers.get('content-type')?.toLowerCase().split(';')[0]?.trim() ?? '';
  return answerIn(withoutWarnings(bodyText(answer), form), type, form);
}

function answerIn(text: string, type: string, form: AnswerForm): AnswerText {
  if (isBlank(text)) return {};
  const json = parsedJson(text);
  if (json !== undefined) return answerOfJson(json, form);
  if (type === 'text/event-stream' || EVENT_START.test(text)) return answerOfStream(eventsIn(text), form);
  const values = jsonValues(text);
  if (values) return answerOfStream(values, form);
  if (/[/+]json\b|ndjson|jsonl/.test(type)) fail(form, say('answer.bad-json'));
  return answerOfText(text, type, form);
}

const EVENT_START = /^(?:(?:event|id|retry):[^\n]*\n|:[^\n]{0,200}\n+)*data:/;

/** Whether a text has nothing that a person sees. */
function isBlank(text: string): boolean {
  return !/[^\s\p{Cf}\p{Zl}\p{Zp}\u3164\u115f\u1160\uffa0\u2800]/u.test(text);
}

function fail(form: AnswerForm, what: Said): never {
  throw new AgentProtocolError(say('answer.of-agent', { agent: form.agent, what }));
}

const STARTED = /^(?:workflow (?:was started|got started)\.?|accepted)$/i;

function refuseStarted(text: string, form: AnswerForm): void {
  if (!STARTED.test(text.trim())) return;
  fail(form, say('answer.started', { text: text.trim() }));
}

function answerOfText(text: string, type: string, form: AnswerForm): AnswerText {
  const markup = markupOf(text);
  if (markup === 'page') fail(form, say('answer.web-page'));
  if (markup === 'twiml') {
    const said = [...text.matchAll(/<(Message|Body)(?:\s[^<>]{0,500})?>([^<]+)/g)];
    const texts = said
      .map(([, , words = '']) => decodeEntities(words).trim())
      .filter((words) => !isBlank(words));
    return texts.length > 0 ? { text: texts.join('\n') } : {};
  }
  if (markup === 'xml' || /[/+]xml$/.test(type)) fail(form, say('answer.xml'));
  refuseStarted(text, form);
  return { text };
}

const PAGE = /^<(?:!doctype\s+html|\/?(?:html|head|body|meta|title|link|script|style)\b)/i;

/** What a text is that begins with markup; undefined: a text, which may have elements. */
function markupOf(text: string): 'page' | 'twiml' | 'xml' | undefined {
  let at = 0;
  let isXml = false;
  for (;;) {
    while (at < text.length && text.charAt(at).trim() === '') at += 1;
    const isComment = text.startsWith('<!--', at);
    const isDeclaration =
      text.startsWith('<?xml', at) || /^<!doctype\s+(?!html)/i.test(text.slice(at, at + 40));
    if (!isComment && !isDeclaration) break;
    isXml ||= isDeclaration;
    const end = text.indexOf(isComment ? '-->' : '>', at);
    if (end < 0) return 'page';
    at = end + (isComment ? 3 : 1);
  }
  const start = text.slice(at, at + 100);
  if (PAGE.test(start)) return 'page';
  if (/^<Response\b/.test(start)) return 'twiml';
  return isXml ? 'xml' : undefined;
}

/** The warnings that PHP writes before an answer have paths of the server. */
const PHP_WARNING =
  /^(?:<br \/>\n)?(?:<b>)?(?:PHP )?(?:Fatal error|Parse error|Warning|Notice|Deprecated)(?:<\/b>)?:[^\n]{1,2000} on line (?:<b>)?\d{1,7}(?:<\/b>)?(?:<br \/>)?$/;

function withoutWarnings(text: string, form: AnswerForm): string {
  if (!text.includes(' on line ')) return text;
  const lines = text.split('\n');
  let count = 0;
  const kept = lines.filter((line, index) => {
    if (line.trim() === '<br />' && PHP_WARNING.test(lines[index + 1] ?? '')) return false;
    if (!PHP_WARNING.test(line)) return true;
    count += 1;
    return false;
  });
  if (count === 0) return text;
  const rest = kept.join('\n');
  if (isBlank(rest) || rest.startsWith('Stack trace:')) fail(form, say('answer.php-error'));
  return rest;
}

function answerOfJson(value: unknown, form: AnswerForm): AnswerText {
  const { output, fields, isFirstOnly } = form;
  if (output !== undefined && typeof value === 'object' && value !== null) return atPath(value, output, form);
  if (Array.isArray(value) && isFirstOnly && !hasRoles(value)) {
    return value.length === 0 ? {} : answerOfJson(value[0], form);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return said(textOf(value, fields) ?? fail(form, say('answer.list-without-text')), form);
  }
  const own = value as Record<string, unknown>;
  const present = fields.filter((name) => Object.hasOwn(own, name));
  const texts = present.map((name) => textOf(own[name], fields));
  const isOther = form.isAnswer?.(own) ?? false;
  const direct = present.find((name) => isText(own[name]));
  const text = direct === undefined ? texts.find((found) => found) : textOf(own[direct], fields);
  if (text) {
    const isOnlyMessage = present.every((name) => name === 'message');
    if (own.error && isOnlyMessage) fail(form, say('answer.error'));
    return { ...said(text, form), fields: own };
  }
  const names = Object.keys(own);
  if (names.length === 0 || isOther) return { fields: own };
  const { setting } = form;
  const found = { fields: names.join(', ').slice(0, 200) };
  if (present.length === 0) {
    const wanted = { ...found, names: fields.join(', ') };
    fail(form, setting ? say('answer.no-field-set', { ...wanted, setting }) : say('answer.no-field', wanted));
  }
  if (texts.includes(undefined)) {
    const wrong = { ...found, name: present[texts.indexOf(undefined)] ?? '' };
    fail(form, setting ? say('answer.not-text-set', { ...wrong, setting }) : say('answer.not-text', wrong));
  }
  return { fields: own };
}

function said(text: string, form: AnswerForm): AnswerText {
  refuseStarted(text, form);
  return isBlank(text) ? {} : { text };
}

function isText(value: unknown): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true;
  return typeof value === 'string' && !isBlank(value);
}

const ASSISTANTS = new Set(['assistant', 'model', 'agent', 'ai', 'bot']);
/** Blocks of content that are no words for the person. */
const HIDDEN_TYPES = /think|reason|tool|function/;
const INNER = ['content', 'text', 'parts', 'value', 'answer'];

function hasRoles(list: readonly unknown[]): boolean {
  return (
    list.length > 0 && list.every((item) => typeof (item as { role?: unknown } | null)?.role === 'string')
  );
}

/** The text of a value: of blocks of content together, of messages the last one of the agent. `` for none; undefined: not a text. */
function textOf(value: unknown, fields: readonly string[], depth = 0): string | undefined {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return isBlank(value) ? '' : value;
  if (depth > 8) return undefined;
  const inner = (other: unknown) => textOf(other, fields, depth + 1);
  if (Array.isArray(value)) {
    if (hasRoles(value)) {
      return inner(value.findLast(({ role }) => ASSISTANTS.has((role as string).toLowerCase())));
    }
    const texts = value.map(inner);
    if (texts.length > 0 && texts.every((text) => text === undefined)) return undefined;
    return texts.filter((text) => text).join(value.every((item) => typeof item === 'string') ? '\n' : '');
  }
  const own = value as Record<string, unknown>;
  if (typeof own.type === 'string' && HIDDEN_TYPES.test(own.type)) return '';
  const names = [...INNER, ...fields].filter((name) => Object.hasOwn(own, name));
  const texts = names.map((name) => inner(own[name]));
  return texts.find((text) => text) ?? (Object.keys(own).length === 0 || texts.includes('') ? '' : undefined);
}

function atPath(value: object, path: string, form: AnswerForm): AnswerText {
  const found = valueAt(value, path);
  const where = `"${path}"${form.setting ? ` (${form.setting})` : ''}`;
  if ('missing' in found) {
    throw new AgentProtocolError(say('answer.missing', { agent: form.agent, where, name: found.missing }));
  }
  const text = textOf(found.value, form.fields);
  if (text === undefined || (typeof found.value === 'object' && found.value !== null && text === '')) {
    throw new AgentProtocolError(say('answer.path-not-text', { where, agent: form.agent }));
  }
  return isBlank(text) ? {} : { text };
}

function valueAt(value: unknown, path: string): { value: unknown } | { missing: string } {
  let found = value;
  for (const name of path.split('.')) {
    const isInside = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
    if (!isInside) return { missing: name };
    found = (found as Record<string, unknown>)[name];
  }
  return { value: found };
}

/** The values of a text that is nothing but two or more values of JSON, one behind the other; else undefined. */
function jsonValues(text: string): unknown[] | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  const values: unknown[] = [];
  let depth = 0;
  let start = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInText) {
      if (character === '\\') at += 1;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth > 0) continue;
      const value = parsedJson(text.slice(start, at + 1));
      if (value === undefined) return undefined;
      values.push(value);
      start = at + 1;
    }
  }
  return values.length > 1 && text.slice(start).trim() === '' ? values : undefined;
}

/** The data of server-sent events: JSON with the name of its event, or a text. */
function eventsIn(text: string): unknown[] {
  const values: unknown[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (data.trim() === '[DONE]') return;
      const value = parsedJson(data);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (isObject) values.push(event === undefined ? value : { event, ...value });
      else values.push({ event: event ?? 'text', text: typeof value === 'string' ? value : data });
    },
  });
  parser.feed(`${text}\n\n`);
  return values;
}

const NO_TEXT = /^(?:begin|start|ping|metadata|usage|message_start|message_stop|content_block_start|step)/i;
const LAST = /(?:end|done|finish|stop|complete|completed)$/i;

/** The pieces of an answer that is written bit by bit, joined; lines that are whole answers one below the other. */
function answerOfStream(values: readonly unknown[], form: AnswerForm): AnswerText {
  const pieces: string[] = [];
  let isKnown = false;
  let isInPieces = false;
  for (const value of values) {
    const fields =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
    const name = String(fields?.type ?? fields?.event ?? '');
    if (name === 'error' || (fields?.error && !fields.choices)) {
      fail(form, say('answer.stream-error'));
    }
    isInPieces ||= name !== '' || fields?.done !== undefined || fields?.choices !== undefined;
    const isWhole = LAST.test(name) && pieces.length > 0;
    if (NO_TEXT.test(name) || HIDDEN_TYPES.test(name) || isWhole) {
      isKnown = true;
      continue;
    }
    const text = pieceOf(value, form);
    isKnown ||= text !== undefined;
    if (text) pieces.push(text);
  }
  if (!isKnown && values.length > 0) fail(form, say('answer.stream-without-text'));
  const text = pieces.join(isInPieces ? '' : '\n');
  return isBlank(text) ? {} : { text };
}

const deltaFields = ['delta', 'data', 'answer', 'content', 'choices', 'token'];

/** The text of one value of a stream; blanks count, because words are joined by them. */
function pieceOf(value: unknown, form: AnswerForm, depth = 0): string | undefined {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (depth > 6 || typeof value !== 'object') return typeof value === 'object' ? undefined : String(value);
  if (form.output !== undefined && depth === 0) {
    const found = valueAt(value, form.output);
    return 'missing' in found ? undefined : pieceOf(found.value, form, 1);
  }
  if (Array.isArray(value)) return value.map((item) => pieceOf(item, form, depth + 1) ?? '').join('');
  const own = value as Record<string, unknown>;
  const names = [...deltaFields, ...form.fields, 'text', 'parts'].filter((name) => Object.hasOwn(own, name));
  const texts = names.map((name) => pieceOf(own[name], form, depth + 1));
  return texts.find((text) => text) ?? texts.find((text) => text !== undefined);
}
