import { createCipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { normalizeMessageContent, proto } from '@whiskeysockets/baileys';

/** The message that a reply quotes, or that a reaction or an edit refers to. */
export interface MessageReference {
  id: string;
  /** user JID of the author */
  author: string;
  /** its text, shown above a reply */
  text?: string;
}

const MEDIA = 'https://mmg.whatsapp.net/v/t62.7118-24/emulated';

/** Plain text, the way phones send it when nothing else is attached. */
export function plainText(text: string): proto.IMessage {
  return { conversation: text };
}

/** Text with a preview or formatting: the other form in which phones send text. */
export function extendedText(text: string, contextInfo?: proto.IContextInfo): proto.IMessage {
  return { extendedTextMessage: { text, contextInfo } };
}

/** A reply to a message. */
export function quotedText(text: string, quoted: MessageReference): proto.IMessage {
  return extendedText(text, {
    stanzaId: quoted.id,
    participant: quoted.author,
    quotedMessage: { conversation: quoted.text ?? '' },
  });
}

/** Text that mentions people, as `@<user part>` in the text. */
export function mentioningText(text: string, mentionedJid: string[]): proto.IMessage {
  return extendedText(text, { mentionedJid });
}

/** Text in a chat with disappearing messages. */
export function ephemeralText(text: string, expirationS = 86_400): proto.IMessage {
  return { ephemeralMessage: { message: extendedText(text, { expiration: expirationS }) } };
}

/** Changes after how many seconds messages of the chat disappear; 0 for never. */
export function timerSetting(expirationS: number): proto.IMessage {
  const type = proto.Message.ProtocolMessage.Type.EPHEMERAL_SETTING;
  return { protocolMessage: { type, ephemeralExpiration: expirationS } };
}

/** A picture whose file exists on no server. */
export function image(caption?: string): proto.IMessage {
  return { imageMessage: { ...media('image/jpeg'), caption, height: 640, width: 480 } };
}

/** A picture to be seen once. */
export function viewOnceImage(caption?: string): proto.IMessage {
  const { imageMessage } = image(caption);
  return { viewOnceMessageV2: { message: { imageMessage: { ...imageMessage, viewOnce: true } } } };
}

/** A video. */
export function video(caption?: string): proto.IMessage {
  return { videoMessage: { ...media('video/mp4'), caption, seconds: 4 } };
}

/** A file, with a caption when one is given. */
export function document(fileName: string, caption?: string): proto.IMessage {
  const documentMessage = { ...media('application/pdf'), fileName, caption };
  return caption ? { documentWithCaptionMessage: { message: { documentMessage } } } : { documentMessage };
}

/** A voice message. */
export function voice(): proto.IMessage {
  return { audioMessage: { ...media('audio/ogg; codecs=opus'), seconds: 3, ptt: true } };
}

/** A sticker. */
export function sticker(): proto.IMessage {
  return { stickerMessage: { ...media('image/webp'), height: 64, width: 64 } };
}

/** A location. */
export function place(degreesLatitude: number, degreesLongitude: number, name?: string): proto.IMessage {
  return { locationMessage: { degreesLatitude, degreesLongitude, name } };
}

/** A reaction; an empty `emoji` removes it. */
export function reaction(
  emoji: string,
  to: MessageReference & { chat: string; isOwn: boolean },
): proto.IMessage {
  const key = { remoteJid: to.chat, fromMe: to.isOwn, id: to.id };
  return { reactionMessage: { key, text: emoji, senderTimestampMs: Date.now() } };
}

/**
 * A vote in a poll: the choice is encrypted with the poll's secret for the JIDs of poll and voter.
 * @param poll the bubble of the poll
 */
export function pollVote(
  poll: { id: string; message: proto.IMessage; chat: string },
  options: readonly string[],
  { creator, voter }: { creator: string; voter: string },
): proto.IMessage {
  const secret = poll.message.messageContextInfo?.messageSecret;
  if (!secret) throw new Error('the message is no poll');
  const selectedOptions = options.map((option) => createHash('sha256').update(option).digest());
  const plaintext = proto.Message.PollVoteMessage.encode({ selectedOptions }).finish();
  const original = { id: poll.id, secret, author: creator };
  const vote = encryptWithSecret(original, voter, 'Poll Vote', plaintext, `${poll.id}\u0000${voter}`);
  return {
    pollUpdateMessage: {
      pollCreationMessageKey: { remoteJid: poll.chat, fromMe: false, id: poll.id },
      vote,
      senderTimestampMs: Date.now(),
    },
  };
}

/** New text for an own message. */
export function editedText(originalId: string, text: string, chat?: string): proto.IMessage {
  const protocolMessage: proto.Message.IProtocolMessage = {
    key: { remoteJid: chat, fromMe: true, id: originalId },
    type: proto.Message.ProtocolMessage.Type.MESSAGE_EDIT,
    editedMessage: plainText(text),
    timestampMs: Date.now(),
  };
  return { editedMessage: { message: { protocolMessage } } };
}

/** A message whose secret encrypts its changes; `author` is the JID of its writer, as the phone writes it into the key. */
export interface SecretMessage {
  id: string;
  secret: Uint8Array;
  author: string;
}

/** A change that a phone encrypted with the secret of the changed message. */
export function encryptedChange(
  original: SecretMessage,
  editor: string,
  use: 'Message Edit' | 'Event Edit' | 'Poll Edit',
  content: Uint8Array,
): proto.IMessage {
  const secretEncType = { 'Event Edit': 1, 'Message Edit': 2, 'Poll Edit': 4 }[use];
  const targetMessageKey = { id: original.id, fromMe: true };
  const encrypted = encryptWithSecret(original, editor, use, content);
  return { secretEncryptedMessage: { targetMessageKey, secretEncType, ...encrypted } };
}

/** New text for a message, as phones send it since 2026. Every member of a group can make one for any message of the group. */
export function encryptedEdit(original: SecretMessage, editor: string, text: string): proto.IMessage {
  const { editedMessage } = editedText(original.id, text);
  const plaintext = proto.Message.encode(editedMessage?.message ?? {}).finish();
  return encryptedChange(original, editor, 'Message Edit', plaintext);
}

function encryptWithSecret(
  { id, secret, author }: SecretMessage,
  writer: string,
  use: string,
  plaintext: Uint8Array,
  additional = '',
): { encPayload: Uint8Array; encIv: Uint8Array } {
  const key = hkdfSync('sha256', secret, '', `${id}${author}${writer}${use}`, 32);
  const encIv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key), encIv);
  cipher.setAAD(Buffer.from(additional));
  const encPayload = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  return { encPayload, encIv };
}

