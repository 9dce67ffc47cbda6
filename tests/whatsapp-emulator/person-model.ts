import { createHash, randomBytes } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import type { Addressing } from './actors.ts';
import type { MessageReference } from './message-content.ts';

/** A bubble in front of a person. */
export interface ReceivedMessage {
  id: string;
  /** text, caption or emoji as it stands after edits; undefined for what has none, or was deleted */
  text: string | undefined;
  /** ms since 1970 */
  at: number;
  /** user JID of the account (phone number form), or the group's JID */
  chat: string;
  message: proto.IMessage;
  /** how often the same id came again since */
  repeats: number;
}

/** A receipt for a message of this person. */
export interface ReceivedReceipt {
  id: string;
  /** undefined is delivery */
  type: string | undefined;
  at: number;
}

/** Presence that an account showed. */
export interface ReceivedPresence {
  from: string;
  chat: string;
  state: string;
  at: number;
}

/** Whom to write to: an account (phone number, JID or phone actor) or a group (JID or group). */
export type Recipient = string | { readonly pn: string } | { readonly jid: string };

/** How to say something. */
export interface SayOptions {
  to: Recipient;
  /** WhatsApp id; a fresh one unless given. The same id again is the same bubble. */
  id?: string;
  /** only with text: the message that this one answers */
  quoted?: MessageReference;
  /** ms since 1970; now unless given */
  timestamp?: number;
  /** which of the person's two addresses a direct chat shows; as the person was made unless given */
  via?: Addressing;
  /** more attributes of the stanza, over those it would have */
  attrs?: Record<string, string>;
  /** the first delivery does not decrypt, and the client has to ask for it again */
  isCorrupt?: boolean;
}

/** Which receipts a person sends: at once, after `receiptDelayMs`, never, or kept until `releaseReceipts`. */
export interface ReceiptHabit {
  receipts: 'delivery' | 'read' | 'none' | 'hold';
  receiptDelayMs: number;
}

/** Properties of a person. */
export interface PersonOptions {
  /** digits of the phone number */
  phone: string;
  /** digits of the LID; derived from the phone number unless given */
  lid?: string;
  name?: string;
  /** the address that direct messages show unless `say` says otherwise; `pn` unless given */
  via?: Addressing;
  habit?: Partial<ReceiptHabit>;
}

/** The 15-digit LID that a phone number has in the emulator, the same in every run. */
export function lidOf(phone: string): string {
  const hash = createHash('sha256').update(phone).digest().readBigUInt64BE();
  return String(100_000_000_000_000n + (hash % 900_000_000_000_000n));
}

/** A message id as phones make them: 32 hexadecimal digits. */
export function newMessageId(): string {
  return randomBytes(16).toString('hex').toUpperCase();
}
