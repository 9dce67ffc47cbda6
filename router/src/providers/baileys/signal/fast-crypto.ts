import { createPrivateKey, createPublicKey, diffieHellman, verify } from 'node:crypto';
import { createRequire } from 'node:module';
import { errorOf, UnsupportedBaileysError } from '../../../core/errors.ts';

/** Whether a signature of 64 bytes is of the owner of a public key (33 bytes, the first 5) and of this message. */
type Verification = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
  isInit?: boolean,
) => boolean;

/** A signature is wrong: of the server's certificates, of the account when it is linked, or of a group message. */
export class SignatureError extends errorOf('SIGNATURE_WRONG', 'dead') {}

const KEY_TYPE = 5;
/** Baileys' WA_CERT_DETAILS: the key that signs the certificates of WhatsApp's servers. */
export const WHATSAPP_ROOT_KEY = '142375574d0a587166aae71ebe516437c4a28b73e3695c6ce1f7f9545da8ee6b';
const PRIME = 2n ** 255n - 19n;

/**
 * Verifies with OpenSSL's Ed25519. libsignal does it in JavaScript, 10 ms until that is compiled: three times before a connection is
 * open, and for each message of a group. What OpenSSL does not accept is verified by `libsignal`, so the result is always the same.
 */
export function fastVerification(libsignal: Verification): Verification {
  return (publicKey, message, signature, isInit) =>
    (!isInit && isVerified(publicKey, message, signature)) ||
    libsignal(publicKey, message, signature, isInit);
}

/** XEdDSA (signal.org/docs/specifications/xeddsa): the sign of the Edwards point is the highest bit of the signature. */
function isVerified(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const isUsual =
    Buffer.isBuffer(publicKey) &&
    publicKey.length === 33 &&
    publicKey[0] === KEY_TYPE &&
    message instanceof Uint8Array &&
    signature instanceof Uint8Array &&
    signature.length === 64;
  if (!isUsual) return false;
  const point = edwardsPoint(publicKey.subarray(1));
  const plain = Buffer.from(signature);
  const last = plain[63] ?? 0;
  point[31] = (point[31] ?? 0) | (last & 0x80);
  plain[63] = last & 0x7f;
  const key = { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') };
  try {
    return verify(undefined, message, createPublicKey({ key, format: 'jwk' }), plain);
  } catch {
    return false;
  }
}

/** y = (u - 1) / (u + 1) of the Montgomery u, 32 bytes, little-endian. */
function edwardsPoint(montgomery: Uint8Array): Buffer {
  const bytes = Buffer.from(montgomery).reverse();
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  const u = BigInt(`0x${bytes.toString('hex')}`);
  const y = modulo((u - 1n) * inverse(u + 1n));
  return Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse();
}

/** By Euclid's algorithm; 0 for 0. */
function inverse(value: bigint): bigint {
  let [dividend, divisor] = [PRIME, modulo(value)];
  let [before, factor] = [0n, 1n];
  if (divisor === 0n) return 0n;
  while (divisor > 1n) {
    const quotient = dividend / divisor;
    [dividend, divisor] = [divisor, dividend - quotient * divisor];
    [before, factor] = [factor, before - quotient * factor];
  }
  return modulo(factor);
}

function modulo(value: bigint): bigint {
  const rest = value % PRIME;
  return rest < 0n ? rest + PRIME : rest;
}

/**
 * Replaces the verification of signatures of libsignal for this process. To be called before Baileys is loaded, which takes its
 * own reference. A wrong signature throws: Baileys expects that, and ignores the result. Workaround:
 * refs/baileys-workarounds.md. Idempotent.
 * @param isWhatsApp the accounts connect to WhatsApp's own address. Another server has certificates of its own.
 * @throws {UnsupportedBaileysError} libsignal has no such function
 */
export function useFastVerification(isWhatsApp: boolean): void {
  const curve = createRequire(import.meta.url)('libsignal/src/curve.js');
  const { verifySignature } = curve;
  if (typeof verifySignature !== 'function') {
    throw new UnsupportedBaileysError("libsignal's curve.js has no verifySignature");
  }
  if (verifySignature === replacement) return;
  const isValid = fastVerification(verifySignature);
  replacement = (publicKey, message, signature, isInit) => {
    if (isValid(publicKey, message, signature, isInit)) return true;
    const isRoot = Buffer.from(publicKey.subarray(1)).toString('hex') === WHATSAPP_ROOT_KEY;
    if (isRoot && !isWhatsApp) return false;
    throw new SignatureError({
      sentence: 'A signature of WhatsApp, of a phone or of a group member is wrong.',
    });
  };
  curve.verifySignature = replacement;
}

let replacement: Verification | undefined;

/** A shared secret of 32 bytes from a public key (33 bytes, the first 5) and a private key (32 bytes). */
type Agreement = (publicKey: Uint8Array, privateKey: Uint8Array) => Buffer;

/** OpenSSL derives the public key from the private one and ignores this field, which a JWK must have. */
const UNUSED = Buffer.alloc(32).toString('base64url');

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
  if (calculateAgreement === ourAgreement) return;
  ourAgreement = fastAgreement(calculateAgreement);
  curve.calculateAgreement = ourAgreement;
}

let ourAgreement: Agreement | undefined;
