import { type AnyMessageContent, proto } from '@whiskeysockets/baileys';
import { parseJid } from '../../../core/chat-id.ts';
import { SendRefusedError } from '../../../core/errors.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import { specialProto } from './special-to-baileys.ts';

/** The arguments of `sock.sendMessage(jid, content, options)`. */
export interface TextSend {
  jid: string;
  content: AnyMessageContent;
  options: { messageId: string };
}

/** The arguments of `sock.relayMessage(jid, file, options)`: a message whose file is already uploaded. */
export interface FileSend {
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
  if (message.text === '') throw new SendRefusedError('The message has no text.');
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
  if (!content) throw new SendRefusedError('The file of the message was not uploaded.');
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
  throw new SendRefusedError('The address of the message is neither a person nor a group.');
}
