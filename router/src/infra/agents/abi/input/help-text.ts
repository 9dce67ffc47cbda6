import type { AbiFunction } from '../codec/abi-signature.ts';
import { type AbiParam, type AbiType, namedTypeText } from '../codec/abi-type.ts';
import { exampleJson, exampleValue } from './abi-example.ts';
import { expectation } from './describe-type.ts';

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
