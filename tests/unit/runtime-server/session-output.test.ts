import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SessionOutput, withoutEscapes } from '../../../runtime-server/session-output.ts';
import { decodeText } from '../../../runtime-server/text-decoder.ts';

const SECRET = '0123456789abcdef0123456789abcdef';
const markOf = (number: number, code: number) => Buffer.from(`\x1e${SECRET} ${number} ${code}\x1e`);

/** Cuts bytes at these positions, as a pipe may. */
function chunksOf(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, index) => bytes.subarray(from, at[index] ?? bytes.length));
}

/** Output of programs: any bytes, and pieces that look like marks and escape sequences. */
const output = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom('\x1e', `\x1e${SECRET}`, `\x1e${SECRET} 1`, '\x1b[31m', '\r\n', 'ü😀', '\0')
        .map((text) => Buffer.from(text)),
    ),
    { maxLength: 8 },
  )
  .map((parts) => Buffer.concat(parts));

describe('SessionOutput', () => {
  it('divides any output at the marks, however the bytes arrive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(output, fc.nat(255)), { minLength: 1, maxLength: 5 }),
        fc.array(fc.nat(10_000), { maxLength: 12 }),
        (commands, cuts) => {
          // bytes of a character that a mark interrupts are not characters
          const bytes = Buffer.concat(
            commands.flatMap(([text, code], index) => [text, markOf(index + 1, code)]),
          );
          const session = new SessionOutput(SECRET);
          const marks = chunksOf(bytes, cuts).flatMap((chunk) => session.add(chunk));
          expect(marks).toEqual(
            commands.map(([text, code], index) => ({
              number: index + 1,
              exitCode: code,
              text: decodeText(text),
            })),
          );
          expect(session.take()).toBe('');
        },
      ),
      { numRuns: 500 },
    );
  });

  it('keeps text after the last mark for the next command', () => {
    const session = new SessionOutput(SECRET);
    expect(session.add(Buffer.concat([markOf(1, 0), Buffer.from('from the background')]))).toHaveLength(1);
    expect(session.add(markOf(2, 0))).toEqual([{ number: 2, exitCode: 0, text: 'from the background' }]);
  });

  it('takes a mark with another secret for text', () => {
    const session = new SessionOutput(SECRET);
    const other = `\x1e${'f'.repeat(32)} 1 0\x1e`;
    expect(session.add(Buffer.from(other))).toEqual([]);
    expect(session.take()).toBe(other);
  });

  it('finds the first match of several patterns and removes it', () => {
    const session = new SessionOutput(SECRET);
    session.add(Buffer.from('one two three'));
    expect(session.expect([/three/, /two/])).toEqual({ index: 1, text: 'one ' });
    expect(session.expect([/nothing/])).toBeUndefined();
    expect(session.take()).toBe(' three');
  });

  it('keeps the beginning and the end of output without limit', () => {
    const session = new SessionOutput(SECRET);
    session.add(Buffer.from('first\n'));
    const line = Buffer.alloc(1024 * 1024, 'x');
    for (let count = 0; count < 80; count++) session.add(line);
    const [mark] = session.add(Buffer.concat([Buffer.from('\nlast'), markOf(1, 0)]));
    const text = mark?.text ?? '';
    expect(text.startsWith('first\n')).toBe(true);
    expect(text.endsWith('\nlast')).toBe(true);
    expect(text).toMatch(/\n\[\.\.\. \d+ characters omitted \.\.\.\]\n/);
    expect(text.length).toBeLessThan(60 * 1024 * 1024);
  });
});

describe('withoutEscapes', () => {
  it('removes escape sequences and nothing else', () => {
    expect(withoutEscapes('\x1b[1;31mred\x1b[0m \x1b[Kplain [x]')).toBe('red plain [x]');
  });
});
