import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOpusFile } from '../../../../router/src/core/delivery/agent-file.ts';
import { loud, opusFile, quiet } from '../../../support/sounds.ts';

describe('readOpusFile', () => {
  it('tells the length, and a waveform that is high where the packets are long', () => {
    const details = readOpusFile(opusFile([...quiet(100), ...loud(100)]));
    expect(details?.seconds).toBe(4);
    const waveform = [...(details?.waveform ?? [])];
    expect(waveform).toHaveLength(64);
    expect(waveform.slice(0, 31).every((bar) => bar === 0)).toBe(true);
    expect(waveform.slice(33).every((bar) => bar === 100)).toBe(true);
  });

  it('has at least a second, and a flat line for a constant bit rate', () => {
    expect(readOpusFile(opusFile(quiet(3)))).toEqual({ seconds: 1, waveform: new Uint8Array(64) });
  });

  it('reads a part of a larger buffer', () => {
    const file = opusFile();
    const inside = Buffer.concat([Buffer.alloc(7), file, Buffer.alloc(7)]);
    expect(readOpusFile(inside.subarray(7, 7 + file.length))?.seconds).toBe(2);
  });

  it.each<[string, Uint8Array]>([
    ['another file', Buffer.from('ID3 and more text than a page header has')],
    ['a file that is cut', opusFile().subarray(0, 700)],
    ['a file without sound', opusFile([])],
    ['nothing', new Uint8Array()],
  ])('is undefined for %s', (_name, bytes) => {
    expect(readOpusFile(bytes)).toBeUndefined();
  });

  it('never throws, whatever the bytes are', () => {
    const file = opusFile(quiet(20));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { maxLength: 20 }), (changes) => {
        const broken = Buffer.from(file);
        for (const [at, byte] of changes) broken[at] = byte;
        const details = readOpusFile(broken);
        if (!details) return;
        expect(details.seconds).toBeGreaterThanOrEqual(1);
        expect([...details.waveform].every((bar) => bar >= 0 && bar <= 100)).toBe(true);
      }),
    );
  });
});
