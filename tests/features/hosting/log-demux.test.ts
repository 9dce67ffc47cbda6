import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogDemux } from '../../../router/src/features/hosting/docker-engine.ts';

function frame(stream: 1 | 2, text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

describe('LogDemux', () => {
  it('returns the same lines however the stream is cut into chunks', () => {
    const part = fc.record({
      stream: fc.constantFrom(1 as const, 2 as const),
      text: fc.string({ unit: fc.constantFrom('a', 'ü', '\n', '\r\n', ' ') }),
    });
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat(20), { minLength: 1 }), (parts, cuts) => {
        const data = Buffer.concat(parts.map(({ stream, text }) => frame(stream, text)));
        const whole = new LogDemux();
        const expected = [...whole.push(data), ...whole.end()];
        const demux = new LogDemux();
        const lines = [];
        for (let at = 0, cut = 0; at < data.length; cut++) {
          const size = 1 + (cuts[cut % cuts.length] ?? 0);
          lines.push(...demux.push(data.subarray(at, at + size)));
          at += size;
        }
        expect([...lines, ...demux.end()]).toEqual(expected);
        for (const [stream, name] of [
          [1, 'stdout'],
          [2, 'stderr'],
        ] as const) {
          const text = parts.filter((each) => each.stream === stream).map((each) => each.text);
          const own = text.join('').split('\n');
          if (own.at(-1) === '') own.pop();
          const read = expected.filter((line) => line.stream === name).map((line) => line.text);
          expect(read).toEqual(own.map((line) => line.replace(/\r$/, '')));
        }
      }),
    );
  });

  it('cuts a line that has no end', () => {
    const demux = new LogDemux();
    for (let part = 0; part < 10; part++) demux.push(frame(1, 'x'.repeat(10_000)));
    const [line] = demux.end();
    expect(line?.text.length).toBe(16 * 1024);
  });
});
