import { createRequire } from 'node:module';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  fastAgreement,
  useFastAgreement,
} from '../../../../../router/src/providers/baileys/signal/fast-crypto.ts';

const curve = createRequire(import.meta.url)('libsignal/src/curve.js');
const original = curve.calculateAgreement;
const keyBytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

afterEach(() => {
  curve.calculateAgreement = original;
});

describe('fastAgreement', () => {
  it("returns libsignal's secret for any keys, also where libsignal refuses", () => {
    const fast = fastAgreement(() => expect.unreachable());
    const outcome = (agree: typeof fast, publicKey: Buffer, privateKey: Buffer) => {
      try {
        return agree(publicKey, privateKey).toString('hex');
      } catch {
        return 'refused';
      }
    };
    const lowOrder = fc.constantFrom(0, 1).map((first) => Buffer.from([first, ...new Uint8Array(31)]));
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: keyBytes }, lowOrder), keyBytes, (point, privateKey) => {
        const publicKey = Buffer.concat([Buffer.from([5]), point]);
        expect(outcome(fast, publicKey, privateKey)).toBe(outcome(original, publicKey, privateKey));
      }),
    );
  });

  it('gives both sides the same secret', () => {
    const fast = fastAgreement(() => expect.unreachable());
    const [ours, theirs] = [curve.generateKeyPair(), curve.generateKeyPair()];
    expect(fast(theirs.pubKey, ours.privKey)).toEqual(fast(ours.pubKey, theirs.privKey));
  });

  it.each([
    ['a public key without its type', Buffer.alloc(32), Buffer.alloc(32)],
    ['a public key of another type', Buffer.alloc(33), Buffer.alloc(32)],
    ['a short private key', Buffer.alloc(33, 5), Buffer.alloc(31)],
    ['keys that are no Buffers', new Uint8Array(33).fill(5), new Uint8Array(32)],
  ])('leaves %s to libsignal', (_, publicKey, privateKey) => {
    const libsignal = vi.fn(() => Buffer.from('of libsignal'));
    expect(fastAgreement(libsignal)(publicKey, privateKey).toString()).toBe('of libsignal');
    expect(libsignal).toHaveBeenCalledExactlyOnceWith(publicKey, privateKey);
  });
});

describe('useFastAgreement', () => {
  it('replaces the function that libsignal calls, once', () => {
    useFastAgreement();
    const fast = curve.calculateAgreement;
    expect(fast).not.toBe(original);
    useFastAgreement();
    expect(curve.calculateAgreement).toBe(fast);
  });

  it('refuses a libsignal without it', () => {
    curve.calculateAgreement = undefined;
    expect(() => useFastAgreement()).toThrow("libsignal's curve.js has no calculateAgreement");
  });
});