/** A message with the secret that phones give each message that can be changed. */
export function withSecret(message: proto.IMessage): proto.IMessage {
  const content = normalizeMessageContent(message);
  const isChange =
    content?.protocolMessage ||
    content?.reactionMessage ||
    content?.pollUpdateMessage ||
    content?.secretEncryptedMessage;
  const { messageContextInfo } = message;
  if (isChange || messageContextInfo?.messageSecret) return message;
  return { ...message, messageContextInfo: { ...messageContextInfo, messageSecret: randomBytes(32) } };
}

/** Deletes an own message for everyone. */
export function revocation(originalId: string, chat?: string): proto.IMessage {
  return {
    protocolMessage: {
      key: { remoteJid: chat, fromMe: true, id: originalId },
      type: proto.Message.ProtocolMessage.Type.REVOKE,
    },
  };
}

/** The effect of an edit or a deletion on an earlier message: its new text, or none. Undefined for other messages. */
export function changeOf(message: proto.IMessage): { id: string; text: string | undefined } | undefined {
  const protocol = normalizeMessageContent(message)?.protocolMessage;
  const id = protocol?.key?.id;
  if (!protocol || !id) return undefined;
  const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;
  if (protocol.type === REVOKE) return { id, text: undefined };
  if (protocol.type === MESSAGE_EDIT) return { id, text: textOf(protocol.editedMessage ?? {}) };
  return undefined;
}

/** The reaction that a message is: an empty emoji removes an earlier one. Undefined for other messages. */
export function reactionOf(message: proto.IMessage): { id: string; emoji: string } | undefined {
  const reaction = normalizeMessageContent(message)?.reactionMessage;
  const id = reaction?.key?.id;
  return id ? { id, emoji: reaction.text ?? '' } : undefined;
}

/** The visible text of a message: text, caption, new text or emoji; undefined when it has none. */
export function textOf(message: proto.IMessage): string | undefined {
  const content = normalizeMessageContent(message);
  const edited = content?.protocolMessage?.editedMessage;
  if (edited) return textOf(edited);
  const text =
    content?.conversation ||
    content?.extendedTextMessage?.text ||
    content?.imageMessage?.caption ||
    content?.videoMessage?.caption ||
    content?.documentMessage?.caption ||
    content?.reactionMessage?.text;
  return text || undefined;
}

/** The stanza attributes that phones add for a message of this kind: `edit` 1 for an edit, 7 for a revocation. */
export function stanzaAttributes(message: proto.IMessage): Record<string, string> {
  const type = normalizeMessageContent(message)?.protocolMessage?.type;
  if (type === proto.Message.ProtocolMessage.Type.MESSAGE_EDIT) return { edit: '1' };
  if (type === proto.Message.ProtocolMessage.Type.REVOKE) return { edit: '7' };
  return {};
}

function media(mimetype: string) {
  return {
    url: `${MEDIA}/${randomBytes(8).toString('hex')}.enc`,
    directPath: `/v/t62.7118-24/${randomBytes(8).toString('hex')}.enc`,
    mimetype,
    fileLength: 1_024,
    fileSha256: randomBytes(32),
    fileEncSha256: randomBytes(32),
    mediaKey: randomBytes(32),
    mediaKeyTimestamp: Math.floor(Date.now() / 1000),
  };
}
