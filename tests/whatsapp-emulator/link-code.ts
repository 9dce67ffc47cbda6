import { createCipheriv, createDecipheriv, hkdfSync, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Curve, type KeyPair } from '@whiskeysockets/baileys';
import { EmulatorError } from './emulator-error.ts';

const deriveFromPassword = promisify(pbkdf2);

/** The phone's part of pairing by code, between the owner's input and the companion's response. */
export interface LinkCodeExchange {
  /** X25519 of both ephemeral keys; differs between the sides when the code was mistyped */
  sharedEphemeral: Buffer;
  /** salt (32) + IV (16) + AES-CTR of the phone's ephemeral public key (32), for the companion */
  wrappedPrimaryEphemeral: Buffer;
}

/**
 * Begins the exchange: decrypts the companion's ephemeral key with the code and encrypts its own one. A wrong code
 * is detected only in `openLinkCodeKeyBundle`, as on a real phone.
 * @param code the eight letters, in any case, with or without a dash
 * @param wrappedCompanionEphemeral salt (32) + IV (16) + AES-CTR of the companion's ephemeral public key (32)
 */
export async function answerLinkCode(
  code: string,
  wrappedCompanionEphemeral: Uint8Array,
): Promise<LinkCodeExchange> {
  const letters = code.replaceAll('-', '').trim().toUpperCase();
  if (wrappedCompanionEphemeral.length !== 80)
    throw new EmulatorError('the wrapped companion key must have 80 bytes');
  const wrapped = Buffer.from(wrappedCompanionEphemeral);
  const opening = createDecipheriv(
    'aes-256-ctr',
    await codeKey(letters, wrapped.subarray(0, 32)),
    wrapped.subarray(32, 48),
  );
  const companionEphemeral = opening.update(wrapped.subarray(48));
  const own = Curve.generateKeyPair();
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const wrapping = createCipheriv('aes-256-ctr', await codeKey(letters, salt), iv);
  return {
    sharedEphemeral: Curve.sharedKey(own.private, companionEphemeral),
    wrappedPrimaryEphemeral: Buffer.concat([salt, iv, wrapping.update(own.public)]),
  };
}

/**
 * Ends the exchange: decrypts the companion's key bundle and derives the shared ADV secret.
 * @param wrappedKeyBundle salt (32) + IV (12) + AES-GCM of both identity keys and 32 random bytes
 * @throws {EmulatorError} when the code was wrong, or the bundle names other identities than the current ones
 */
export function openLinkCodeKeyBundle(
  sharedEphemeral: Buffer,
  wrappedKeyBundle: Uint8Array,
  accountKey: KeyPair,
  companionIdentity: Uint8Array,
): Buffer {
  const wrapped = Buffer.from(wrappedKeyBundle);
  const bundleKey = hkdf(
    sharedEphemeral,
    wrapped.subarray(0, 32),
    'link_code_pairing_key_bundle_encryption_key',
  );
  const opening = createDecipheriv('aes-256-gcm', bundleKey, wrapped.subarray(32, 44));
  opening.setAuthTag(wrapped.subarray(-16));
  let bundle: Buffer;
  try {
    bundle = Buffer.concat([opening.update(wrapped.subarray(44, -16)), opening.final()]);
  } catch (cause) {
    throw new EmulatorError('the code is wrong: the key bundle of the companion does not open', { cause });
  }
  if (!bundle.subarray(0, 32).equals(companionIdentity))
    throw new EmulatorError('the bundle names another companion');
  if (!bundle.subarray(32, 64).equals(accountKey.public))
    throw new EmulatorError('the bundle names another account');
  const sharedIdentity = Curve.sharedKey(accountKey.private, companionIdentity);
  return hkdf(
    Buffer.concat([sharedEphemeral, sharedIdentity, bundle.subarray(64)]),
    Buffer.alloc(0),
    'adv_secret',
  );
}

function codeKey(letters: string, salt: Buffer): Promise<Buffer> {
  return deriveFromPassword(letters, salt, 131_072, 32, 'sha256');
}

function hkdf(input: Buffer, salt: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', input, salt, info, 32));
}
