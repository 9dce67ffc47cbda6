import { PHRASES } from '../../../../core/phrases.ts';
import {
  AbiDefinitionError,
  type AbiParam,
  type AbiType,
  type Codec,
  headBytes,
  loadCodec,
  shortened,
  typeCounter,
  typeOf,
  typeText,
  viemParameter,
} from './abi-type.ts';
import {
  type FunctionDefinition,
  isNoFunction,
  isStruct,
  MAX_TEXT,
  parseFunction,
  structsOf,
} from './human-readable.ts';

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
  message: string;
}

/** An ABI that cannot be used, with the place of each mistake. */
export class AbiProblemsError extends Error {
  readonly problems: readonly AbiProblem[];
  constructor(problems: readonly AbiProblem[]) {
    super(problems.map(({ path, message }) => `functions${path} ${message}`).join('; '));
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
      const message = same.signature === made.signature ? 'repeats' : 'has the same selector as';
      throw new AbiProblemsError([{ path, message: `${message} ${same.signature}` }]);
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
    return { definitions, problems: [{ path: '', message: `must have at most ${MAX_ENTRIES} entries` }] };
  }
  const noting = <T>(path: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AbiDefinitionError)) throw error;
      problems.push({ path, message: error.message });
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
    problems.push({ path: '', message: `must have at most ${MAX_ABI_TYPES} types in all` });
  if (definitions.length === 0 && problems.length === 0) {
    problems.push({ path: '', message: PHRASES['field.some-function'] });
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
    throw new AbiDefinitionError(`must have at most ${MAX_TEXT} characters`);
  }
  if (typeof entry === 'string') definition = isNoFunction(entry) ? undefined : parseFunction(entry, structs);
  else if (typeof entry === 'object' && entry !== null) definition = functionOfJson(entry);
  else throw new AbiDefinitionError('must be a signature or an entry of a JSON ABI');
  // Checked first, because the next checks visit each type.
  if (definition && typesIn(definition, countOf) > MAX_FUNCTION_TYPES) {
    throw new AbiDefinitionError(`has more than ${MAX_FUNCTION_TYPES} types, with structs expanded`);
  }
  for (const list of [definition?.inputs ?? [], definition?.outputs ?? []]) {
    const bytes = list.reduce((sum, { type }) => sum + headBytes(type), 0);
    if (bytes > MAX_HEAD_BYTES) throw new AbiDefinitionError('has arrays of a fixed length above 10 MB');
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
    throw new AbiDefinitionError(`names the selector ${text.toLowerCase()}, which no function has`);
  }
  if (text.includes('(')) {
    const { name, inputs } = parseFunction(text);
    const signature = signatureOf(name, inputs);
    const found = abi.functions.find((candidate) => candidate.signature === signature);
    if (found) return found;
    throw new AbiDefinitionError(`names ${shortened(signature)}, which is not among the functions`);
  }
  const named = abi.byName.get(text) ?? [];
  const [found, ...others] = named;
  if (found && others.length === 0) return found;
  if (!found) throw new AbiDefinitionError(`names '${shortened(text)}', which is not among the functions`);
  const forms = named.map(({ signature }) => signature).join(' or ');
  throw new AbiDefinitionError(
    `names '${shortened(text)}', of which there are several forms: write ${forms}`,
  );
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
    throw new AbiDefinitionError('needs the name of a function');
  }
  return {
    name,
    inputs: paramsOf(inputs, `${name}'s inputs`, 0),
    outputs: paramsOf(outputs, `${name}'s outputs`, 0),
  };
}

function paramsOf(list: unknown, what: string, depth: number): AbiParam[] {
  if (list === undefined) return [];
  if (!Array.isArray(list)) throw new AbiDefinitionError(`${what} must be an array`);
  if (depth > MAX_DEPTH) throw new AbiDefinitionError(`${what} are nested deeper than ${MAX_DEPTH} levels`);
  return list.map((item: unknown, index) => paramOf(item, `${what}, number ${index + 1},`, depth));
}

function paramOf(item: unknown, what: string, depth: number): AbiParam {
  const {
    name = '',
    type,
    components,
  } = (typeof item === 'object' && item !== null ? item : {}) as Record<string, unknown>;
  if (typeof type !== 'string' || typeof name !== 'string') {
    throw new AbiDefinitionError(`${what} must be {"name", "type"}`);
  }
  const tuple = (word: string) => {
    if (word !== 'tuple') return undefined;
    const fields = paramsOf(components, `${what} the components`, depth + 1);
    if (fields.length === 0) throw new AbiDefinitionError(`${what} is a tuple and needs components`);
    return { kind: 'tuple' as const, fields };
  };
  return { name, type: typeOf(type, tuple) };
}
