import { type AbiParam, type AbiType, type AbiValue, areNamed } from './abi-type.ts';
import { type OutputTemplate, renderTemplate } from './output-template.ts';
import { block, lines } from './value-text.ts';

/** WhatsApp shows no more characters of one message. */
const MAX_REPLY_CHARS = 65_536;
/** In the message log a text or bytes value is cut here, and a list after so many items. */
const MAX_LOGGED_CHARS = 2_000;
const MAX_LOGGED_ITEMS = 100;

/**
 * The reply for a function's outputs: one text is the reply itself, several outputs go by name, a line each. Numbers are
 * exact and bytes are hex. Undefined when the function has no outputs. A reply too long for WhatsApp is cut, and says so.
 */
export function renderOutputs(
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
  template?: OutputTemplate,
): string | undefined {
  if (template) return cut(renderTemplate(template, outputs, values));
  const [first] = outputs;
  if (!first) return undefined;
  if (outputs.length === 1) return cut(block(first.type, values[0] as AbiValue));
  return cut(lines(outputs, values).join('\n'));
}

function cut(reply: string): string {
  if (reply.length <= MAX_REPLY_CHARS) return reply;
  const note = `\n… (cut: the whole answer has ${reply.length} characters)`;
  return `${reply.slice(0, MAX_REPLY_CHARS - note.length).replace(/[\ud800-\udbff]$/, '')}${note}`;
}

/** Values as JSON for the message log and the explain call: by name where all have one, numbers as text, bounded. */
export function readable(params: readonly AbiParam[], values: readonly AbiValue[]): unknown {
  const shown = params.map(({ type }, index) => readableValue(type, values[index] as AbiValue));
  return areNamed(params) ? Object.fromEntries(params.map(({ name }, index) => [name, shown[index]])) : shown;
}

function readableValue(type: AbiType, value: AbiValue): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') {
    if (value.length <= MAX_LOGGED_CHARS) return value;
    return `${value.slice(0, MAX_LOGGED_CHARS)}… (${value.length} characters)`;
  }
  if (!Array.isArray(value)) return value;
  if (type.kind === 'tuple') return readable(type.fields, value);
  if (type.kind !== 'array') return value;
  const items = value.slice(0, MAX_LOGGED_ITEMS).map((item) => readableValue(type.item, item));
  return value.length > MAX_LOGGED_ITEMS ? [...items, `… (${value.length} items)`] : items;
}
