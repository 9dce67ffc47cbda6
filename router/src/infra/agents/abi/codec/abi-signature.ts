import { type Said, say } from '../../../../core/phrases.ts';
import {
  AbiDefinitionError,
  type AbiParam,
  type AbiType,
  type Codec,
  headBytes,
  loadCodec,
  shortened,
  typeOf,
  typeText,
  viemParameter,
} from './abi-type.ts';

/** A function of an agent, with its selector and signature. */
export interface AbiFunction {
  name: string;
  inputs: AbiParam[];
  outputs: AbiParam[];
  /** Canonical: `processUser((string,uint256))`. */
  signature: string;
  /** `0x` and 8 hex digits. */
  selector: string;
  /** The inputs in viem's form. */
  viemInputs: ReturnType<typeof viemParameter>[];
}

/** The functions that an agent has. */
export interface AgentAbi {
  functions: readonly AbiFunction[];
  bySelector: ReadonlyMap<string, AbiFunction>;
  byName: ReadonlyMap<string, readonly AbiFunction[]>;
  codec: Codec;
}

/** A mistake and where it is: `path` follows `functions`, such as `[3]`, or is `` for the whole ABI. */
interface AbiProblem {
  path: string;
  said: Said;
}

/** An ABI that cannot be used, with the place of each mistake. */
export class AbiProblemsError extends Error {
  readonly problems: readonly AbiProblem[];
  constructor(problems: readonly AbiProblem[]) {
    super(problems.map(({ path, said }) => `functions${path} ${said.sentence}`).join('; '));
    this.problems = problems;
  }
}

/** Maximum number of entries in one ABI, and of bytes in the fixed part of one function's arguments or outputs. */
const MAX_ENTRIES = 1_000;
const MAX_HEAD_BYTES = 10 * 1024 * 1024;
/** Maximum number of types in one function and in an ABI, with structs expanded: most operations visit each type. */
const MAX_FUNCTION_TYPES = 1_000;
const MAX_ABI_TYPES = 50_000;

/**
 * Reads a list of human-readable signatures, structs and JSON ABI entries, in any order, and computes the selectors.
 * @throws {AbiProblemsError} with every mistake
 */
export async function createAbi(entries: readonly unknown[]): Promise<AgentAbi> {
  const { definitions, problems } = definitionsOf(entries);
  if (problems.length > 0) throw new AbiProblemsError(problems);
  const codec = await loadCodec();
  const bySelector = new Map<string, AbiFunction>();
  const byName = new Map<string, AbiFunction[]>();
  for (const { path, definition } of definitions) {
    const made = functionOf(definition, codec);
    const same = bySelector.get(made.selector);
    if (same) {
      const { signature } = same;
      const code = signature === made.signature ? 'repeats' : 'same-selector';
      throw new AbiProblemsError([{ path, said: say(`abi-definition.${code}`, { signature }) }]);
    }
    bySelector.set(made.selector, made);
    byName.set(made.name, [...(byName.get(made.name) ?? []), made]);
  }
  return { functions: [...bySelector.values()], bySelector, byName, codec };
}

function definitionsOf(entries: readonly unknown[]) {
  const problems: AbiProblem[] = [];
  const definitions: Array<{ path: string; definition: FunctionDefinition }> = [];
  if (entries.length > MAX_ENTRIES) {
    const said = say('abi-definition.entries', { max: MAX_ENTRIES });
    return { definitions, problems: [{ path: '', said }] };
  }
  const noting = <T>(path: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AbiDefinitionError)) throw error;
      problems.push({ path, said: error.said });
      return undefined;
    }
  };
  const countOf = typeCounter();
  let types = 0;
  const texts = entries.filter(
    (entry): entry is string => typeof entry === 'string' && entry.length <= MAX_TEXT && isStruct(entry),
  );
  const structs = noting('', () => structsOf(texts));
  entries.forEach((entry, index) => {
    if (types > MAX_ABI_TYPES) return;
    const path = `[${index}]`;
    if (typeof entry === 'string' && entry.length <= MAX_TEXT && isStruct(entry)) return;
    const definition = noting(path, () => definitionOf(entry, structs, countOf));
    if (!definition) return;
    definitions.push({ path, definition });
    types += typesIn(definition, countOf);
  });
  if (types > MAX_ABI_TYPES)
    problems.push({ path: '', said: say('abi-definition.types', { max: MAX_ABI_TYPES }) });
  if (definitions.length === 0 && problems.length === 0) {
    problems.push({ path: '', said: say('field.some-function') });
  }
  return { definitions, problems };
}

