import { block, lines, type OutputTemplate, renderTemplate } from '../output/output-template.ts';
import { type AbiParam, type AbiType, type AbiValue, areNamed } from './abi-type.ts';

/** Maximum number of characters that WhatsApp shows of one message. */
const MAX_REPLY_CHARS = 65_536;
/** In the message log a text or bytes value is cut here, and a list after so many items. */
const MAX_LOGGED_CHARS = 2_000;
const MAX_LOGGED_ITEMS = 100;
const MAX_LOGGED_TOTAL = 50_000;

/**
 * The reply for a function's outputs: one text is the reply itself, several outputs are shown one per line, with their
 * names. Numbers are exact and bytes are hex. Undefined when the function has no outputs. A reply that is too long for
 * WhatsApp is cut and ends with a note.
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

/**
 * Values as JSON for the message log and the explain call: by name where all have one, numbers as text. Long values are
 * cut, and after 50,000 characters in total each further value is `…`.
 */
export function readable(params: readonly AbiParam[], values: readonly AbiValue[]): unknown {
  return shownFields(params, values, { charsLeft: MAX_LOGGED_TOTAL });
}

interface Budget {
  charsLeft: number;
}

function shownFields(params: readonly AbiParam[], values: readonly AbiValue[], budget: Budget): unknown {
  const shown = params.map(({ type }, index) => shownValue(type, values[index] as AbiValue, budget));
  return areNamed(params) ? Object.fromEntries(params.map(({ name }, index) => [name, shown[index]])) : shown;
}

function shownValue(type: AbiType, value: AbiValue, budget: Budget): unknown {
  if (budget.charsLeft <= 0) return '…';
  if (Array.isArray(value)) {
    budget.charsLeft -= 2;
    if (type.kind === 'tuple') return shownFields(type.fields, value, budget);
    if (type.kind !== 'array') return value;
    const items = value.slice(0, MAX_LOGGED_ITEMS).map((item) => shownValue(type.item, item, budget));
    return value.length > MAX_LOGGED_ITEMS ? [...items, `… (${value.length} items)`] : items;
  }
  if (typeof value === 'boolean') return value;
  const text = String(value);
  budget.charsLeft -= Math.min(text.length, MAX_LOGGED_CHARS);
  if (text.length <= MAX_LOGGED_CHARS) return text;
  return `${text.slice(0, MAX_LOGGED_CHARS)}… (${text.length} characters)`;
}
