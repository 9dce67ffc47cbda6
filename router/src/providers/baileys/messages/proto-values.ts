import { cleanText } from '../../../core/text.ts';

/** A part of a message, of any version and origin: nothing about its fields is certain. */
export type Node = Record<string, unknown>;

/** WhatsApp's apps accept 65,536 typed characters; wa2ai stores four times that and cuts off the rest. */
const MAX_TEXT_CHARS = 262_144;

/** Longest name of a person, a group or a place that is stored. */
export const MAX_NAME_CHARS = 200;

/**
 * A string that every store accepts: no NUL (PostgreSQL rejects it), no half of a surrogate pair, not longer than
 * `maxChars`; '' for anything but a string.
 */
export function words(value: unknown, maxChars = MAX_TEXT_CHARS): string {
  if (typeof value !== 'string') return '';
  const cut = value.length > maxChars ? value.slice(0, maxChars) : value;
  return cleanText(cut);
}

export function object(value: unknown): Node | undefined {
  return typeof value === 'object' && value !== null ? (value as Node) : undefined;
}

/** A 64-bit number of a protobuf in any of its forms; undefined when there is none. */
export function wholeNumber(value: unknown): number | undefined {
  const { low, high } = object(value) ?? {};
  const halves = typeof low === 'number' ? (low >>> 0) + Number(high ?? 0) * 2 ** 32 : undefined;
  const size = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : (halves ?? value);
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : undefined;
}

/** A property of a value of any type; undefined when the value is not an object or has no such property. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