function definitionOf(
  entry: unknown,
  structs: ReturnType<typeof structsOf> | undefined,
  countOf: (type: AbiType) => number,
) {
  let definition: FunctionDefinition | undefined;
  if (typeof entry === 'string' && entry.length > MAX_TEXT) {
    throw new AbiDefinitionError(say('field.max-chars', { max: MAX_TEXT }));
  }
  if (typeof entry === 'string') definition = isNoFunction(entry) ? undefined : parseFunction(entry, structs);
  else if (typeof entry === 'object' && entry !== null) definition = functionOfJson(entry);
  else throw new AbiDefinitionError(say('abi-definition.not-entry'));
  // Checked first, because the next checks visit each type.
  if (definition && typesIn(definition, countOf) > MAX_FUNCTION_TYPES) {
    throw new AbiDefinitionError(say('abi-definition.function-types', { max: MAX_FUNCTION_TYPES }));
  }
  for (const list of [definition?.inputs ?? [], definition?.outputs ?? []]) {
    const bytes = list.reduce((sum, { type }) => sum + headBytes(type), 0);
    if (bytes > MAX_HEAD_BYTES) throw new AbiDefinitionError(say('abi-definition.long-arrays'));
  }
  return definition;
}

function typesIn({ inputs, outputs }: FunctionDefinition, countOf: (type: AbiType) => number): number {
  return [...inputs, ...outputs].reduce((sum, { type }) => sum + countOf(type), 0);
}

function functionOf({ name, inputs, outputs }: FunctionDefinition, codec: Codec): AbiFunction {
  const signature = signatureOf(name, inputs);
  return {
    name,
    inputs,
    outputs,
    signature,
    selector: codec.selectorOf(signature),
    viemInputs: inputs.map(viemParameter),
  };
}

/** Canonical signature: types only, aliases resolved, tuples expanded. */
function signatureOf(name: string, inputs: readonly AbiParam[]): string {
  return `${name}(${inputs.map(({ type }) => typeText(type)).join(',')})`;
}

/**
 * Finds a function by its name, by its signature (parameter names and aliases such as `uint` are allowed) or by its selector.
 * @throws {AbiDefinitionError} there is no such function, or the name is overloaded
 */
export function findFunction(abi: AgentAbi, wanted: string): AbiFunction {
  const text = wanted.trim();
  if (/^0x[0-9a-f]{8}$/i.test(text)) {
    const found = abi.bySelector.get(text.toLowerCase());
    if (found) return found;
    throw new AbiDefinitionError(say('abi-definition.no-selector', { selector: text.toLowerCase() }));
  }
  if (text.includes('(')) {
    const { name, inputs } = parseFunction(text);
    const signature = signatureOf(name, inputs);
    const found = abi.functions.find((candidate) => candidate.signature === signature);
    if (found) return found;
    throw new AbiDefinitionError(say('abi-definition.no-function', { name: shortened(signature) }));
  }
  const named = abi.byName.get(text) ?? [];
  const [found, ...others] = named;
  if (found && others.length === 0) return found;
  if (!found)
    throw new AbiDefinitionError(say('abi-definition.no-function', { name: `'${shortened(text)}'` }));
  const forms = named.map(({ signature }) => signature).join(', ');
  throw new AbiDefinitionError(say('abi-definition.several-forms', { name: shortened(text), forms }));
}

/** Calldata: the selector and the encoded values. */
export function encodeCall(
  abi: AgentAbi,
  target: AbiFunction,
  values: Parameters<Codec['encode']>[1],
): Buffer {
  const encoded = abi.codec.encode(target.viemInputs, values);
  return Buffer.from(`${target.selector.slice(2)}${encoded.slice(2)}`, 'hex');
}

const MAX_DEPTH = 16;

/**
 * Parses an entry of a JSON ABI, `{type: 'function', name, inputs, outputs}`; undefined for an entry that is not a function
 * (an event, an error, a constructor).
 * @throws {AbiDefinitionError} a part is missing, of the wrong type or nested too deeply
 */
