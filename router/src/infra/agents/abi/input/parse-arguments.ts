import { type ExactJson, ExactJsonError, NumberText, parseExactJson, readToken } from '../../lenient-json.ts';
import type { AbiFunction } from '../codec/abi-signature.ts';
import { type AbiParam, type AbiType, type AbiValue, type Codec, namedTypeText } from '../codec/abi-type.ts';
import { coerce, coerceAll } from '../codec/abi-value.ts';
import { exampleJson, exampleValue } from './abi-example.ts';
import { type AbiInput, AbiInputError, type FileInput } from './abi-input.ts';
import { expectation } from './describe-type.ts';

/** Text of a person, and the file of the message. */
export interface WrittenInput {
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
export function commandList(functions: readonly AbiFunction[]): string {
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
export function functionHelp(target: AbiFunction): string {
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
export function usage({ name, inputs }: AbiFunction): string {
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
