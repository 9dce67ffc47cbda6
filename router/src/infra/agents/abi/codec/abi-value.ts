import { withoutTrailing } from '../../../../core/text.ts';
import { ExactJsonError, NumberText, parseExactJson } from '../../lenient-json.ts';
import { exampleJson } from '../input/abi-example.ts';
import { type AbiInput, AbiInputError, ANYTHING, FileInput } from '../input/abi-input.ts';
import { type AbiParam, type AbiType, type AbiValue, areNamed, type Codec, shortened } from './abi-type.ts';

/** Name of all arguments, or of the only tuple, in a message. */
const WHOLE = 'the input';

/**
 * Values for the parameters of a function, by position or by name.
 * @throws {AbiInputError}
 */
export function coerceAll(params: readonly AbiParam[], input: AbiInput, codec: Codec): AbiValue[] {
  return fieldsOf(params, input, '', codec);
}

/**
 * The value of a parameter. Accepts text as people write it: numbers in decimal or hex, `yes` and `no`, bytes in
 * hex or base64, arrays and tuples as JSON or, an array, with commas or spaces between its items. `path` names the value
 * in a message.
 * @throws {AbiInputError}
 */
export function coerce(type: AbiType, input: AbiInput, path: string, codec: Codec): AbiValue {
  if (input === ANYTHING) return '';
  if (input === undefined || input === null) throw new AbiInputError(`${path} is missing`);
  if (input instanceof FileInput) return fileValue(type, input, path);
  switch (type.kind) {
    case 'uint':
    case 'int':
      return wholeNumber(type, input, path);
    case 'bool':
      return truth(input, path);
    case 'address':
      return address(input, path, codec);
    case 'string':
      return plainText(input, path);
    case 'bytes':
      return bytesOf(input, path);
    case 'fixedBytes':
      return bytesOf(input, path, type.size);
    case 'array':
      return arrayOf(type, input, path, codec);
    case 'tuple':
      return fieldsOf(type.fields, structured(input, path || WHOLE, expectation(type)), path, codec);
  }
}

function mistake(path: string, expected: string, input: AbiInput): AbiInputError {
  return new AbiInputError(`${path} must be ${expected}, got '${shortened(shown(input))}'`);
}

function shown(input: AbiInput): string {
  if (typeof input === 'string') return input;
  if (input instanceof NumberText) return input.text;
  if (input instanceof FileInput) return 'a file';
  if (input instanceof Uint8Array) return `${input.length} bytes`;
  if (Array.isArray(input)) return `a list of ${count(input.length, 'item')}`;
  return typeof input === 'object' && input !== null ? 'an object' : String(input);
}

function wholeNumber(type: Whole, input: AbiInput, path: string): bigint {
  const value = bigintOf(input);
  const [least, most] = rangeOf(type);
  if (value !== undefined && value >= least && value <= most) return value;
  const hint = typeof input === 'number' && Number.isInteger(input) ? ' (write large numbers as text)' : '';
  throw mistake(path, `${expectation(type)}${hint}`, input);
}

/** The exact number; undefined when the input is not a number or has more digits than any type allows. */
function bigintOf(input: AbiInput): bigint | undefined {
  if (typeof input === 'bigint') return input;
  // A larger number in JSON was rounded when it was parsed.
  if (typeof input === 'number') return Number.isSafeInteger(input) ? BigInt(input) : undefined;
  const text = input instanceof NumberText ? input.text : input;
  return typeof text === 'string' ? bigintIn(text) : undefined;
}

const TRUTHS = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

function truth(input: AbiInput, path: string): boolean {
  if (typeof input === 'boolean') return input;
  const isText = typeof input !== 'object' || input instanceof NumberText;
  const value = isText ? TRUTHS.get(bare(shown(input)).toLowerCase()) : undefined;
  if (value === undefined) throw mistake(path, 'true or false', input);
  return value;
}

function address(input: AbiInput, path: string, codec: Codec): string {
  const text = input instanceof NumberText ? input.text : input;
  const written = typeof text === 'string' ? bare(text) : '';
  if (!/^0x[0-9a-f]{40}$/i.test(written)) throw mistake(path, 'an address (0x and 40 hex digits)', input);
  const checked = codec.checksum(written);
  const digits = written.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  if (isMixed && checked !== `0x${digits}`) {
    throw new AbiInputError(
      `${path} has a wrong checksum, so a character of '${shortened(written)}' may be mistyped; copy the address again`,
    );
  }
  return checked;
}

function plainText(input: AbiInput, path: string): string {
  if (typeof input === 'object' && !(input instanceof NumberText)) throw mistake(path, 'text', input);
  const text = shown(input);
  // An unpaired surrogate has no UTF-8 form; an encoder would write a replacement character.
  if (/\p{Surrogate}/u.test(text)) throw new AbiInputError(`${path} contains a broken character`);
  return text;
}