export function functionOfJson(entry: object): FunctionDefinition | undefined {
  const { type = 'function', name, inputs, outputs } = entry as Record<string, unknown>;
  if (type !== 'function') return undefined;
  if (typeof name !== 'string' || !/^[A-Za-z_$][\w$]{0,99}$/.test(name)) {
    throw new AbiDefinitionError(say('abi-definition.no-name'));
  }
  return {
    name,
    inputs: paramsOf(inputs, say('abi-definition.inputs-of', { name }), 0),
    outputs: paramsOf(outputs, say('abi-definition.outputs-of', { name }), 0),
  };
}

function paramsOf(list: unknown, what: Said, depth: number): AbiParam[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new AbiDefinitionError(say('abi-definition.not-array', { what }));
  if (depth > MAX_DEPTH)
    throw new AbiDefinitionError(say('abi-definition.depth', { what, levels: MAX_DEPTH }));
  return list.map((item: unknown, index) =>
    paramOf(item, say('abi-definition.number-of', { what, number: index + 1 }), depth),
  );
}

function paramOf(item: unknown, what: Said, depth: number): AbiParam {
  const {
    name = '',
    type,
    components,
  } = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof name !== 'string') {
    throw new AbiDefinitionError(say('abi-definition.not-param', { what, form: '{"name", "type"}' }));
  }
  const tuple = (word: string) => {
    if (word !== 'tuple') return undefined;
    const fields = paramsOf(components, say('abi-definition.components-of', { what }), depth + 1);
    if (fields.length === 0) throw new AbiDefinitionError(say('abi-definition.no-components', { what }));
    return { kind: 'tuple' as const, fields };
  };
  return { name, type: typeOf(type, tuple) };
}

/** A parsed function, before its selector is computed. */
interface FunctionDefinition {
  name: string;
  inputs: AbiParam[];
  outputs: AbiParam[];
}

/** Maximum number of characters in one signature or struct. */
const MAX_TEXT = 10_000;
const IDENTIFIER = /^[A-Za-z_$][\w$]{0,99}$/;
/** Solidity's keywords between the arguments of a function and `returns`, and between a type and a name. */
const MODIFIERS = new Set([
  'external',
  'public',
  'internal',
  'private',
  'view',
  'pure',
  'payable',
  'virtual',
  'nonpayable',
]);
const LOCATIONS = new Set(['memory', 'calldata', 'storage', 'payable', 'indexed']);

/** Finds a struct by its name. A struct is parsed at its first use, so their order does not matter. */
type StructLookup = (name: string) => AbiType | undefined;

/**
 * Parses `function add(uint256 a, uint256 b) returns (uint256 sum)`; the word `function`, names, data locations and
 * modifiers may be absent. Tuples are written `(string name, uint age) user` or `tuple(...)`, structs by their name.
 * @throws {AbiDefinitionError} a syntax error, an unknown type or a limit
 */
export function parseFunction(text: string, structs: StructLookup = () => undefined): FunctionDefinition {
  const reader = new Reader(text, structs);
  reader.take('function');
  const name = reader.identifier(say('abi-definition.a-name'));
  const inputs = reader.params();
  while (MODIFIERS.has(reader.peek())) reader.next();
  const outputs = reader.take('returns') ? reader.params() : [];
  reader.take(';');
  reader.end(say(outputs.length > 0 ? 'abi-definition.the-end' : 'abi-definition.returns-or-end'));
  return { name, inputs, outputs };
}

