import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Bytes of a key's secret: 256 bits. */
const SECRET_BYTES = 32;
const ID_BYTES = 6;
const KEY_TEXT = /^wa2ai_([0-9a-f]{12})_[\w-]{43}$/;

/** A new key: its text, which is shown once, and what is stored of it. */
export function newKey(): { id: string; text: string; secretHash: Buffer } {
  const id = randomBytes(ID_BYTES).toString('hex');
  const text = `${prefixOf(id)}_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  return { id, text, secretHash: hashOf(text) };
}

/** The visible start of a key, by which an operator recognizes it. It is no part of the secret. */
export function prefixOf(id: string): string {
  return `wa2ai_${id}`;
}

/** The id in the text of a key; undefined if the text is no key of the API. */
export function keyIdIn(text: string): string | undefined {
  return KEY_TEXT.exec(text)?.[1];
}

/**
 * SHA-256 of a key. A slow hash with a salt protects passwords, which people choose and repeat. These 256 bits are
 * random: nobody can guess them from the hash, and the fast hash keeps requests fast.
 */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Whether the text equals the secret. The time does not depend on where they differ. */
export function isSame(given: string, secret: string): boolean {
  return hasHash(given, hashOf(secret));
}

/** Whether the text has this hash. The time does not depend on where they differ. */
export function hasHash(text: string, hash: Uint8Array): boolean {
  return hash.length === 32 && timingSafeEqual(hashOf(text), hash);
}
