import fc from 'fast-check';

/** Code points that no character has: halves of a pair. */
const SURROGATES = { first: 0xd800, count: 0x800 };

/** Any code point; fast-check's own lists all 1.1 million of them before the first text, in two seconds. */
export const anyCharacter = fc
  .nat({ max: 0x10ffff - SURROGATES.count })
  .map((n) => String.fromCodePoint(n < SURROGATES.first ? n : n + SURROGATES.count), numberOf);

/** Texts of any characters, with control characters and NUL among them, without halves of surrogate pairs. */
export function anyText(maxLength?: number): fc.Arbitrary<string> {
  return fc.string({ unit: anyCharacter, maxLength });
}

function numberOf(value: unknown): number {
  const code = typeof value === 'string' ? value.codePointAt(0) : undefined;
  if (code === undefined || String.fromCodePoint(code) !== value) throw new Error('not one character');
  if (code < SURROGATES.first) return code;
  if (code < SURROGATES.first + SURROGATES.count) throw new Error('half a pair');
  return code - SURROGATES.count;
}
