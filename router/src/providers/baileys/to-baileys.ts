import type { AnyMessageContent, proto } from '@whiskeysockets/baileys';
import { parseJid } from '../../core/chat-id.ts';
import { SendRefusedError } from '../../core/errors.ts';
import type { OutgoingMessage } from '../../core/models.ts';

/** The arguments of `sock.sendMessage(jid, content, options)`. */
export interface BaileysSend {
  jid: string;
  content: AnyMessageContent;
  options: { messageId: string };
}

/**
 * Translates a reply into one call of `sendMessage`, under the id that was minted for it. Pure.
 * Link previews are off: Baileys would fetch every address that an agent's text names, from this machine.
 * @throws {SendRefusedError} `to` is no person and no group, or the text is empty: WhatsApp would not take it
 */
export function toBaileys(message: OutgoingMessage): BaileysSend {
  const address = parseJid(message.to);
  if (address?.kind !== 'phone' && address?.kind !== 'lid' && address?.kind !== 'group') {
    throw new SendRefusedError('The address of the message is neither a person nor a group.');
  }
  if (message.text === '') throw new SendRefusedError('The message has no text.');
  return {
    jid: message.to,
    content: { text: message.text, linkPreview: null },
    options: { messageId: message.waMessageId },
  };
}

/**
 * The same message as WhatsApp content, for `getMessage`: what Baileys encrypts again when a phone could not read it.
 * It must be the form that `sendMessage` made of `{ text }` the first time, an extended text.
 */
export function toProto(message: OutgoingMessage): proto.IMessage {
  return { extendedTextMessage: { text: message.text } };
}