function fileValue(type: AbiType, input: FileInput, path: string): string {
  if (type.kind !== 'bytes' && type.kind !== 'fixedBytes') throw mistake(path, expectation(type), input);
  if (!input.bytes) return input.shown;
  return bytesOf(input.bytes, path, type.kind === 'fixedBytes' ? type.size : undefined);
}

function bytesOf(input: AbiInput, path: string, size?: number): string {
  const type: AbiType = size === undefined ? { kind: 'bytes' } : { kind: 'fixedBytes', size };
  const text = input instanceof NumberText ? input.text : input;
  const written = typeof text === 'string' ? bytesIn(text, size) : undefined;
  if (written === 'ambiguous') {
    const [asHex, asBase64] = ['0x', 'base64:'].map((prefix) => shortened(`${prefix}${shown(input)}`));
    throw new AbiInputError(`${path} may be hex or base64; write ${asHex} or ${asBase64}`);
  }
  const bytes = input instanceof Uint8Array ? Buffer.from(input) : written;
  if (!bytes) throw mistake(path, expectation(type), input);
  if (size !== undefined && bytes.length !== size) {
    throw new AbiInputError(`${path} must be ${expectation(type)}, got ${count(bytes.length, 'byte')}`);
  }
  return `0x${bytes.toString('hex')}`;
}

function arrayOf(type: AbiType & { kind: 'array' }, input: AbiInput, path: string, codec: Codec): AbiValue[] {
  const items = listOf(type, input, path);
  if (type.length !== undefined && items.length !== type.length) {
    throw new AbiInputError(`${path} must have ${count(type.length, 'item')}, got ${items.length}`);
  }
  return items.map((item, index) => coerce(type.item, item, `item ${index + 1} of ${path}`, codec));
}

