import type { AbiParam, AbiType, AbiValue } from '../codec/abi-type.ts';

/** Maximum number of characters of a list on one line. Lists of short numbers have no limit, because lines wrap at spaces. */
const MAX_LINE_CHARS = 60;
const MAX_NUMBER_CHARS = 20;

/** A value as one line of text or, when it does not fit, as several lines. */
export function block(type: AbiType, value: AbiValue): string {
  if (!Array.isArray(value)) return String(value);
  const line = inline(type, value);
  if (line !== undefined) return line;
  if (type.kind === 'tuple') return lines(type.fields, value).join('\n');
  if (type.kind !== 'array') return String(value);
  return value.map((item, index) => labelled(`${index + 1}.`, block(type.item, item), ' ')).join('\n');
}

/** A list of short plain values, separated by commas; undefined when each item needs a line. */
function inline(type: AbiType, value: AbiValue[]): string | undefined {
  if (value.length === 0) return '(none)';
  if (type.kind !== 'array') return undefined;
  const { kind } = type.item;
  const areNumbers = kind === 'uint' || kind === 'int' || kind === 'bool';
  if (areNumbers && value.every((item) => String(item).length <= MAX_NUMBER_CHARS)) return value.join(', ');
  if (value.length > MAX_LINE_CHARS / 2) return undefined;
  if (value.some((item) => Array.isArray(item) || /[\n,]/.test(String(item)))) return undefined;
  const line = value.join(', ');
  return line.length <= MAX_LINE_CHARS ? line : undefined;
}

/** One line for each field: `name: value`, or its number when it has no name; a longer value is indented below. */
export function lines(fields: readonly AbiParam[], values: readonly AbiValue[]): string[] {
  return fields.map(({ name, type }, index) =>
    labelled(`${name || index + 1}:`, block(type, values[index] as AbiValue), '\n'),
  );
}

/** `name: text`, or the label and the text indented under it (or after it, for a list's number). */
function labelled(label: string, text: string, separator: ' ' | '\n'): string {
  if (!text.includes('\n')) return `${label} ${text}`;
  const indented = text.replaceAll('\n', '\n  ');
  return separator === '\n' ? `${label}\n  ${indented}` : `${label} ${indented}`;
}
