import type { ChatId } from '../chat-id.ts';
import type { OutgoingMessage, ReplyMedia } from '../models.ts';
import type { Phrase, Said } from '../phrases.ts';
import type { FirstContact } from '../policies/governor.ts';
import type { QueuedReply } from '../turns/turn.ts';
import type { MessageReceipt } from './chat-provider.ts';

/**
 * `queued` → `sending` → `sent` (bytes written) → `acked` → `delivered` → `read`; or `dead`. Only ever moves forward. A `draft` waits
 * for the owner and is sent when the owner approves it.
 */
export type OutboxState = 'draft' | 'queued' | 'sending' | 'sent' | 'acked' | 'delivered' | 'read' | 'dead';

/**
 * Why a reply is dead: sending failed, WhatsApp refused it, WhatsApp refused the first message to its person, WhatsApp has no account
 * with the number, WhatsApp never acknowledged it, its row is unreadable, or processes ended each time while it was sent.
 */
export const DEAD_REPLY_REASONS = [
  'send-failed',
  'send-refused',
  'contact-refused',
  'not-on-whatsapp',
  'never-acknowledged',
  'damaged',
  'process-ended',
] as const;
export type DeadReplyReason = (typeof DEAD_REPLY_REASONS)[number];

/** A number of which only WhatsApp can say whether it has an account. */
export interface NumberToCheck {
  /** Digits. */
  phone: string;
  /** What WhatsApp said at most 30 days ago, or a day for a number without an account; absent: it must be asked. */
  isOnWhatsApp?: boolean;
}

/** Sends of a message that WhatsApp refused for a time before it is dead. */
export const MAX_REFUSALS = 5;

/** A message as it was sent: `content` is the provider's form of one with a file, and contains the file's key. */
export interface SentMessage {
  message: OutgoingMessage;
  content?: Uint8Array;
}

/** Of a message that answers no message. */
export interface DirectOptions {
  idempotencyKey?: string;
  /** A person wrote it: the chat is paused as after a message of the owner (`ChatHistory.unanswered` has it). */
  byHand?: { pauseMs: number };
  /** `source`: what the file was made of, by which a repeat is known. `bytes` may be absent when the key is known. */
  file?: { source: string; bytes?: Uint8Array };
}

/** Ends the sentence of a dead letter whose message WhatsApp acknowledged later. */
export const ACKNOWLEDGED_LATE = ' WhatsApp acknowledged it later.';

/**
 * Replies and other messages to send. A row that cannot be read becomes dead (`damaged`) when it is found among the rows to
 * send; the others continue.
 * @throws {StorageUnavailableError} from every method
 */
