import { createPrivateKey, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';
import { createRequire } from 'node:module';
import { UnsupportedBaileysError } from '../../../core/errors.ts';

/** A shared secret of 32 bytes from a public key (33 bytes, the first 5) and a private key (32 bytes). */
type Agreement = (publicKey: Uint8Array, privateKey: Uint8Array) => Buffer;

/** OpenSSL derives the public key from the private one and ignores this field, which a JWK must have. */
const UNUSED = Buffer.alloc(32).toString('base64url');
const KEY_TYPE = 5;

/**
 * X25519 with keys given as JWK. libsignal gives them as DER, which OpenSSL decodes in five times the processor time of the
 * agreement itself. The secret is the same. Keys of an unexpected form go to `libsignal`, which has the error for them.
 */
export function fastAgreement(libsignal: Agreement): Agreement {
  return (publicKey, privateKey) => {
    const isUsual =
      Buffer.isBuffer(publicKey) &&
      publicKey.length === 33 &&
      publicKey[0] === KEY_TYPE &&
      Buffer.isBuffer(privateKey) &&
      privateKey.length === 32;
    if (!isUsual) return libsignal(publicKey, privateKey);
    const x = publicKey.toString('base64url', 1);
    const d = privateKey.toString('base64url');
    const okp = { kty: 'OKP', crv: 'X25519' };
    return diffieHellman({
      privateKey: createPrivateKey({ key: { ...okp, d, x: UNUSED }, format: 'jwk' }),
      publicKey: createPublicKey({ key: { ...okp, x }, format: 'jwk' }),
    });
  };
}

/**
 * A new key pair in the form of libsignal: 33 bytes, the first 5, and 32. libsignal has it written as DER, which takes four
 * times as long: 0.3 to 0.6 s for the 812 keys of a new account, in which the process does nothing else.
 */
export function fastKeyPair(): { pubKey: Buffer; privKey: Buffer } {
  const { x = '', d = '' } = generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
  return {
    pubKey: Buffer.concat([Buffer.from([KEY_TYPE]), Buffer.from(x, 'base64url')]),
    privKey: Buffer.from(d, 'base64url'),
  };
}

/**
 * Replaces the key agreement and the generation of keys of libsignal for this process. To be called before Baileys is
 * loaded, which takes its own reference. Workaround: refs/baileys-workarounds.md. Idempotent.
 * @throws {UnsupportedBaileysError} libsignal has no such function
 */
export function useFastAgreement(): void {
  const curve = createRequire(import.meta.url)('libsignal/src/curve.js');
  for (const name of ['calculateAgreement', 'generateKeyPair']) {
    if (typeof curve[name] === 'function') continue;
    throw new UnsupportedBaileysError(`libsignal's curve.js has no ${name}`);
  }
  curve.generateKeyPair = fastKeyPair;
  if (curve.calculateAgreement === replacement) return;
  replacement = fastAgreement(curve.calculateAgreement);
  curve.calculateAgreement = replacement;
}

let replacement: Agreement | undefined;
