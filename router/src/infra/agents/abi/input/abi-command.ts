import type { IncomingMessage, MediaInfo } from '../../../../core/models.ts';
import { type ExactJson, ExactJsonError, NumberText, parseExactJson, readToken } from '../../lenient-json.ts';
import { fillText, MEDIA_VARIABLE, mapLeaves, PLACEHOLDER, soleVariable } from '../../message-template.ts';
import { type AbiFunction, type AgentAbi, findFunction } from '../codec/abi-signature.ts';
import {
  AbiDefinitionError,
  type AbiParam,
  type AbiType,
  type AbiValue,
  type Codec,
  namedTypeText,
  shortened,
} from '../codec/abi-type.ts';
import { coerce, coerceAll, expectation } from '../codec/abi-value.ts';
import { exampleJson, exampleValue } from './abi-example.ts';
import { type AbiInput, AbiInputError, ANYTHING, FileInput } from './abi-input.ts';

/** Rules by which messages of a route become calls. */
export interface CallRules {
  abi: AgentAbi;
  /** Called for text that is not a command. */
  target?: AbiFunction;
  /** Argument template; with it each text is a call of `target`. */
  args?: unknown;
}

/** A call of the agent. */
export interface Call {
  kind: 'call';
  target: AbiFunction;
  values: AbiValue[];
  /** A value represents the message's file, whose bytes must be fetched before the call can be encoded. */
  needsFile?: true;
}

/** A call of the agent, or a text that wa2ai sends instead. */
export type Interpretation = Call | { kind: 'say'; why: 'help' | 'list' | 'mistake'; text: string };

/**
 * Turns a message into a call: by the argument template when there is one, else as a command (`/add 2 40`, `/help`), as
 * JSON, or as text for the route's function. The file of a message is placed by the template, or becomes the argument of
 * type bytes that the text omits. A person's mistake is a text to send, never an exception.
 * @param fileBytes the message's file when it is fetched; without it a call that takes the file has `needsFile`
 */
export function interpret(
  rules: CallRules,
  message: IncomingMessage,
  fileBytes?: Uint8Array,
): Interpretation {
  const file = message.media && new FileInput(shownFile(message.media), fileBytes);
  try {
    const meant =
      rules.args === undefined
        ? interpretText(rules, { text: message.text, file })
        : callOf(only(rules), (target) =>
            coerceAll(target.inputs, fillTemplate(rules.args, message, file), rules.abi.codec),
          );
    if (meant.kind === 'say') return meant;
    const isWaiting = meant.target.inputs.some(({ type }, index) =>
      containsPendingFile(type, meant.values[index]),
    );
    return isWaiting ? { ...meant, needsFile: true } : meant;
  } catch (error) {
    if (error instanceof AbiInputError) return { kind: 'say', why: 'mistake', text: sentence(error.message) };
    throw error;
  }
}

function shownFile({ mimeType, sizeBytes }: MediaInfo): string {
  return `<${mimeType}${sizeBytes === undefined ? '' : `, ${sizeBytes} bytes`}>`;
}

/** The function of the route; the only function when the route names none. */
export function only({ abi, target }: CallRules): AbiFunction | undefined {
  return target ?? (abi.functions.length === 1 ? abi.functions[0] : undefined);
}