export interface Outbox {
  /**
   * Adds a message that answers no message (POST /api/messages), with the bytes of its file. The same idempotencyKey of the
   * account returns the first row and adds nothing; `conflict` when that key was used for another chat or message.
   */
  addDirect(
    message: OutgoingMessage,
    options?: DirectOptions,
  ): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  /** Whether a message was added under this key. */
  hasDirect(accountId: string, idempotencyKey: string): Promise<boolean>;
  /**
   * Not yet acknowledged rows of an account in sending order per chat: `queued`, and `sending`/`sent` left by a crash or
   * lost connection. Without delayed rows.
   */
  undelivered(accountId: string, page: { limit: number; afterId?: string }): Promise<QueuedReply[]>;
  /**
   * Rows to be sent, oldest first: written by other nodes, or after another row. Without delayed rows and those
   * after one in their chat.
   */
  queued(accountId: string, limit: number): Promise<QueuedReply[]>;
  /**
   * `queued` or a repeat → `sending`; false when the row must not be sent: it is past that (acked, dead), delayed, or an
   * older row of its chat is still `queued`. In the last case a repeat becomes `queued`, so that it is sent in its order.
   */
  markSending(outboxId: string): Promise<boolean>;
  markSent(outboxId: string): Promise<void>;
  /** Stores that a row is sent alone, because processes ended while it was sent; or that this ended (Suspects). */
  setAlone(outboxId: string, runsAlone: boolean): Promise<void>;
  /** `dead` with a dead letter of this reason; default `send-failed`. */
  markDead(outboxId: string, error: Said, reason?: DeadReplyReason): Promise<void>;
  /**
   * WhatsApp refused this id with an error ack: `dead` with a dead letter of this reason (default `send-refused`), unless it was
   * acknowledged before. With `delayMs` it goes back to `queued`, delayed for so long, the first four times.
   */
  markRefused(
    accountId: string,
    waMessageId: string,
    error: Said,
    outcome?: { delayMs?: number; reason?: DeadReplyReason },
  ): Promise<void>;
  /** How often the row with this id was sent, and whether it is cold as in `isCold`; undefined: there is none. */
  refusedRow(
    accountId: string,
    waMessageId: string,
  ): Promise<{ attempts: number; isCold: boolean } | undefined>;
  /**
   * Delays a row that WhatsApp has not acknowledged, by the store's clock; it goes back to `queued`. The delay of a row that
   * was sent ends when that clock is set back by more than a minute.
   */
  delay(outboxId: string, forMs: number, why: Said): Promise<void>;
  /** Ends every delay of the account, regardless of the clock. */
  endDelays(accountId: string): Promise<void>;
  /**
   * Whether it goes to a person who never wrote to the account: WhatsApp limits these messages first. False for a group, and
   * for an unknown row.
   */
  isCold(outboxId: string): Promise<boolean>;
  /**
   * What the governor decides about a row with: undefined when it answers a message, goes to a group or to a person who wrote
   * to the account, or is counted already. `number` is absent when WhatsApp knows the person: it named a LID for the number.
   */
  firstContact(outboxId: string): Promise<(FirstContact & { number?: NumberToCheck }) | undefined>;
  /**
   * The number of a person who would be written to first, as `firstContact` has it, before the message is stored. Undefined also
   * when a message was added under this key.
   * @param to JID
   */
  numberToCheck(accountId: string, to: string, idempotencyKey?: string): Promise<NumberToCheck | undefined>;
  /** Keeps WhatsApp's answer about a number. */
  keepNumberCheck(accountId: string, phone: string, isOnWhatsApp: boolean): Promise<void>;
  /**
   * Whether it answers nobody: it goes to a chat in which nobody but the account wrote in the last 24 hours. False for a reply, a message
   * written by hand, and the account's own chat.
   */
  isUnasked(outboxId: string): Promise<boolean>;
  /** The row counts as a first contact that is sent now; in every later attempt too. */
  countFirstContact(outboxId: string): Promise<void>;
  /** Ends the delays of a chat's rows: its person wrote, so that they are not first contacts any more. */
  endDelaysOf(chatId: ChatId): Promise<void>;
  /**
   * Rows that were sent longer than `ackTimeoutMs` ago and that WhatsApp has not acknowledged, oldest first. Each is
   * marked as such in its `error`.
   */
  overdue(
    accountId: string,
    page: { ackTimeoutMs: number; limit: number },
  ): Promise<Array<{ reply: QueuedReply; attempts: number; openForMs: number }>>;
  /** Back to `queued` after a send that certainly did not happen. */
  release(outboxId: string, reason: Said): Promise<void>;
  /**
   * Acks and receipts from WhatsApp, in bulk. Unknown ids, moves backward, and receipts that come from another chat than
   * the row's are ignored. They override what is stored: a dead row counts as sent, and its open dead letter counts as
   * replayed and says so.
   */
  recordReceipts(accountId: string, receipts: MessageReceipt[]): Promise<void>;
  /** The message with this WhatsApp id, for `getMessage`; undefined when unknown. */
  findByWaId(accountId: string, waMessageId: string): Promise<SentMessage | undefined>;
  /**
   * The bytes of a row's file, and its uploaded form once there is one; undefined for a row of text, and for a file that was
   * removed because of its age.
   * @throws {MediaError} the store of the file does not have it, or not now
   */
  fileOf(outboxId: string): Promise<{ bytes: Uint8Array; content?: Uint8Array } | undefined>;
  /**
   * Stores the uploaded form of a row's file, by which every later attempt sends the same message. The first one stays.
   * @returns the form that is kept
   */
  keepContent(outboxId: string, content: Uint8Array): Promise<Uint8Array>;
}

/** An outbox row as the API shows it. */
export interface OutboxRow {
  id: string;
  accountId: string;
  chatId: string;
  to: string;
  waMessageId: string;
  text: string;
  media?: ReplyMedia;
  /** As OutgoingMessage.timerSeconds. */
  timerSeconds?: number;
  state: OutboxState;
  attempts: number;
  error?: string;
  /** The phrase of the error. */
  phrase?: Phrase;
  queuedAt: Date;
  /** Set: it is not sent before. */
  delayedUntil?: Date;
  /** The last attempt. */
  attemptedAt?: Date;
  sentAt?: Date;
  ackedAt?: Date;
  deliveredAt?: Date;
  readAt?: Date;
}
