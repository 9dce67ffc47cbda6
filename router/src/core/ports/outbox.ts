import type { OutgoingMessage, ReplyMedia } from '../models.ts';
import type { MessageReceipt } from './chat-provider.ts';
import type { QueuedReply } from './inbox.ts';

/** `queued` → `sending` → `sent` (bytes written) → `acked` → `delivered` → `read`; or `dead`. Only ever moves forward. */
export type OutboxState = 'queued' | 'sending' | 'sent' | 'acked' | 'delivered' | 'read' | 'dead';

/** Why a reply that was to be sent is dead: on the way, by WhatsApp's word, for want of any word from it, or unreadable. */
export type DeadReplyReason = 'send-failed' | 'send-refused' | 'never-acknowledged' | 'damaged';

/** How often a message that WhatsApp refused for a time is sent in all before it is dead. */
export const MAX_REFUSALS = 5;

/** A message as it went out: `content` is the provider's own form of one with a file, which holds the file's key. */
export interface SentMessage {
  message: OutgoingMessage;
  content?: Uint8Array;
}

/** Ends the sentence of a dead letter whose message WhatsApp acknowledged all the same. */
export const ACKNOWLEDGED_LATE = ' WhatsApp acknowledged it later.';

/**
 * Moves of outbox rows by WhatsApp id. A row that cannot be read is dead (`damaged`) as soon as it is met among those to be
 * sent; the others go on.
 * @throws {StorageUnavailableError} from every method
 */
export interface Outbox {
  /**
   * Adds a message that no turn asked for (POST /api/messages). The same idempotencyKey of the account gives the first
   * row back and adds nothing; `conflict` when that key was used for another chat or text.
   */
  addDirect(
    message: OutgoingMessage,
    idempotencyKey?: string,
  ): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  /**
   * Not yet acknowledged rows of an account in sending order per chat: `queued`, and `sending`/`sent` left by a crash or
   * drop. Without those on hold.
   */
  undelivered(accountId: string, page: { limit: number; afterId?: string }): Promise<QueuedReply[]>;
  /**
   * Rows that nobody tried yet, oldest first: those that other nodes wrote, and those that had to wait. Without those on
   * hold and those behind one in their chat.
   */
  queued(accountId: string, limit: number): Promise<QueuedReply[]>;
  /**
   * `queued` or a repeat → `sending`; false when the row must not be sent: it is past that (acked, dead), on hold, or an
   * older row of its chat is still `queued`.
   */
  markSending(outboxId: string): Promise<boolean>;
  markSent(outboxId: string): Promise<void>;
  /** `dead` with a dead letter of this reason; default `send-failed`. */
  markDead(outboxId: string, error: string, reason?: DeadReplyReason): Promise<void>;
  /**
   * WhatsApp refused this id with an error ack: `dead` with a dead letter, unless it was acknowledged before. With
   * `holdForMs` it goes back to `queued`, on hold for so long, the first four times.
   */
  markRefused(accountId: string, waMessageId: string, error: string, holdForMs?: number): Promise<void>;
  /** Holds a row that WhatsApp has not acknowledged for a time, by the store's clock; it goes back to `queued`. */
  hold(outboxId: string, forMs: number, why: string): Promise<void>;
  /** Ends every hold of the account: what they waited for is over, whatever the clock says. */
  endHolds(accountId: string): Promise<void>;
  /**
   * Whether it goes to somebody who never wrote to the account: the sends that WhatsApp limits first. A group is none, nor
   * is a row that is not there.
   */
  isCold(outboxId: string): Promise<boolean>;
  /**
   * Rows that were tried longer than `ackTimeoutMs` ago and that WhatsApp has not acknowledged, oldest first. Each is
   * noted as such in its `error`.
   */
  overdue(
    accountId: string,
    page: { ackTimeoutMs: number; limit: number },
  ): Promise<Array<{ reply: QueuedReply; attempts: number; openForMs: number }>>;
  /** Back to `queued` after a send that surely did not happen. */
  release(outboxId: string, reason: string): Promise<void>;
  /**
   * Acks and receipts from WhatsApp, in bulk. Unknown ids, moves backward, and receipts that come from another chat than
   * the row's are ignored. They are the truth: a row that was given up is sent after all, and its open dead letters count
   * as replayed and say so.
   */
  recordReceipts(accountId: string, receipts: MessageReceipt[]): Promise<void>;
  /** The message with this WhatsApp id, for `getMessage`; undefined when unknown. */
  findByWaId(accountId: string, waMessageId: string): Promise<SentMessage | undefined>;
  /** The bytes of a row's file, and its uploaded form once there is one; undefined for a row of text. */
  fileOf(outboxId: string): Promise<{ bytes: Uint8Array; content?: Uint8Array } | undefined>;
  /**
   * Keeps the uploaded form of a row's file, by which every later try sends the very same message. The first one stays.
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
  state: OutboxState;
  attempts: number;
  error?: string;
  queuedAt: Date;
  /** Set: it is not sent before. */
  holdUntil?: Date;
  /** The last try. */
  triedAt?: Date;
  sentAt?: Date;
  ackedAt?: Date;
  deliveredAt?: Date;
  readAt?: Date;
}
