import { type AbiType, type AbiValue, areNamed } from '../codec/abi-type.ts';

/** Items of a fixed array that an example shows before it goes on with `…`. */
const MAX_SHOWN_ITEMS = 3;

/**
 * A harmless value of the type: small numbers, true, `some words`; lists of two items, or of one when an item is itself a
 * list or a tuple. `index` makes neighbours differ.
 */
export function exampleValue(type: AbiType, index = 0): AbiValue {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return BigInt((index % 9) + 1);
    case 'bool':
      return true;
    case 'address':
      return `0x${'00'.repeat(19)}01`;
    case 'string':
      return 'some words';
    case 'bytes':
      return '0x1234';
    case 'fixedBytes':
      return `0x${'12'.repeat(type.size)}`;
    case 'array': {
      const isFlat = type.item.kind !== 'array' && type.item.kind !== 'tuple';
      return Array.from({ length: type.length ?? (isFlat ? 2 : 1) }, (_, at) => exampleValue(type.item, at));
    }
    case 'tuple':
      return type.fields.map((field, at) => exampleValue(field.type, at));
  }
}

/** An example as JSON, as a person may type it; a long fixed array ends with `…`. */
export function exampleJson(type: AbiType, index = 0): string {
  switch (type.kind) {
    case 'array': {
      const length = Math.min(type.length ?? Number.POSITIVE_INFINITY, MAX_SHOWN_ITEMS);
      const shown = { ...type, ...(type.length !== undefined && { length }) };
      const items = (exampleValue(shown) as AbiValue[]).map((_, at) => exampleJson(type.item, at));
      if ((type.length ?? 0) > MAX_SHOWN_ITEMS) items.push('…');
      return `[${items.join(', ')}]`;
    }
    case 'tuple': {
      const values = type.fields.map((field, at) => exampleJson(field.type, at));
      if (!areNamed(type.fields)) return `[${values.join(', ')}]`;
      return `{${type.fields.map(({ name }, at) => `"${name}": ${values[at]}`).join(', ')}}`;
    }
    case 'uint':
    case 'int':
    case 'bool':
      return String(exampleValue(type, index));
    default:
      return `"${exampleValue(type, index)}"`;
  }
}