function listOf(type: AbiType & { kind: 'array' }, input: AbiInput, path: string): AbiInput[] {
  const { kind } = type.item;
  if (kind !== 'array' && kind !== 'tuple' && typeof input === 'string' && !/^\s*[[{]/.test(input)) {
    return writtenItems(input.trim(), kind === 'string' || kind === 'bytes');
  }
  const value = structured(input, path, expectation(type));
  if (!Array.isArray(value)) throw mistake(path, expectation(type), input);
  return value;
}

/** Splits items at commas or semicolons or, when no item can contain a space, at spaces. */
function writtenItems(text: string, mayContainSpaces: boolean): string[] {
  if (text === '') return [];
  if (mayContainSpaces) return text.split(',').map((item) => item.trim());
  const items = /[,;]/.test(text) ? text.split(/[,;]/).map((item) => item.trim()) : text.split(/\s+/);
  return items.at(-1) === '' ? items.slice(0, -1) : items;
}

/** Parses an input that is still JSON text. */
function structured(input: AbiInput, path: string, expected: string): AbiInput {
  if (typeof input !== 'string') return input;
  if (!/^\s*[[{]/.test(input)) throw mistake(path, expected, input);
  try {
    return parseExactJson(input);
  } catch (error) {
    if (error instanceof ExactJsonError) throw new AbiInputError(`${path} ${error.message}`);
    throw error;
  }
}

function fieldsOf(fields: readonly AbiParam[], input: AbiInput, path: string, codec: Codec): AbiValue[] {
  const what = path || WHOLE;
  if (Array.isArray(input)) {
    if (input.length !== fields.length) {
      throw new AbiInputError(`${what} must have ${count(fields.length, 'value')}, got ${input.length}`);
    }
    return fields.map((field, index) =>
      coerce(field.type, input[index], fieldPath(field, index, path), codec),
    );
  }
  const isObject =
    typeof input === 'object' &&
    input !== null &&
    !(input instanceof NumberText) &&
    !(input instanceof Uint8Array);
  if (!isObject || !areNamed(fields))
    throw mistake(what, expectation({ kind: 'tuple', fields: [...fields] }), input);
  const values = new Map(Object.entries(input));
  const unknown = [...values.keys()].find((key) => fields.every(({ name }) => name !== key));
  if (unknown !== undefined) {
    const names = fields.map(({ name }) => name).join(', ');
    throw new AbiInputError(`${what} has no field '${shortened(unknown)}'; its fields are ${names}`);
  }
  return fields.map((field, index) =>
    coerce(field.type, values.get(field.name), fieldPath(field, index, path), codec),
  );
}

/** `age`, `user.age`, `age of item 2 of users`, `argument 1`. */
function fieldPath(field: AbiParam, index: number, path: string): string {
  const name = field.name || (path ? `value ${index + 1}` : `argument ${index + 1}`);
  if (path === '') return name;
  return path.startsWith('item ') || !field.name ? `${name} of ${path}` : `${path}.${name}`;
}

/** A longer example is not shown. */
const MAX_EXAMPLE_CHARS = 60;

/** Describes the input for a type: `a whole number from 0 to 255`. */
export function expectation(type: AbiType): string {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return `a whole number from ${rangeText(type)}`;
    case 'bool':
      return 'true or false';
    case 'address':
      return 'an address (0x and 40 hex digits)';
    case 'string':
      return 'text';
    case 'bytes':
      return 'bytes as hex (0x…), base64 or text:…';
    case 'fixedBytes':
      return `${type.size} ${type.size === 1 ? 'byte' : 'bytes'} as hex (0x…), base64 or text:…`;
    case 'array': {
      if (type.length !== undefined) return `a list of ${count(type.length, 'item')}`;
      const example = exampleJson(type);
      return example.length > MAX_EXAMPLE_CHARS ? 'a list in brackets, [ … ]' : `a list such as ${example}`;
    }
    case 'tuple': {
      const example = exampleJson(type);
      if (example.length <= MAX_EXAMPLE_CHARS) return `of the form ${example}`;
      return areNamed(type.fields)
        ? `an object with ${type.fields.map(({ name }) => name).join(', ')}`
        : `a list of ${count(type.fields.length, 'value')}`;
    }
  }
}

/** `1 item`, `2 items`. */
function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A type of whole numbers. */
type Whole = AbiType & { kind: 'uint' | 'int' };

/** The least and the greatest value of the type. */
function rangeOf({ kind, bits }: Whole): [least: bigint, most: bigint] {
  return kind === 'uint'
    ? [0n, 2n ** BigInt(bits) - 1n]
    : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n];
}

function rangeText(type: Whole): string {
  const [least, most] = rangeOf(type);
  if (type.bits <= 32) return `${least} to ${most}`;
  return type.kind === 'uint' ? `0 to 2^${type.bits}-1` : `-2^${type.bits - 1} to 2^${type.bits - 1}-1`;
}

/** Text without surrounding spaces and without invisible format characters, which copied text may contain. */
export function bare(text: string): string {
  return text.replace(/\p{Cf}/gu, '').trim();
}

/** The whole number in a text, decimal or `0x` hex; undefined when there is none or it has more digits than any type allows. */
export function bigintIn(text: string): bigint | undefined {
  // Keyboards and web pages also use other minus characters.
  const written = bare(text).replace(/^[\u2212\u2013]/, '-');
  const power = /^([-+]?)(\d{1,78})(?:\.(\d{1,78}))?e\+?(\d{1,2})$/i.exec(written);
  if (power) return wholePower(power);
  const parts = /^([-+]?)(0x)?0*((?:[1-9a-f][0-9a-f]*)?)$/i.exec(written);
  if (!parts || !/\d|[a-f]/i.test(written)) return undefined;
  const [, sign, hex, digits = ''] = parts;
  if (digits.length > 78 || (!hex && /[a-f]/i.test(digits)) || (hex && /0x$/i.test(written)))
    return undefined;
  const size = BigInt(`${hex ? '0x' : ''}${digits || '0'}`);
  return sign === '-' ? -size : size;
}

/** `1e18`, `1.5e18`, as people write amounts in wei; undefined for a fraction such as `1.5e0`. */
function wholePower([, sign, whole = '', fraction = '', exponent = '']: RegExpExecArray): bigint | undefined {
  const zeros = Number(exponent) - fraction.length;
  const digits = `${whole}${fraction}`;
  if (zeros < 0 || digits.length + zeros > 78) return undefined;
  const size = BigInt(digits + '0'.repeat(zeros));
  return sign === '-' ? -size : size;
}

/**
 * Bytes from `0x` or `hex:` and hex, `text:` and UTF-8, `base64:` or plain base64 (also its URL form and without padding).
 * Hex digits without a prefix are hex when they give `size` bytes; without a size they may be ambiguous.
 */
export function bytesIn(written: string, size: number | undefined): Buffer | 'ambiguous' | undefined {
  if (/^text:/i.test(written)) return Buffer.from(written.slice(5), 'utf8');
  const text = bare(written);
  const hex = /^(?:0x|hex:)(.*)$/is.exec(text)?.[1];
  if (hex !== undefined) return hexBytes(hex);
  const digits = text === '' ? undefined : hexBytes(text);
  if (digits && digits.length === size) return digits;
  const base64 = base64Bytes(text.replace(/^base64:/i, ''));
  return digits && base64 && size === undefined ? 'ambiguous' : base64;
}

function hexBytes(digits: string): Buffer | undefined {
  return /^(?:[0-9a-f]{2})*$/i.test(digits) ? Buffer.from(digits, 'hex') : undefined;
}

function base64Bytes(text: string): Buffer | undefined {
  const base64 = text
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/={1,2}$/, '');
  if (!/^[A-Za-z0-9+/]*$/.test(base64)) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  // Node ignores invalid characters, so the text was base64 only when encoding the bytes gives it again.
  return withoutTrailing(bytes.toString('base64'), '=') === base64 ? bytes : undefined;
}
