import { createHmac, randomInt } from 'node:crypto';
import {
  Curve,
  type KeyPair,
  proto,
  WA_ADV_ACCOUNT_SIG_PREFIX,
  WA_ADV_DEVICE_SIG_PREFIX,
} from '@whiskeysockets/baileys';
import { verifySignature } from 'libsignal/src/curve.js';
import { EmulatorError } from './emulator-error.ts';

/** The parts of the text behind a pairing QR code, as the companion shows it. */
export interface PairingQr {
  ref: string;
  noiseKey: Buffer;
  identityKey: Buffer;
  advSecret: Buffer;
}

/**
 * Reads a QR text: `ref,noise key,identity key,ADV secret[,platform]` in base64, bare or behind the `#` of the
 * linked-devices URL.
 * @throws {EmulatorError} naming the part that is missing or has the wrong length
 */
export function parsePairingQr(text: string): PairingQr {
  const [ref, noise, identity, secret] = text.slice(text.indexOf('#') + 1).split(',');
  if (!ref) throw new EmulatorError('the QR text has no ref');
  return {
    ref,
    noiseKey: thirtyTwoBytes('noise key', noise),
    identityKey: thirtyTwoBytes('identity key', identity),
    advSecret: thirtyTwoBytes('ADV secret', secret),
  };
}

/**
 * The account's statement that a companion's identity key belongs to it: an encoded ADVSignedDeviceIdentityHMAC,
 * the content of `device-identity` in pair-success.
 * @param accountKey identity key of the phone
 * @param companionIdentity public identity key of the companion, 32 bytes
 * @param advSecret the key of the HMAC, known only to phone and companion
 */
export function signDeviceIdentity(
  accountKey: KeyPair,
  companionIdentity: Uint8Array,
  advSecret: Uint8Array,
  keyIndex: number,
): Uint8Array {
  const details = proto.ADVDeviceIdentity.encode({
    rawId: randomInt(1, 0x7fff_ffff),
    timestamp: Math.floor(Date.now() / 1000),
    keyIndex,
    accountType: proto.ADVEncryptionType.E2EE,
    deviceType: proto.ADVEncryptionType.E2EE,
  }).finish();
  const signed = proto.ADVSignedDeviceIdentity.encode({
    details,
    accountSignatureKey: accountKey.public,
    accountSignature: Curve.sign(
      Buffer.from(accountKey.private),
      Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, companionIdentity]),
    ),
  }).finish();
  return proto.ADVSignedDeviceIdentityHMAC.encode({
    details: signed,
    hmac: createHmac('sha256', advSecret).update(signed).digest(),
    accountType: proto.ADVEncryptionType.E2EE,
  }).finish();
}

/** The account's identity key in an encoded ADVSignedDeviceIdentityHMAC. */
export function accountKeyOf(deviceIdentity: Uint8Array): Uint8Array {
  const { details } = proto.ADVSignedDeviceIdentityHMAC.decode(deviceIdentity);
  const { accountSignatureKey } = proto.ADVSignedDeviceIdentity.decode(details ?? Buffer.alloc(0));
  if (!accountSignatureKey?.length) throw new EmulatorError('the device identity names no account key');
  return accountSignatureKey;
}

/**
 * Checks the identity that a companion signed in turn (`pair-device-sign`, or `device-identity` of a message):
 * the account's signature, and the companion's over it.
 * @param signedIdentity encoded ADVSignedDeviceIdentity; pair-device-sign leaves the account's key out
 * @param accountIdentity public identity key of the account's phone
 * @returns undefined when the identity is valid, otherwise what is wrong
 */
export function checkDeviceIdentity(
  signedIdentity: Uint8Array,
  accountIdentity: Uint8Array | undefined,
  companionIdentity: Uint8Array | null | undefined,
): string | undefined {
  if (!accountIdentity || !companionIdentity) return 'an identity key is missing';
  const { details, accountSignatureKey, accountSignature, deviceSignature } =
    proto.ADVSignedDeviceIdentity.decode(signedIdentity);
  if (!details?.length || !accountSignature?.length) return 'the account signature is missing';
  if (!deviceSignature?.length) return 'the device signature is missing';
  if (accountSignatureKey?.length && !Buffer.from(accountSignatureKey).equals(accountIdentity)) {
    return 'the account key is not the one of this account';
  }
  const statement = Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, companionIdentity]);
  if (!isSignedBy(accountIdentity, statement, accountSignature)) return 'the account signature is wrong';
  const answer = Buffer.concat([WA_ADV_DEVICE_SIG_PREFIX, details, companionIdentity, accountIdentity]);
  if (!isSignedBy(companionIdentity, answer, deviceSignature)) return 'the device signature is wrong';
  return undefined;
}

// Baileys' Curve.verify accepts wrong signatures. libsignal's own gives false for them, and that of the service throws.
function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const key = Buffer.concat([Buffer.from([5]), publicKey]);
  try {
    return signature.length === 64 && verifySignature(key, message, Buffer.from(signature));
  } catch {
    return false;
  }
}

function thirtyTwoBytes(part: string, base64: string | undefined): Buffer {
  const bytes = Buffer.from(base64 ?? '', 'base64');
  if (bytes.length !== 32)
    throw new EmulatorError(`the QR text's ${part} has ${bytes.length} bytes instead of 32`);
  return bytes;
}
