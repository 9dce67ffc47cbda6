import { createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto';
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
 * Replaces the key agreement of libsignal for this process. Workaround: refs/baileys-workarounds.md. Idempotent.
 * @throws {UnsupportedBaileysError} libsignal has no such function
 */
export function useFastAgreement(): void {
  const curve = createRequire(import.meta.url)('libsignal/src/curve.js');
  const { calculateAgreement } = curve;
  if (typeof calculateAgreement !== 'function') {
    throw new UnsupportedBaileysError("libsignal's curve.js has no calculateAgreement");
  }
  if (calculateAgreement === replacement) return;
  replacement = fastAgreement(calculateAgreement);
  curve.calculateAgreement = replacement;
}

let replacement: Agreement | undefined;