function interpretText(rules: CallRules, said: WrittenInput): Interpretation {
  const { text, file } = said;
  const [, name, rest = ''] = /^\s*\/([\w$]+)(?![^\s(])([\s\S]*)$/.exec(text) ?? [];
  const commanded = name === undefined ? undefined : interpretCommand(rules, name, { text: rest, file });
  if (commanded) return commanded;
  const sole = only(rules);
  const byKind = sole && file && textAndFile(sole, { text, file });
  if (byKind) return callOf(sole, () => coerceAll(sole.inputs, byKind, rules.abi.codec));
  const textTarget = sole && isTextOnly(sole) ? sole : undefined;
  if (textTarget) return callOf(textTarget, () => [coerceText(rules, textTarget, text)]);
  const target = /^\s*[[{]/.test(text) ? sole : rules.target;
  if (!target) {
    return name === undefined
      ? { kind: 'say', why: 'list', text: commandList(rules.abi.functions) }
      : noSuchCommand(rules.abi, name);
  }
  try {
    return callOf(target, () => argumentsOf(target, said, rules.abi));
  } catch (error) {
    // Text that begins like a command and does not fit as arguments is an unknown command.
    if (name !== undefined && error instanceof AbiInputError) return noSuchCommand(rules.abi, name);
    throw error;
  }
}

/** The call or the help that a command requests; undefined when no function has that name. */
function interpretCommand(rules: CallRules, name: string, rest: WrittenInput): Interpretation | undefined {
  const { text, file } = rest;
  const types = /^\(\S*\)(?!\S)/.exec(text)?.[0] ?? '';
  const form = types === '' ? [] : commandFunctions(rules.abi, name, types);
  if (form.length > 0) return callCommand(rules, form, { text: text.slice(types.length), file }, false);
  if (name.toLowerCase() === 'help') return help(rules.abi, text.trim());
  const found = commandFunctions(rules.abi, name, '');
  return found.length > 0 ? callCommand(rules, found, rest, text.startsWith('(')) : undefined;
}

function noSuchCommand({ functions }: AgentAbi, name: string): Interpretation {
  const text = `There is no command /${shortened(name)}.\n\n${commandList(functions)}`;
  return { kind: 'say', why: 'mistake', text };
}

function callOf(
  target: AbiFunction | undefined,
  valuesOf: (target: AbiFunction) => AbiValue[],
): Interpretation {
  if (!target) throw new AbiInputError('this chat does not know which function to call');
  return { kind: 'call', target, values: valuesOf(target) };
}

/** The arguments of a function that takes one file and at most one text; such a function needs no command. */
function textAndFile({ inputs }: AbiFunction, { text, file }: WrittenInput): AbiInput[] | undefined {
  const kinds = inputs.map(({ type }) => type.kind);
  const fits = kinds.filter((kind) => kind === 'bytes').length === 1 && kinds.length <= 2;
  if (!fits || kinds.some((kind) => kind !== 'bytes' && kind !== 'string')) return undefined;
  return kinds.map((kind) => (kind === 'bytes' ? file : text));
}

function isTextOnly({ inputs }: AbiFunction): boolean {
  return inputs.length === 1 && inputs[0]?.type.kind === 'string';
}

function coerceText({ abi }: CallRules, { inputs }: AbiFunction, text: string): AbiValue {
  const [input] = inputs as [AbiParam];
  return coerce(input.type, text, input.name || 'argument 1', abi.codec);
}

function help(abi: AgentAbi, rest: string): Interpretation {
  const name = rest.replace(/^\//, '');
  if (name === '') return { kind: 'say', why: 'help', text: commandList(abi.functions) };
  const [, word = '', types = ''] = /^([\w$]+)(\(.*\))?$/.exec(name) ?? [];
  const found = commandFunctions(abi, word, types);
  if (found.length > 0) return { kind: 'say', why: 'help', text: found.map(functionHelp).join('\n\n') };
  return noSuchCommand(abi, name);
}

/** The functions that match a command: one, or all overloads of a name. Ignores case, because phones capitalize the first letter. */
function commandFunctions(abi: AgentAbi, name: string, types: string): readonly AbiFunction[] {
  if (types !== '') {
    try {
      return [findFunction(abi, `${name}${types}`)];
    } catch (error) {
      if (error instanceof AbiDefinitionError) return [];
      throw error;
    }
  }
  const exact = abi.byName.get(name);
  if (exact) return exact;
  const lower = name.toLowerCase();
  return abi.functions.filter((candidate) => candidate.name.toLowerCase() === lower);
}

/** The overload that the arguments fit; the function of the route when several fit. */
function callCommand(
  rules: CallRules,
  forms: readonly AbiFunction[],
  rest: WrittenInput,
  isCallSyntax: boolean,
): Interpretation {
  const fitting: Call[] = [];
  let firstMistake: AbiInputError | undefined;
  for (const target of forms) {
    try {
      fitting.push({
        kind: 'call',
        target,
        values: argumentsOf(target, rest, { codec: rules.abi.codec, isCallSyntax }),
      });
    } catch (error) {
      if (!(error instanceof AbiInputError)) throw error;
      firstMistake ??= error;
    }
  }
  const [call, ...others] = fitting;
  if (!call) {
    if (forms.length === 1 && firstMistake) throw firstMistake;
    throw new AbiInputError(`that fits no form of the command; write ${forms.map(usage).join(' or ')}`);
  }
  if (others.length === 0) return call;
  const own = fitting.find(({ target }) => target === rules.target);
  if (own) return own;
  const named = fitting.map(({ target }) => `/${target.signature}`).join(' or ');
  throw new AbiInputError(`that fits several forms of the command; write ${named} before the values`);
}

/** A sentence for a chat: ends with a full stop; begins with the name of an argument, whose case does not change. */
function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Variables with text of a person, which may become a value of any type. */
const FREE = new Set(['text', 'quotedText', 'name']);

/**
 * The template with its placeholders replaced. A text that is only a placeholder gets the type of the variable:
 * `{{timestamp}}` is a number, `{{mentions}}` a list of `{ id, tag, name }` and `{{media}}` the file.
 * @throws {AbiInputError} the template needs a file and the message has none
 */
export function fillTemplate(template: unknown, message: IncomingMessage, file?: FileInput): AbiInput {
  return mapLeaves(template, (text) => {
    if (soleVariable(text) !== MEDIA_VARIABLE) return fillText(text, message);
    if (file) return file;
    throw new AbiInputError('Please send a picture, a voice message or another file with your message');
  }) as AbiInput;
}

/** The template with typical values, and `ANYTHING` for text of a person; used to check types when a route is saved. */
export function sampleOf(template: unknown): AbiInput {
  return mapLeaves(template, (text) => {
    const isFree = [...text.matchAll(PLACEHOLDER)].some(([, name]) => FREE.has(name ?? ''));
    return isFree ? ANYTHING : fillTemplate(text, SAMPLE_MESSAGE, new FileInput('<a file>'));
  }) as AbiInput;
}

/** A message in a group: its channelId is not a number, so a template cannot rely on a number. */
const SAMPLE_MESSAGE: IncomingMessage = {
  id: '3EB0AAAAAAAAAAAAAAAAAA',
  from: '34600000000@s.whatsapp.net',
  channelId: '120363000000000000@g.us',
  text: '',
  timestamp: new Date(1_700_000_000_000),
  mentions: [{ id: '34600000000@s.whatsapp.net', tag: '@34600000000', name: 'Ana' }],
};

/** Text of a person, and the file of the message. */
interface WrittenInput {
  text: string;
  file: FileInput | undefined;
}

/**
 * Parses the arguments after a command: by position, or as one JSON value. The file of the message becomes the argument of
 * type bytes that the text omits. `isCallSyntax`: parentheses follow the name directly, `/add(2, 40)`.
 * @throws {AbiInputError}
 */
export function argumentsOf(
  target: AbiFunction,
  said: WrittenInput,
  { codec, isCallSyntax = false }: { codec: Codec; isCallSyntax?: boolean },
): AbiValue[] {
  const { inputs } = target;
  const text = withoutParentheses(inputs, said.text.trim(), isCallSyntax);
  const [first] = inputs;
  if (!first) {
    if (text !== '' && text !== '[]' && text !== '{}')
      throw new AbiInputError(`/${target.name} takes no arguments`);
    return [];
  }
  const filled = said.file && withFile(inputs, text, said.file);
  if (filled) return coerceAll(inputs, filled, codec);
  if (text === '') throw wrongCount(target, 0);
  if (inputs.length === 1) return [soleArgument(first, text, codec)];
  const json = /^[[{]/.test(text) ? jsonOrNothing(text) : undefined;
  const isWhole = Array.isArray(json) ? json.length === inputs.length : json !== undefined;
  if (isWhole) return coerceAll(inputs, json, codec);
  const words = positional(inputs, text);
  if (words.length !== inputs.length) throw wrongCount(target, words.length);
  return coerceAll(inputs, words, codec);
}

/** The arguments with the file as the argument of type bytes that the text omits; undefined when it omits none. */
function withFile(inputs: readonly AbiParam[], text: string, file: FileInput): AbiInput | undefined {
  const json = /^\{/.test(text) ? jsonOrNothing(text) : undefined;
  if (json !== undefined && inputs.length > 1) {
    const missing = inputs.filter(({ name }) => !Object.hasOwn(json as object, name));
    const [sole, ...more] = missing;
    const isForFile = sole?.type.kind === 'bytes' && sole.name !== '' && more.length === 0;
    return isForFile ? { ...(json as { [key: string]: ExactJson }), [sole.name]: file } : undefined;
  }
  const at = inputs.findIndex(({ type }) => type.kind === 'bytes');
  if (at < 0 || inputs.some(({ type }, index) => type.kind === 'bytes' && index !== at)) return undefined;
  const rest = inputs.toSpliced(at, 1);
  const words = rest.length === 0 && text === '' ? [] : positional(rest, text);
  return words.length === rest.length ? words.toSpliced(at, 0, file) : undefined;
}

/** The content of `(2, 40)`: always for `/add(2, 40)`, else unless the parentheses may belong to a text argument. */
function withoutParentheses(inputs: readonly AbiParam[], text: string, isCallSyntax: boolean): string {
  const inner = /^\(([\s\S]*)\)$/.exec(text)?.[1]?.trim();
  if (inner === undefined || (inputs.length === 1 && inputs[0]?.type.kind === 'string' && !isCallSyntax))
    return text;
  const isTuple = inputs.length === 1 && inputs[0]?.type.kind === 'tuple' && !/^[[{]/.test(inner);
  return isTuple && inner !== '' ? `[${inner}]` : inner;
}

function soleArgument(input: AbiParam, text: string, codec: Codec): AbiValue {
  const name = input.name || 'argument 1';
  if (input.type.kind === 'string') return coerce(input.type, unquoted(text), name, codec);
  if (input.type.kind !== 'tuple') {
    const json = text.startsWith('{') ? readJson(text) : undefined;
    const named = isNamed(json, input.name) ? json[input.name] : undefined;
    return coerce(input.type, named ?? unquoted(text), name, codec);
  }
  const value = /^[[{]/.test(text) ? readJson(text) : text;
  const { fields } = input.type;
  const isWrapped = isNamed(value, input.name) && fields.every((field) => field.name !== input.name);
  // Messages name the fields as the person wrote them: `age`, not `user.age`.
  return coerce(input.type, isWrapped ? value[input.name] : value, '', codec);
}

function isNamed(value: ExactJson | undefined, name: string): value is { [key: string]: ExactJson } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !(value instanceof NumberText) && Object.keys(value).join() === name && name !== '';
}

function unquoted(text: string): string {
  if (!/^["“„”'‘«]/.test(text)) return text;
  try {
    const { token, isQuoted, end } = readToken(text, 0);
    return isQuoted && end === text.length ? token : text;
  } catch (error) {
    if (error instanceof ExactJsonError) return text;
    throw error;
  }
}

/**
 * Splits at spaces outside quotes and brackets; a text argument at the end gets the rest. Commas separate arguments when
 * each part except the last ends with one, or when only commas give the right number. The caller checks the number.
 */
function positional(inputs: readonly AbiParam[], text: string): AbiInput[] {
  const tokens = tokensOf(inputs, text);
  const areListed = tokens.length > 1 && tokens.slice(0, -1).every((token) => token.endsWith(','));
  if (text.includes(',') && (areListed || tokens.length !== inputs.length)) {
    const list = jsonOrNothing(`[${text}]`);
    if (Array.isArray(list) && list.length === inputs.length) return list;
  }
  return areListed
    ? tokens.map((token, at) => (at < tokens.length - 1 ? token.slice(0, -1) : token))
    : tokens;
}

function tokensOf(inputs: readonly AbiParam[], text: string): string[] {
  const endsInText = inputs.at(-1)?.type.kind === 'string';
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (endsInText && tokens.length === inputs.length - 1) {
      tokens.push(unquoted(text.slice(at)));
      break;
    }
    if (tokens.length > inputs.length) break;
    const { token, end } = tokenAt(text, at);
    tokens.push(token);
    at = end + (/^\s*/.exec(text.slice(end))?.[0].length ?? 0);
  }
  return tokens;
}

function tokenAt(text: string, at: number) {
  return orMistake(() => readToken(text, at));
}

function readJson(text: string): ExactJson {
  return orMistake(() => parseExactJson(text));
}

function orMistake<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ExactJsonError) throw new AbiInputError(`the input ${error.message}`);
    throw error;
  }
}

function jsonOrNothing(text: string): ExactJson | undefined {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof ExactJsonError) return undefined;
    throw error;
  }
}

function wrongCount(target: AbiFunction, got: number): AbiInputError {
  const { length } = target.inputs;
  const wanted = `${length} argument${length === 1 ? '' : 's'}`;
  const given = got > length ? `more than ${length}` : String(got);
  const orFile = target.inputs.some(({ type }) => type.kind === 'bytes') ? ', or send a file with it' : '';
  return new AbiInputError(`/${target.name} needs ${wanted}, got ${given}; write ${usage(target)}${orFile}`);
}

/** Maximum number of characters in the list of functions; the number of omitted functions is shown. */
const MAX_LIST_CHARS = 8_000;

/** Reply to `/help`: each function with its arguments and types; a large contract is cut. */
function commandList(functions: readonly AbiFunction[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const { name, inputs } of functions) {
    const words = inputs.map((input, index) => `${nameOf(input, index)}: ${namedTypeText(input.type)}`);
    const line = `/${name}${words.length > 0 ? ` ${words.join(', ')}` : ''}`;
    chars += line.length;
    if (chars > MAX_LIST_CHARS && lines.length > 0) break;
    lines.push(line.length > MAX_LIST_CHARS ? `/${name}` : line);
  }
  const more = functions.length - lines.length;
  if (more > 0) lines.push(`… and ${more} more`);
  return `You can write:\n${lines.join('\n')}\n/help ${functions[0]?.name ?? ''} shows more.`;
}

/** Reply to `/help add`: a description of each argument, the outputs and an example. */
function functionHelp(target: AbiFunction): string {
  const inputs = target.inputs.flatMap((input, index) =>
    explained(`• ${nameOf(input, index)}`, input.type, ''),
  );
  const outputs = target.outputs.map(({ name, type }) => `${name && `${name}: `}${namedTypeText(type)}`);
  return [
    `/${target.name}`,
    ...(inputs.length > 0 ? inputs : ['• no arguments']),
    outputs.length > 0 ? `Answers ${outputs.join(', ')}.` : 'Answers nothing.',
    `Example: ${usage(target)}`,
  ].join('\n');
}

/** An example of the command: `/add 1 2`. */
function usage({ name, inputs }: AbiFunction): string {
  const words = inputs.map(({ type }, index) => word(type, index, inputs.length));
  return [`/${name}`, ...words].join(' ');
}

function nameOf({ name }: AbiParam, index: number): string {
  return name || `argument ${index + 1}`;
}

/** `label: a whole number …`; for a tuple, one more line for each field, indented. */
function explained(label: string, type: AbiType, indent: string): string[] {
  let inner = type;
  let lists = '';
  for (; inner.kind === 'array'; inner = inner.item) {
    lists += `${lists && ' '}a list${inner.length === undefined ? '' : ` of ${inner.length}`}, each`;
  }
  if (inner.kind !== 'tuple') return [`${indent}${label}: ${lists && `${lists} `}${expectation(inner)}`];
  const fields = inner.fields.flatMap((field, index) =>
    explained(field.name || `value ${index + 1}`, field.type, `${indent}  `),
  );
  return [`${indent}${label}${lists && `: ${lists}`}${lists ? '' : ','} with`, ...fields];
}

function word(type: AbiType, index: number, count: number): string {
  if (type.kind === 'string') return index === count - 1 ? 'some words' : '"some words"';
  return type.kind === 'array' || type.kind === 'tuple'
    ? exampleJson(type)
    : String(exampleValue(type, index));
}

/** Whether a value is, or contains, a file whose bytes are not fetched yet; fetched bytes are `0x` hex. */
function containsPendingFile(type: AbiType, value: AbiValue | undefined): boolean {
  if (type.kind === 'bytes' || type.kind === 'fixedBytes') return String(value).startsWith('<');
  if (!Array.isArray(value)) return false;
  if (type.kind === 'array') return value.some((item) => containsPendingFile(type.item, item));
  return (
    type.kind === 'tuple' && type.fields.some((field, index) => containsPendingFile(field.type, value[index]))
  );
}
