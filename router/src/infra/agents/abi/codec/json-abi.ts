import { AbiDefinitionError, type AbiParam, typeOf } from './abi-type.ts';
import type { FunctionDefinition } from './human-readable.ts';

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
