import { createHash } from 'node:crypto';
import { cleanText } from '../../../core/clean-text.ts';

/** An index entry of PostgreSQL has at most 2,704 bytes; WhatsApp's own ids have 16 to 32 characters. */
const MAX_ID_CHARS = 256;

/** `cleanText` of an optional text; null if absent. */
export function storableOrNull(text: string | undefined): string | null {
  return text === undefined ? null : cleanText(text);
}

/** An id that fits into an index: a longer one becomes its start and a hash, always the same. */
export function storableId(id: string): string {
  const text = cleanText(id);
  if (text.length <= MAX_ID_CHARS) return text;
  return `${text.slice(0, 32)}:${createHash('sha256').update(text).digest('hex')}`;
}

/** A value as text of a jsonb column; null when absent. */
export function storableJson(value: object): string;
export function storableJson(value: unknown): string | null;
export function storableJson(value: unknown): string | null {
  if (value === undefined) return null;
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? cleanText(part) : part));
}

/** Row ids are strings outside the database; undefined if the text cannot be one. */
export function rowId(id: string): bigint | undefined {
  return /^\d{1,18}$/.test(id) ? BigInt(id) : undefined;
}
