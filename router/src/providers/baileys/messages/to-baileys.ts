import { type AnyMessageContent, type BinaryNode, proto } from '@whiskeysockets/baileys';
import { parseJid } from '../../../core/chat-id.ts';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';
import { SendRefusedError } from '../../../core/errors.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';

/** The arguments of `sock.sendMessage(jid, content, options)`. */
interface TextSend {
  jid: string;
  content: AnyMessageContent;
  options: { messageId: string };
}

/** The arguments of `sock.relayMessage(jid, file, options)`: a message whose file is already uploaded. */
interface FileSend {
  jid: string;
  file: proto.IMessage;
  options: { messageId: string };
}

/**
 * Translates a text reply that has a context (a quote, mentions, the chat's timer) into one call of `relayMessage`. Pure.
 * @throws {SendRefusedError} as `toBaileys`
 */
export function textToBaileys(message: OutgoingMessage): FileSend {
  const { jid, options } = toBaileys(message);
  return { jid, file: textProto(message), options };
}

/**
 * Translates a text reply into one call of `sendMessage`, with the reply's own WhatsApp id. Pure.
 * Link previews are off: Baileys would fetch every URL in an agent's text, from this machine.
 * @throws {SendRefusedError} `to` is neither a person nor a group, or the text is empty
 */
export function toBaileys(message: OutgoingMessage): TextSend {
  checkAddress(message);
  if (message.text === '') throw new SendRefusedError(say('send.message-without-text'));
  return {
    jid: message.to,
    content: { text: message.text, linkPreview: null },
    options: { messageId: message.waMessageId },
  };
}

/**
 * Translates a reply with a file into one call of `relayMessage`. Pure.
 * @param content the result of `uploadFile`
 * @throws {SendRefusedError} `to` is neither a person nor a group, or the content is missing
 */
export function fileToBaileys(message: OutgoingMessage, content: Uint8Array | undefined): FileSend {
  checkAddress(message);
  if (!content) throw new SendRefusedError(say('send.file-not-uploaded'));
  return {
    jid: message.to,
    file: fileProto(message, content),
    options: { messageId: message.waMessageId },
  };
}

/**
 * The same message as WhatsApp content, for `getMessage`: Baileys encrypts it again when a phone could not decrypt it.
 * A text has the form that `sendMessage` gave it, an extended text. Undefined for a file that was not uploaded, because
 * it was not sent either.
 */
export function toProto(message: OutgoingMessage, content?: Uint8Array): proto.IMessage | undefined {
  if (message.special) return specialProto(message, message.special);
  if (message.media) return content && fileProto(message, content);
  return textProto(message);
}

function fileProto(reply: OutgoingMessage, content: Uint8Array): proto.IMessage {
  const message = proto.Message.decode(content);
  const context = contextOf(reply);
  if (!context) return message;
  const { imageMessage, videoMessage, audioMessage, documentMessage, stickerMessage } = message;
  for (const inner of [imageMessage, videoMessage, audioMessage, documentMessage, stickerMessage]) {
    if (inner) inner.contextInfo = { ...inner.contextInfo, ...context };
  }
  return message;
}

function textProto(message: OutgoingMessage): proto.IMessage {
  const contextInfo = contextOf(message);
  return { extendedTextMessage: { text: message.text, ...(contextInfo && { contextInfo }) } };
}

/**
 * What a message refers to, and when it disappears; undefined for nothing. In a group the writer of the quoted message is
 * mentioned too: their phone notifies them.
 */
function contextOf({ to, quote, mentions, timerSeconds }: OutgoingMessage): proto.IContextInfo | undefined {
  const isGroup = parseJid(to)?.kind === 'group';
  const mentionedJid = [...new Set([...(quote && isGroup ? [quote.from] : []), ...(mentions ?? [])])];
  const context: proto.IContextInfo = {
    ...(quote && {
      stanzaId: quote.waMessageId,
      participant: quote.from,
      quotedMessage: { conversation: quote.text },
    }),
    ...(mentionedJid.length > 0 && { mentionedJid }),
    ...(timerSeconds && { expiration: timerSeconds }),
  };
  return Object.keys(context).length > 0 ? context : undefined;
}

