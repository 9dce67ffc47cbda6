import type { AbiFunction } from './abi-signature.ts';
import { type AbiParam, type AbiType, areNamed, typeText } from './abi-type.ts';
import { expectation } from './abi-value.ts';

/** What a chat shows for `/help`: every function with its arguments and types. */
export function commandList(functions: readonly AbiFunction[]): string {
  const lines = functions.map((target) => {
    const inputs = target.inputs.map((input, index) => `${nameOf(input, index)}: ${typeText(input.type)}`);
    return `/${target.name}${inputs.length > 0 ? ` ${inputs.join(', ')}` : ''}`;
  });
  const first = functions[0]?.name ?? '';
  return `You can write:\n${lines.join('\n')}\n/help ${first} tells more.`;
}

/** What a chat shows for `/help add`: each argument in words, what comes back, and an example. */
export function functionHelp(target: AbiFunction): string {
  const inputs = target.inputs.map((input, index) => `${nameOf(input, index)}: ${expectation(input.type)}`);
  const outputs = target.outputs.map(({ name, type }) =>
    name ? `${name}: ${typeText(type)}` : typeText(type),
  );
  return [
    `/${target.name}`,
    ...(inputs.length > 0 ? inputs.map((line) => `• ${line}`) : ['• no arguments']),
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

function word(type: AbiType, index: number, count: number): string {
  const example = exampleOf(type, index);
  if (type.kind !== 'string') return example;
  return index === count - 1 ? 'some words' : '"some words"';
}

function exampleOf(type: AbiType, index: number): string {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return String(index + 1);
    case 'bool':
      return 'true';
    case 'address':
      return `0x${'00'.repeat(19)}01`;
    case 'string':
      return '"some words"';
    case 'bytes':
      return '0x1234';
    case 'fixedBytes':
      return `0x${'12'.repeat(type.size)}`;
    case 'array': {
      const items = Array.from({ length: Math.min(type.length ?? 2, 3) }, (_, at) =>
        exampleOf(type.item, at),
      );
      return `[${items.join(', ')}${(type.length ?? 2) > 3 ? ', …' : ''}]`;
    }
    case 'tuple': {
      const values = type.fields.map((field, at) => exampleOf(field.type, at));
      if (!areNamed(type.fields)) return `[${values.map(quoted).join(', ')}]`;
      return `{${type.fields.map((field, at) => `"${field.name}": ${quoted(values[at] ?? '')}`).join(', ')}}`;
    }
  }
}

/** JSON needs quotes around hex. */
function quoted(example: string): string {
  return example.startsWith('0x') ? `"${example}"` : example;
}
