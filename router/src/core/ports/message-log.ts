import type { MediaInfo } from '../models.ts';
import type { OutboxRow } from './outbox.ts';

/** One message that came in, and what became of it, as the API shows it. */
export interface MessageRow {
  id: string;
  accountId: string;
  chatId: string;
  channelId: string;
  waMessageId: string;
  from: string;
  fromLid?: string;
  pushName?: string;
  kind: string;
  text: string;
  quotedText?: string;
  /** What its file is; the bytes are nowhere in the log. */
  media?: MediaInfo;
  state: string;
  reason?: string;
  error?: string;
  routeId?: string;
  attempts: number;
  agentMs?: number;
  trace?: unknown;
  sentAt: Date;
  receivedAt: Date;
  finishedAt?: Date;
  replies: OutboxRow[];
}

export interface DeadLetterRow {
  id: string;
  accountId: string;
  chatId: string;
  /** The message that got no answer, or the one whose reply was not sent. */
  messageId?: string;
  /** The reply that was not sent. */
  outboxId?: string;
  reason: string;
  error: string;
  attempts: number;
  trace?: unknown;
  createdAt: Date;
  replayedAt?: Date;
}

/** `before` pages backward: rows older than this id. Newest first. */
export interface LogQuery {
  accountId?: string;
  channelId?: string;
  state?: string;
  /** Dead letters only: exactly this reason. */
  reason?: string;
  before?: string;
  limit: number;
}

/** What is not ended yet, in all accounts. */
export interface OpenWork {
  /** Messages whose turn has not ended. */
  messages: number;
  /** How long the oldest of them has waited, in milliseconds; 0 when there is none. */
  oldestMessageMs: number;
  /** Replies that WhatsApp has not acknowledged: `queued`, `sending`, `sent`. States without any are left out. */
  replies: Record<string, number>;
  /** Replies that WhatsApp took and has not acknowledged in time; among `replies`. */
  unacknowledged: number;
  /** Dead letters that were not replayed. */
  deadLetters: number;
}

/** Reads what came in and what became of it. @throws {StorageUnavailableError} */
export interface MessageLog {
  messages(query: LogQuery): Promise<MessageRow[]>;
  message(id: string): Promise<MessageRow | undefined>;
  deadLetters(query: LogQuery): Promise<DeadLetterRow[]>;
  /** What is open, for metrics. As cheap with millions of ended messages as with none. */
  openWork(): Promise<OpenWork>;
}
