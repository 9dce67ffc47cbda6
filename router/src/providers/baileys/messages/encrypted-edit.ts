import { createDecipheriv, hkdfSync } from 'node:crypto';
import { normalizeMessageContent, proto, type WAMessage } from '@whiskeysockets/baileys';
import { lidJid, phoneJid } from '../../../core/chat-id.ts';
import type { InboundMessage, TraceStep } from '../../../core/messages/inbound-message.ts';
import { type Said, say } from '../../../core/phrases.ts';
import type { OriginalMessage } from '../../../core/ports/inbox.ts';
import { MAX_ID_CHARS, readContent } from './message-content.ts';
import { words } from './proto-values.ts';

/** A change of an earlier message, encrypted with the secret of that message. */
interface EncryptedEdit extends Encrypted {
  /** WhatsApp's id of the message. */
  of: string;
  /** Of `SecretEncryptedMessage.SecretEncType`; newer ones than Baileys knows are numbers too. */
  type: number;
}

type Person = InboundMessage['sender'];

/** 3 is a scheduled message; 5 adds an option to a poll, which people other than its author may do. */
const USES: Readonly<Record<number, SecretUse>> = { 1: 'Event Edit', 2: 'Message Edit', 4: 'Poll Edit' };

const { MESSAGE_EDIT } = proto.Message.ProtocolMessage.Type;

/** The encrypted edit that a message is; undefined for any other message. */
export function encryptedEditOf({ message }: WAMessage): EncryptedEdit | undefined {
  const encrypted = normalizeMessageContent(message ?? undefined)?.secretEncryptedMessage;
  if (!encrypted) return undefined;
  const { targetMessageKey, secretEncType, encPayload, encIv } = encrypted;
  return {
    of: words(targetMessageKey?.id, MAX_ID_CHARS),
    type: Number(secretEncType ?? 0),
    encPayload,
    encIv,
  };
}

/**
 * Decrypts an edit into the form of a plain one. All members of a group have the secret of a message, so an edit is only
 * opened when its sender wrote the message.
 * @param original the message that it names; undefined when that is not stored
 * @param editor the sender of the edit's stanza
 * @returns the step of the trace that says why not, when it cannot be opened
 */
export function openEdit(
  edit: EncryptedEdit,
  original: OriginalMessage | undefined,
  editor: Person,
): { message: proto.IMessage } | { step: TraceStep } {
  const use = USES[edit.type];
  if (!use) return step('unknown-kind', say('edit.unknown-kind'));
  if (!original) return step('no-original', say('edit.no-original'));
  if (!original.isOfSender) {
    return step('other-author', say('edit.other-author'));
  }
  if (!original.secret) {
    const sentence = say('edit.no-secret');
    return step('no-secret', sentence);
  }
  const jids = jidsOf(editor, original.sender);
  const owner = { use, secret: original.secret, messageId: edit.of, authors: jids, writers: jids };
  const plaintext = decryptWithSecret(edit, owner);
  if (!plaintext) return step('not-decrypted', say('edit.not-decrypted'));
  const editedMessage = contentOf(plaintext, use);
  if (!editedMessage) return step('no-content', say('edit.no-content'));
  return { message: { protocolMessage: { type: MESSAGE_EDIT, key: { id: edit.of }, editedMessage } } };
}

function step(outcome: string, sentence: Said): { step: TraceStep } {
  return { step: { step: 'encrypted-edit', outcome, ...sentence } };
}

function jidsOf(...people: readonly Person[]): string[] {
  const jids = people.flatMap(({ phone, lid }) => [
    ...(lid ? [lidJid(lid)] : []),
    ...(phone ? [phoneJid(phone)] : []),
  ]);
  return [...new Set(jids)];
}

/** The new content; undefined when it is nothing that a message can be edited to. */
function contentOf(plaintext: Uint8Array, use: SecretUse): proto.IMessage | undefined {
  const decoded = decode(proto.Message, plaintext);
  const inner = normalizeMessageContent(decoded);
  const content = inner?.protocolMessage ? inner.protocolMessage.editedMessage : decoded;
  if (use === 'Event Edit' && !inner?.protocolMessage && !inner?.eventMessage) {
    // Other clients encrypt the event alone.
    const eventMessage = decode(proto.Message.EventMessage, plaintext);
    return eventMessage?.name ? { eventMessage } : undefined;
  }
  const read = readContent(content);
  return 'skip' in read || read.ignoredReason !== undefined ? undefined : (content ?? undefined);
}

function decode<T>(kind: { decode(bytes: Uint8Array): T }, plaintext: Uint8Array): T | undefined {
  try {
    return kind.decode(plaintext);
  } catch {
    return undefined;
  }
}

/** What the secret of a message encrypts, in WhatsApp's words: a part of the key. */
type SecretUse = 'Poll Vote' | 'Message Edit' | 'Event Edit' | 'Poll Edit';

/** A ciphertext with its tag, and its nonce. */
interface Encrypted {
  encPayload?: Uint8Array | null;
  encIv?: Uint8Array | null;
}

interface SecretOwner {
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
