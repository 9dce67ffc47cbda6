import type { OutgoingMessage } from '../models.ts';
import type { QueuedReply } from './inbox.ts';

/** `queued` → `sending` → `sent` (bytes written) → `acked` → `delivered` → `read`; or `dead`. Only ever moves forward. */
export type OutboxState = 'queued' | 'sending' | 'sent' | 'acked' | 'delivered' | 'read' | 'dead';

/** Moves of outbox rows by WhatsApp id. @throws {StorageUnavailableError} from every method */
export interface Outbox {
  /**
   * Adds a message that no turn asked for (POST /api/messages). The same idempotencyKey of the account gives the first
   * row back and adds nothing; `conflict` when that key was used for another chat or text.
   */
  addDirect(
    message: OutgoingMessage,
    idempotencyKey?: string,
  ): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  /** Not yet acknowledged rows of an account in sending order per chat: `queued`, and `sending`/`sent` left by a crash or drop. */
  undelivered(accountId: string, page: { limit: number; afterId?: string }): Promise<QueuedReply[]>;
  /** Rows that nobody tried yet, oldest first: those that other nodes wrote, and those that had to wait. */
  queued(accountId: string, limit: number): Promise<QueuedReply[]>;
  /**
   * `queued` or a repeat → `sending`; false when the row must not be sent: it is past that (acked, dead), or an older
   * row of its chat is still `queued`.
   */
  markSending(outboxId: string): Promise<boolean>;
  markSent(outboxId: string): Promise<void>;
  markDead(outboxId: string, reason: string): Promise<void>;
  /** WhatsApp refused this id with an error ack: `dead` with a dead letter, unless it was acknowledged before. */
  markRefused(accountId: string, waMessageId: string, reason: string): Promise<void>;
  /** Back to `queued` after a send that surely did not happen. */
  release(outboxId: string, reason: string): Promise<void>;
  /** Acks and receipts from WhatsApp, in bulk; unknown ids and moves backward are ignored. */
  recordReceipts(
    accountId: string,
    receipts: Array<{ waMessageId: string; state: 'acked' | 'delivered' | 'read'; atMs: number }>,
  ): Promise<void>;
  /** The message with this WhatsApp id, for `getMessage`; undefined when unknown. */
  findByWaId(accountId: string, waMessageId: string): Promise<OutgoingMessage | undefined>;
}

/** An outbox row as the API shows it. */
export interface OutboxRow {
  id: string;
  accountId: string;
  chatId: string;
  to: string;
  waMessageId: string;
  text: string;
  state: OutboxState;
  attempts: number;
  error?: string;
  queuedAt: Date;
  sentAt?: Date;
  ackedAt?: Date;
  deliveredAt?: Date;
  readAt?: Date;
}
