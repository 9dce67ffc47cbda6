import { type AbiType, type AbiValue, areNamed } from '../codec/abi-type.ts';

/** Maximum number of items of a fixed array in an example; the rest is `…`. */
const MAX_SHOWN_ITEMS = 3;
/** Maximum number of characters of all values in one example. */
const MAX_EXAMPLE_CHARS = 500;

/**
 * An example value of the type: small numbers, true, `some words`; lists of two items, or of one item when it is a list or
 * a tuple. `index` makes numbers of neighbouring values differ.
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
      return Array.from({ length: type.length ?? itemsOf(type) }, (_, at) => exampleValue(type.item, at));
    }
    case 'tuple':
      return type.fields.map((field, at) => exampleValue(field.type, at));
  }
}

/** An example as JSON; a long fixed array, and an example that is too long in total, is cut with `…`. */
export function exampleJson(type: AbiType, index = 0, budget = { charsLeft: MAX_EXAMPLE_CHARS }): string {
  if (budget.charsLeft <= 0) return '…';
  switch (type.kind) {
    case 'array': {
      const wanted = type.length ?? itemsOf(type);
      const shown = Math.min(wanted, MAX_SHOWN_ITEMS);
      const items = Array.from({ length: shown }, (_, at) => exampleJson(type.item, at, budget));
      if (wanted > shown) items.push('…');
      return `[${items.join(', ')}]`;
    }
    case 'tuple': {
      const values = type.fields.map((field, at) => exampleJson(field.type, at, budget));
      if (!areNamed(type.fields)) return `[${values.join(', ')}]`;
      return `{${type.fields.map(({ name }, at) => `"${name}": ${values[at]}`).join(', ')}}`;
    }
    default: {
      const value = String(exampleValue(type, index));
      const isBare = type.kind === 'uint' || type.kind === 'int' || type.kind === 'bool';
      budget.charsLeft -= value.length;
      return isBare ? value : `"${value}"`;
    }
  }
}

/** How many items an example of a list without a length has. */
function itemsOf({ item }: AbiType & { kind: 'array' }): number {
  return item.kind === 'array' || item.kind === 'tuple' ? 1 : 2;
}
