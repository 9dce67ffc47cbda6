import { type AnyMessageContent, proto } from '@whiskeysockets/baileys';
import { parseJid } from '../../../core/chat-id.ts';
import { SendRefusedError } from '../../../core/errors.ts';
import type { OutgoingMessage } from '../../../core/models.ts';

/** The arguments of `sock.sendMessage(jid, content, options)`. */
export interface TextSend {
  jid: string;
  content: AnyMessageContent;
  options: { messageId: string };
}

/** The arguments of `sock.relayMessage(jid, file, options)`: a message whose file is uploaded already. */
export interface FileSend {
  jid: string;
  file: proto.IMessage;
  options: { messageId: string };
}

/**
 * Translates a reply of text into one call of `sendMessage`, under the id that was minted for it. Pure.
 * Link previews are off: Baileys would fetch every address that an agent's text names, from this machine.
 * @throws {SendRefusedError} `to` is no person and no group, or the text is empty: WhatsApp would not take it
 */
export function toBaileys(message: OutgoingMessage): TextSend {
  refuseOtherPlaces(message);
  if (message.text === '') throw new SendRefusedError('The message has no text.');
  return {
    jid: message.to,
    content: { text: message.text, linkPreview: null },
    options: { messageId: message.waMessageId },
  };
}

/**
 * A reply with a file as one call of `relayMessage`. Pure.
 * @param content what `uploadFile` gave
 * @throws {SendRefusedError} `to` is no person and no group, or the content is not there
 */
export function fileToBaileys(message: OutgoingMessage, content: Uint8Array | undefined): FileSend {
  refuseOtherPlaces(message);
  if (!content) throw new SendRefusedError('The file of the message was not uploaded.');
  return {
    jid: message.to,
    file: proto.Message.decode(content),
    options: { messageId: message.waMessageId },
  };
}

/**
 * The same message as WhatsApp content, for `getMessage`: what Baileys encrypts again when a phone could not read it.
 * A text must be the form that `sendMessage` made of `{ text }` the first time, an extended text. A file that was never
 * uploaded was never sent: undefined.
 */
export function toProto(message: OutgoingMessage, content?: Uint8Array): proto.IMessage | undefined {
  if (message.media) return content && proto.Message.decode(content);
  return { extendedTextMessage: { text: message.text } };
}

function refuseOtherPlaces({ to }: OutgoingMessage): void {
  const address = parseJid(to);
  if (address?.kind === 'phone' || address?.kind === 'lid' || address?.kind === 'group') return;
  throw new SendRefusedError('The address of the message is neither a person nor a group.');
}
