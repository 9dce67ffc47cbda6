import { AbiDefinitionError, type AbiParam, type AbiType, shortened, typeOf } from './abi-type.ts';

/** A parsed function, before its selector is computed. */
export interface FunctionDefinition {
  name: string;
  inputs: AbiParam[];
  outputs: AbiParam[];
}

/** Maximum number of characters in one signature or struct. */
export const MAX_TEXT = 10_000;
const MAX_DEPTH = 16;
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
  const name = reader.identifier('a name for the function');
  const inputs = reader.params();
  while (MODIFIERS.has(reader.peek())) reader.next();
  const outputs = reader.take('returns') ? reader.params() : [];
  reader.take(';');
  reader.end(outputs.length > 0 ? 'the end' : "'returns' or the end");
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
      throw new AbiDefinitionError(`'${shortened(text)}' is not a struct: struct Name { type field; }`);
    if (bodies.has(match[1])) throw new AbiDefinitionError(`struct ${match[1]} is defined twice`);
    bodies.set(match[1], match[2] ?? '');
  }
  return function lookup(name) {
    const body = bodies.get(name);
    if (body === undefined) return undefined;
    const done = known.get(name);
    if (done) return done;
    if (open.has(name)) throw new AbiDefinitionError(`struct ${name} contains itself`);
    open.add(name);
    try {
      const list = body.trim().replace(/;$/, '').replaceAll(';', ',');
      const reader = new Reader(`(${list})`, lookup);
      const fields = reader.params();
      reader.end();
      if (fields.length === 0) throw new AbiDefinitionError(`struct ${name} has no fields`);
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
    if (text.length > MAX_TEXT) throw new AbiDefinitionError(`must have at most ${MAX_TEXT} characters`);
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

  end(expected = 'the end'): void {
    if (this.#at < this.#tokens.length) throw this.#unexpected(expected);
  }

  identifier(what: string): string {
    if (!IDENTIFIER.test(this.peek())) throw this.#unexpected(what);
    return this.next();
  }

  params(depth = 0): AbiParam[] {
    if (depth > MAX_DEPTH) throw new AbiDefinitionError(`tuples are nested deeper than ${MAX_DEPTH} levels`);
    if (!this.take('(')) throw this.#unexpected("'('");
    const params: AbiParam[] = [];
    if (this.take(')')) return params;
    do params.push(this.#param(depth));
    while (this.take(','));
    if (!this.take(')')) throw this.#unexpected("',' or ')'");
    return params;
  }

  #param(depth: number): AbiParam {
    const hasWord = this.peek() === 'tuple' && this.next() !== '';
    let fields: AbiParam[] | undefined;
    let name = '';
    if (hasWord || this.peek() === '(') {
      fields = this.params(depth + 1);
      if (fields.length === 0) throw new AbiDefinitionError('a tuple needs at least one field');
    } else {
      name = this.identifier('a type');
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

  #unexpected(expected: string): AbiDefinitionError {
    const found = this.#at < this.#tokens.length ? `'${shortened(this.peek())}'` : 'the end';
    return new AbiDefinitionError(`'${shortened(this.#text.trim())}' has ${found} where ${expected} belongs`);
  }
}
