import { createDecipheriv, hkdfSync } from 'node:crypto';

/** What the secret of a message encrypts, in WhatsApp's words: a part of the key. */
export type SecretUse = 'Poll Vote' | 'Message Edit' | 'Event Edit' | 'Poll Edit';

/** A ciphertext with its tag, and its nonce. */
export interface Encrypted {
  encPayload?: Uint8Array | null;
  encIv?: Uint8Array | null;
}

export interface SecretOwner {
  use: SecretUse;
  /** `messageContextInfo.messageSecret` of the message. */
  secret: Uint8Array;
  /** WhatsApp's id of the message. */
  messageId: string;
  /** JIDs of the person who wrote the message, without a device. */
  authors: readonly string[];
  /** JIDs of the person who encrypted, without a device. */
  writers: readonly string[];
}

const KEY_BYTES = 32;
const TAG_BYTES = 16;

/**
 * Decrypts what a person encrypted with the secret of a message. The key contains a JID of the author and one of the writer,
 * each by number or by LID, so each pair is used until one decrypts it.
 *
 * Everybody who can read the message has its secret: a plaintext says nothing about who wrote it.
 * Source: msgsecret.go of whatsmeow; only votes (and answers to events) have additional data.
 * @returns undefined when no pair decrypts it
 */
export function decryptWithSecret(
  { encPayload, encIv }: Encrypted,
  { use, secret, messageId, authors, writers }: SecretOwner,
): Uint8Array | undefined {
  if (!encPayload || !encIv || encPayload.length < TAG_BYTES) return undefined;
  const ciphertext = encPayload.subarray(0, -TAG_BYTES);
  for (const author of authors) {
    for (const writer of writers) {
      const info = Buffer.from(`${messageId}${author}${writer}${use}`);
      const key = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), info, KEY_BYTES));
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, encIv, { authTagLength: TAG_BYTES });
        if (use === 'Poll Vote') decipher.setAAD(Buffer.from(`${messageId}\0${writer}`));
        decipher.setAuthTag(encPayload.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
      } catch {
        // Another pair of JIDs may decrypt it.
      }
    }
  }
  return undefined;
}
