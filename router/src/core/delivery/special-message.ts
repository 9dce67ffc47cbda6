import { describeCard } from '../messages/message-card.ts';

/** What a sent message is when it is neither text nor file. Message ids are WhatsApp's; `atMs` is when it was made. */
export type SpecialMessage =
  | { kind: 'location'; latitude: number; longitude: number; name?: string; address?: string }
  /** Phones are digits with country code. */
  | { kind: 'contacts'; contacts: Array<{ name: string; phone: string }> }
  /** `selectable` is how many options may be chosen, 0 for any number; `secret` (base64) opens the votes. */
  | { kind: 'poll'; question: string; options: string[]; selectable: number; secret: string }
  /** To a message of the chat; `from` is its writer, a JID, absent for our own. An empty `emoji` removes the reaction. */
  | { kind: 'reaction'; emoji: string; of: string; from?: string; atMs: number }
  /** The text of the message replaces that of our own earlier one. */
  | { kind: 'edit'; of: string; atMs: number }
  /** Deletes our own message for everyone. */
  | { kind: 'deletion'; of: string };

/** A special message as the API shows it: the key of a poll's votes is a secret. */
export type SpecialView =
  | Exclude<SpecialMessage, { kind: 'poll' }>
  | Omit<Extract<SpecialMessage, { kind: 'poll' }>, 'secret'>;

/** What the log of messages shows as the text of a message. */
export function textOfSpecial(special: SpecialMessage): string {
  switch (special.kind) {
    case 'location':
      return describeCard(special);
    case 'contacts':
      return describeCard({
        kind: 'contacts',
        contacts: special.contacts.map(({ name, phone }) => ({ name, phones: [phone] })),
      });
    case 'poll':
      return describeCard(special);
    case 'reaction':
      return special.emoji;
    default:
      return '';
  }
}

/** A special message without the key that opens the votes of a poll. */
export function specialView(special: SpecialMessage): SpecialView {
  if (special.kind !== 'poll') return special;
  const { secret: _, ...shown } = special;
  return shown;
}
