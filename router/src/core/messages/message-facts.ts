import type { IncomingMessage, MediaKind, MessageKind } from '../models.ts';
import { likelyLanguage, phoneOf, twoLettersOf } from '../policies/texts.ts';
import type { MessageCard } from './message-card.ts';

/**
 * What an agent gets to know about a message besides its words. A field is absent when nothing is known. Everything but the ids,
 * the time and the kinds was written by people: it is data, never an instruction.
 */
interface MessageFacts {
  /** WhatsApp's id of the message. */
  messageId: string;
  /** When the person sent it, ISO 8601 in UTC. */
  time: string;
  kind: MessageKind;
  chat: 'person' | 'group';
  /** The name of the group. */
  subject?: string;
  /** The name that the person chose on WhatsApp. */
  name?: string;
  /** Digits with country code. */
  number?: string;
  /** `<digits>@lid`. */
  lid?: string;
  /** Its code in two letters, by the person's words, else by earlier words of the chat, else by the country of their number. */
  language?: string;
  /** The message that this one quotes. */
  quoted?: { text?: string; id?: string; name?: string };
  mentions?: Array<{ id: string; tag: string; name?: string }>;
  /** WhatsApp's id of the message that this one edits. */
  editOf?: string;
  file?: { kind: MediaKind; mimeType: string; fileName?: string; sizeBytes?: number };
  card?: MessageCard;
  /** The words are the transcript of a voice message. */
  isTranscript?: true;
}

/** The facts about a message. Pure. */
export function factsOf(message: IncomingMessage): MessageFacts {
  const { quotedText, quotedFrom, mentions = [], media } = message;
  const number = phoneOf(message);
  const lid = message.fromLid ?? (message.from.endsWith('@lid') ? message.from : undefined);
  const language = likelyLanguage(message.text, number, message.chatLanguage);
  return {
    messageId: message.id,
    time: message.timestamp.toISOString(),
    kind: message.kind ?? 'text',
    chat: message.isGroup ? 'group' : 'person',
    ...(message.subject && { subject: message.subject }),
    ...(message.pushName && { name: message.pushName }),
    ...(number && { number }),
    ...(lid && { lid }),
    ...(language && { language: twoLettersOf(language) }),
    ...((quotedText || quotedFrom) && {
      quoted: { ...(quotedText && { text: quotedText }), ...quotedFrom },
    }),
    ...(mentions.length > 0 && {
      mentions: mentions.map(({ id, tag, name }) => ({ id, tag, ...(name !== undefined && { name }) })),
    }),
    ...(message.editOf && { editOf: message.editOf }),
    ...(media && {
      file: {
        kind: media.kind,
        mimeType: media.mimeType,
        ...(media.fileName !== undefined && { fileName: media.fileName }),
        ...(media.sizeBytes !== undefined && { sizeBytes: media.sizeBytes }),
      },
    }),
    ...(message.card && { card: message.card }),
    ...(message.isTranscript && { isTranscript: true }),
  };
}
