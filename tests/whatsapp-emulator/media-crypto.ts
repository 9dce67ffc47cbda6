import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** The kind of WhatsApp key for a file; stickers use that of images, voice messages that of audio. */
export type MediaType = 'image' | 'video' | 'audio' | 'document';

const INFO: Record<MediaType, string> = {
  image: 'WhatsApp Image Keys',
  video: 'WhatsApp Video Keys',
  audio: 'WhatsApp Audio Keys',
  document: 'WhatsApp Document Keys',
};
const MAC_BYTES = 10;

/** A file as WhatsApp's servers store it, and the fields of a message about it. */
export interface EncryptedFile {
  encrypted: Buffer;
  mediaKey: Buffer;
  fileSha256: Buffer;
  fileEncSha256: Buffer;
  fileLength: number;
}

/** Encrypts a file as a phone does: AES-256-CBC, then ten bytes of HMAC. Independent of Baileys, to check it. */
export function encryptFile(bytes: Uint8Array, type: MediaType): EncryptedFile {
  const mediaKey = randomBytes(32);
  const { iv, cipherKey, macKey } = keysOf(mediaKey, type);
  const cipher = createCipheriv('aes-256-cbc', cipherKey, iv);
  const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final()]);
  const encrypted = Buffer.concat([ciphertext, macOf(macKey, iv, ciphertext)]);
  return {
    encrypted,
    mediaKey,
    fileSha256: sha256(bytes),
    fileEncSha256: sha256(encrypted),
    fileLength: bytes.length,
  };
}

/** Decrypts a stored file. @throws when the MAC or the padding is wrong */
export function decryptFile(encrypted: Buffer, mediaKey: Uint8Array, type: MediaType): Buffer {
  const { iv, cipherKey, macKey } = keysOf(mediaKey, type);
  const ciphertext = encrypted.subarray(0, -MAC_BYTES);
  if (!macOf(macKey, iv, ciphertext).equals(encrypted.subarray(-MAC_BYTES))) {
    throw new Error('the MAC of the file is wrong');
  }
  const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv);
  return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function keysOf(mediaKey: Uint8Array, type: MediaType) {
  const expanded = Buffer.from(hkdfSync('sha256', mediaKey, Buffer.alloc(0), INFO[type], 112));
  return {
    iv: expanded.subarray(0, 16),
    cipherKey: expanded.subarray(16, 48),
    macKey: expanded.subarray(48, 80),
  };
}

function macOf(macKey: Buffer, iv: Buffer, ciphertext: Buffer): Buffer {
  return createHmac('sha256', macKey).update(iv).update(ciphertext).digest().subarray(0, MAC_BYTES);
}

/** Encryption of media retry requests and responses: AES-256-GCM with a key derived from the file's key. */
export function sealRetry(
  plaintext: Uint8Array,
  mediaKey: Uint8Array,
  id: string,
): { ciphertext: Buffer; iv: Buffer } {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', retryKeyOf(mediaKey), iv).setAAD(Buffer.from(id));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return { ciphertext, iv };
}

/** @throws when it was encrypted with another file's key, or for another message */
export function openRetry(ciphertext: Uint8Array, iv: Uint8Array, mediaKey: Uint8Array, id: string): Buffer {
  const sealed = Buffer.from(ciphertext);
  const decipher = createDecipheriv('aes-256-gcm', retryKeyOf(mediaKey), iv)
    .setAAD(Buffer.from(id))
    .setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
}

function retryKeyOf(mediaKey: Uint8Array): Buffer {
  return Buffer.from(hkdfSync('sha256', mediaKey, Buffer.alloc(0), 'WhatsApp Media Retry Notification', 32));
}
