import { type BinaryNode, proto } from '@whiskeysockets/baileys';
import { parseJid } from '../../../core/chat-id.ts';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';
import type { OutgoingMessage } from '../../../core/models.ts';

/** The arguments of `sock.relayMessage(jid, message, options)`. */
export interface SpecialSend {
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
export function specialProto(
  { to, text, timerSeconds }: OutgoingMessage,
  special: SpecialMessage,
): proto.IMessage {
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
