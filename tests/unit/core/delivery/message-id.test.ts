import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mintWaMessageId } from '../../../../router/src/core/delivery/send-message.ts';

describe('mintWaMessageId', () => {
  it('has the form of the ids that Baileys creates', () => {
    expect(mintWaMessageId(new Uint8Array([0, 1, 15, 16, 127, 128, 254, 255, 9]))).toBe(
      '3EB000010F107F80FEFF09',
    );
  });

  it('keeps every random bit', () => {
    const bytes = fc.uint8Array({ minLength: 9, maxLength: 9 });
    fc.assert(
      fc.property(bytes, (random) => {
        const id = mintWaMessageId(random);
        expect(id).toMatch(/^3EB0[0-9A-F]{18}$/);
        expect(Uint8Array.from(Buffer.from(id.slice(4), 'hex'))).toEqual(random);
      }),
    );
  });

  it('refuses another number of bytes', () => {
    expect(() => mintWaMessageId(new Uint8Array(8))).toThrow(RangeError);
  });
});
