import { createHash, randomBytes } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import type { Addressing } from './actors.ts';
import type { MessageReference } from './message-content.ts';

/** A bubble that a person sees. */
export interface ReceivedMessage {
  id: string;
  /** text, caption or emoji after edits; undefined when it has none or was deleted */
  text: string | undefined;
  /** ms since 1970 */
  at: number;
  /** user JID of the account (phone number form), or the group's JID */
  chat: string;
  message: proto.IMessage;
  /** number of later deliveries of the same id */
  repeats: number;
}

/** A reaction of an account to a message. */
export interface ReceivedReaction {
  /** of the message */
  id: string;
  /** empty: an earlier one was removed */
  emoji: string;
  at: number;
}

/** A receipt for a message of this person. */
export interface ReceivedReceipt {
  id: string;
  /** undefined is delivery */
  type: string | undefined;
  at: number;
}

/** Presence of an account. */
export interface ReceivedPresence {
  from: string;
  chat: string;
  state: string;
  at: number;
}

/** The recipient: an account (phone number, JID or phone actor) or a group (JID or group). */
export type Recipient = string | { readonly pn: string } | { readonly jid: string };

/** Options of a message. */
export interface SayOptions {
  to: Recipient;
  /** WhatsApp id; default a new one. A repeated id is the same bubble. */
  id?: string;
  /** only with text: the quoted message */
  quoted?: MessageReference;
  /** ms since 1970; now unless given */
  timestamp?: number;
  /** the address form in a direct chat; default that of the person */
  via?: Addressing;
  /** in a direct chat: the phone's own session of this address form; default `pn`. The other one exists from its first use. */
  session?: Addressing;
  /** what people see of an encrypted change */
  shown?: proto.IMessage;
  /** additional attributes of the stanza, which override its own */
  attrs?: Record<string, string>;
  /** the first delivery cannot be decrypted, and the client must request it again */
  isCorrupt?: boolean;
}

/** The addresses that a phone writes into the key of an encrypted edit. */
export interface EditAddresses {
  author: Addressing;
  editor: Addressing;
}

/** When a person sends receipts: at once, after `receiptDelayMs`, never, or at `releaseReceipts`. */
export interface ReceiptHabit {
  receipts: 'delivery' | 'read' | 'none' | 'hold';
  receiptDelayMs: number;
}

/** Properties of a person. */
export interface PersonOptions {
  /** digits of the phone number */
  phone: string;
  /** digits of the LID; default derived from the phone number */
  lid?: string;
  name?: string;
  /** the default address form of direct messages; default `pn` */
  via?: Addressing;
  /** as of an actor */
  hidden?: Addressing;
  /** a user name, without `@` */
  username?: string;
  habit?: Partial<ReceiptHabit>;
}

/** The 15-digit LID that a phone number has in the emulator, the same in every run. */
export function lidOf(phone: string): string {
  const hash = createHash('sha256').update(phone).digest().readBigUInt64BE();
  return String(100_000_000_000_000n + (hash % 900_000_000_000_000n));
}

/** A message id in the form of phones: 32 hexadecimal digits. */
export function newMessageId(): string {
  return randomBytes(16).toString('hex').toUpperCase();
}
