import { createRequire } from 'node:module';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  fastVerification,
  SignatureError,
  useFastVerification,
  WHATSAPP_ROOT_KEY,
} from '../../../../../router/src/providers/baileys/signal/fast-crypto.ts';

const curve = createRequire(import.meta.url)('libsignal/src/curve.js');
const original = curve.verifySignature;
const message = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });

/** A key pair as libsignal makes them: the private key is clamped. */
function keyPair(random: Uint8Array): { pubKey: Buffer; privKey: Buffer } {
  const privKey = Buffer.from(random);
  privKey[0] = (privKey[0] ?? 0) & 248;
  privKey[31] = ((privKey[31] ?? 0) & 127) | 64;
  return { pubKey: curve.getPublicFromPrivateKey(privKey), privKey };
}

afterEach(() => {
  curve.verifySignature = original;
});

describe('fastVerification', () => {
  const refusing = fastVerification(() => false);

  it('accepts every signature of libsignal without asking it', () => {
    fc.assert(
      fc.property(fc.noShrink(seed), message, (random, text) => {
        const { pubKey, privKey } = keyPair(random);
        expect(refusing(pubKey, text, curve.calculateSignature(privKey, text))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  it('accepts no signature of another message or key, nor one with a changed bit', () => {
    fc.assert(
      fc.property(fc.noShrink(seed), message, fc.integer({ min: 0, max: 511 }), (random, text, bit) => {
        const { pubKey, privKey } = keyPair(random);
        const signature = curve.calculateSignature(privKey, text);
        const changed = Buffer.from(signature);
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        const other = Buffer.concat([text, Buffer.from([1])]);
        expect(refusing(pubKey, text, changed)).toBe(false);
        expect(refusing(pubKey, other, signature)).toBe(false);
        expect(refusing(curve.generateKeyPair().pubKey, text, signature)).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it("gives libsignal's result for any bytes, also those of no point of the curve", () => {
    const fast = fastVerification(original);
    const special = fc.constantFrom(0, 1, 236, 237, 238).map((first) => {
      const bytes = new Uint8Array(32).fill(first < 2 ? 0 : 255);
      bytes[0] = first;
      return bytes;
    });
    const signature = fc.uint8Array({ minLength: 64, maxLength: 64 });
    fc.assert(
      fc.property(fc.oneof(seed, special), message, signature, (point, text, bytes) => {
        const publicKey = Buffer.concat([Buffer.from([5]), point]);
        const [own, theirs] = [fast, original].map((each) => each(publicKey, text, Buffer.from(bytes)));
        expect(own).toBe(theirs);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['a key without its type', Buffer.alloc(32), Buffer.alloc(64), undefined],
    ['a short signature', Buffer.alloc(33, 5), Buffer.alloc(63), undefined],
    ['what need not be verified', Buffer.alloc(33, 5), Buffer.alloc(64), true],
  ])('leaves %s to libsignal', (_, publicKey, signature, isInit) => {
    const libsignal = vi.fn(() => true);
    const text = Buffer.from('text');
    expect(fastVerification(libsignal)(publicKey, text, signature, isInit)).toBe(true);
    expect(libsignal).toHaveBeenCalledExactlyOnceWith(publicKey, text, signature, isInit);
  });
});

describe('useFastVerification', () => {
  it('replaces the function that libsignal calls, once', () => {
    useFastVerification(true);
    const fast = curve.verifySignature;
    expect(fast).not.toBe(original);
    useFastVerification(true);
    expect(curve.verifySignature).toBe(fast);
  });

  it('throws for a wrong signature, except for the root key of a server that is not WhatsApp', async () => {
    const { DEFAULT_CONNECTION_CONFIG: _, ...defaults } = await import(
      '@whiskeysockets/baileys/lib/Defaults/index.js'
    );
    expect(defaults.WA_CERT_DETAILS.PUBLIC_KEY.toString('hex')).toBe(WHATSAPP_ROOT_KEY);
    const { privKey } = keyPair(Buffer.alloc(32, 1));
    const { pubKey } = keyPair(Buffer.alloc(32, 2));
    const root = Buffer.from(`05${WHATSAPP_ROOT_KEY}`, 'hex');
    const text = Buffer.from('text');
    const signature = Buffer.from(curve.calculateSignature(privKey, text));
    for (const isWhatsApp of [true, false]) {
      curve.verifySignature = original;
      useFastVerification(isWhatsApp);
      const verify = (key: Buffer) => () => curve.verifySignature(key, text, signature);
      expect(verify(pubKey)).toThrow(SignatureError);
      if (isWhatsApp) expect(verify(root)).toThrow(SignatureError);
      else expect(verify(root)()).toBe(false);
      expect(curve.verifySignature(curve.getPublicFromPrivateKey(privKey), text, signature)).toBe(true);
    }
  });

  it('refuses a libsignal without it', () => {
    curve.verifySignature = undefined;
    expect(() => useFastVerification(true)).toThrow("libsignal's curve.js has no verifySignature");
  });
});