function checkAddress({ to }: OutgoingMessage): void {
  const address = parseJid(to);
  if (address?.kind === 'phone' || address?.kind === 'lid' || address?.kind === 'group') return;
  throw new SendRefusedError(say('send.bad-address'));
}

/** The arguments of `sock.relayMessage(jid, message, options)`. */
interface SpecialSend {
  jid: string;
  message: proto.IMessage;
  options: {
    messageId: string;
    additionalAttributes?: Record<string, string>;
    additionalNodes?: BinaryNode[];
  };
}

const { MESSAGE_EDIT, REVOKE } = proto.Message.ProtocolMessage.Type;

/** A message that is neither text nor file, as one call of `relayMessage`, with the marks that WhatsApp wants. Pure. */
export function specialToBaileys(message: OutgoingMessage, special: SpecialMessage): SpecialSend {
  const options: SpecialSend['options'] = { messageId: message.waMessageId };
  if (special.kind === 'edit') options.additionalAttributes = { edit: '1' };
  if (special.kind === 'deletion') options.additionalAttributes = { edit: '7' };
  if (special.kind === 'poll')
    options.additionalNodes = [{ tag: 'meta', attrs: { polltype: 'creation' }, content: undefined }];
  return { jid: message.to, message: specialProto(message, special), options };
}

/** As WhatsApp content. */
function specialProto({ to, text, timerSeconds }: OutgoingMessage, special: SpecialMessage): proto.IMessage {
  const timer = timerSeconds ? { contextInfo: { expiration: timerSeconds } } : {};
  switch (special.kind) {
    case 'location': {
      const { latitude: degreesLatitude, longitude: degreesLongitude, name, address } = special;
      return { locationMessage: { degreesLatitude, degreesLongitude, name, address, ...timer } };
    }
    case 'contacts': {
      const contacts = special.contacts.map(({ name, phone }) => ({
        displayName: name,
        vcard: vcardOf(name, phone),
      }));
      const [only, ...others] = contacts;
      if (only && others.length === 0) return { contactMessage: { ...only, ...timer } };
      return { contactsArrayMessage: { displayName: `${contacts.length} contacts`, contacts, ...timer } };
    }
    case 'poll': {
      const { question: name, selectable, secret } = special;
      const options = special.options.map((optionName) => ({ optionName }));
      const poll = { name, options, selectableOptionsCount: selectable, ...timer };
      return {
        messageContextInfo: { messageSecret: Buffer.from(secret, 'base64') },
        ...(selectable === 1 ? { pollCreationMessageV3: poll } : { pollCreationMessage: poll }),
      };
    }
    case 'reaction': {
      const { emoji, of: id, from, atMs } = special;
      const isGroup = parseJid(to)?.kind === 'group';
      const key = {
        remoteJid: to,
        fromMe: from === undefined,
        id,
        ...(isGroup && from && { participant: from }),
      };
      return { reactionMessage: { key, text: emoji, senderTimestampMs: atMs } };
    }
    case 'edit': {
      const key = { remoteJid: to, fromMe: true, id: special.of };
      const editedMessage = { extendedTextMessage: { text } };
      return { protocolMessage: { key, type: MESSAGE_EDIT, editedMessage, timestampMs: special.atMs } };
    }
    case 'deletion':
      return { protocolMessage: { key: { remoteJid: to, fromMe: true, id: special.of }, type: REVOKE } };
  }
}

function vcardOf(name: string, phone: string): string {
  const escaped = name.replace(/[\\;,]/g, '\\$&');
  return [
    'BEGIN:VCARD',
    'VERSION:3.0',
    `N:;${escaped};;;`,
    `FN:${escaped}`,
    `TEL;type=CELL;type=VOICE;waid=${phone}:+${phone}`,
    'END:VCARD',
  ].join('\n');
}