/** Whether the text is a part of a contract that is not a function: an event, an error, a constructor, a fallback. */
export function isNoFunction(text: string): boolean {
  return /^\s*(?:(?:event|error)\s+[A-Za-z_$][\w$]*\s*\(|(?:constructor|fallback|receive)\s*\()/.test(text);
}

/** Whether the text defines a struct. */
export function isStruct(text: string): boolean {
  return /^\s*struct\s/.test(text);
}

/**
 * Makes a lookup from texts such as `struct User { string name; uint age; }`.
 * @throws {AbiDefinitionError} a text is not a struct, or a name is defined twice; a mistake inside a struct is thrown at
 *   its first use
 */
export function structsOf(texts: readonly string[]): StructLookup {
  const bodies = new Map<string, string>();
  const known = new Map<string, AbiType>();
  const open = new Set<string>();
  for (const text of texts) {
    const match = /^struct\s+([A-Za-z_$][\w$]*)\s*\{([^{}]*)\}\s*;?$/.exec(text.trim());
    if (!match?.[1])
      throw new AbiDefinitionError(
        say('abi-definition.not-struct', { text: shortened(text), form: 'struct Name { type field; }' }),
      );
    if (bodies.has(match[1]))
      throw new AbiDefinitionError(say('abi-definition.struct-twice', { name: match[1] }));
    bodies.set(match[1], match[2] ?? '');
  }
  return function lookup(name) {
    const body = bodies.get(name);
    if (body === undefined) return undefined;
    const done = known.get(name);
    if (done) return done;
    if (open.has(name)) throw new AbiDefinitionError(say('abi-definition.struct-in-itself', { name }));
    open.add(name);
    try {
      const list = body.trim().replace(/;$/, '').replaceAll(';', ',');
      const reader = new Reader(`(${list})`, lookup);
      const fields = reader.params();
      reader.end();
      if (fields.length === 0) throw new AbiDefinitionError(say('abi-definition.empty-struct', { name }));
      const type: AbiType = { kind: 'tuple', fields };
      known.set(name, type);
      return type;
    } finally {
      open.delete(name);
    }
  };
}

class Reader {
  readonly #text: string;
  readonly #tokens: string[];
  readonly #structs: StructLookup;
  #at = 0;

  constructor(text: string, structs: StructLookup) {
    if (text.length > MAX_TEXT) throw new AbiDefinitionError(say('field.max-chars', { max: MAX_TEXT }));
    this.#text = text;
    this.#tokens = text.match(/[\w$]+|\[\s*(?:\d+\s*)?\]|[^\s]/g) ?? [];
    this.#structs = structs;
  }

  peek(): string {
    return this.#tokens[this.#at] ?? '';
  }

  next(): string {
    const token = this.peek();
    this.#at += 1;
    return token;
  }

  take(token: string): boolean {
    if (this.peek() !== token) return false;
    this.#at += 1;
    return true;
  }

  end(expected = say('abi-definition.the-end')): void {
    if (this.#at < this.#tokens.length) throw this.#unexpected(expected);
  }

  identifier(what: Said): string {
    if (!IDENTIFIER.test(this.peek())) throw this.#unexpected(what);
    return this.next();
  }

  params(depth = 0): AbiParam[] {
    if (depth > MAX_DEPTH)
      throw new AbiDefinitionError(
        say('abi-definition.depth', { what: say('abi-definition.tuples'), levels: MAX_DEPTH }),
      );
    if (!this.take('(')) throw this.#unexpected("'('");
    const params: AbiParam[] = [];
    if (this.take(')')) return params;
    do params.push(this.#param(depth));
    while (this.take(','));
    if (!this.take(')')) throw this.#unexpected(say('abi-definition.comma-or-end'));
    return params;
  }

  #param(depth: number): AbiParam {
    const hasWord = this.peek() === 'tuple' && this.next() !== '';
    let fields: AbiParam[] | undefined;
    let name = '';
    if (hasWord || this.peek() === '(') {
      fields = this.params(depth + 1);
      if (fields.length === 0) throw new AbiDefinitionError(say('abi-definition.empty-tuple'));
    } else {
      name = this.identifier(say('abi-definition.a-type'));
    }
    let brackets = '';
    while (this.peek().startsWith('[')) brackets += this.next().replace(/\s/g, '');
    const tuple = fields;
    const type = typeOf(`${name}${brackets}`, (word) =>
      tuple ? { kind: 'tuple', fields: tuple } : this.#structs(word),
    );
    while (LOCATIONS.has(this.peek())) this.next();
    return { type, name: IDENTIFIER.test(this.peek()) ? this.next() : '' };
  }

  #unexpected(expected: Said | string): AbiDefinitionError {
    const found =
      this.#at < this.#tokens.length ? `'${shortened(this.peek())}'` : say('abi-definition.the-end');
    const text = shortened(this.#text.trim());
    return new AbiDefinitionError(say('abi-definition.unexpected', { text, found, expected }));
  }
}

/**
 * Makes a function that counts the types within a type, with structs expanded. It visits each struct once, so a chain of
 * structs that each contain the previous one twice is counted in linear time.
 */
function typeCounter(): (type: AbiType) => number {
  const known = new Map<AbiType, number>();
  return function countOf(type: AbiType): number {
    if (type.kind === 'array') return 1 + countOf(type.item);
    if (type.kind !== 'tuple') return 1;
    const counted = known.get(type);
    if (counted !== undefined) return counted;
    const count = type.fields.reduce((sum, field) => sum + countOf(field.type), 1);
    known.set(type, count);
    return count;
  };
}
