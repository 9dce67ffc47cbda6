import type { StoredMention } from '../../router/src/core/messages/chat-identity.ts';
import type { MessageState } from '../../router/src/core/messages/inbound-message.ts';
import type { MediaInfo } from '../../router/src/core/models.ts';
import type { OutboxRow } from '../../router/src/core/ports/outbox.ts';

export interface MemoryChat {
  id: number;
  accountId: string;
  phone?: string;
  lid?: string;
  groupId?: string;
  replyTo: string;
  workerNode?: string;
  workerEpoch: number;
  /** When a message was last worked on or sent. */
  activeAtMs: number;
  pause?: { sinceMs: number; untilMs?: number; reason?: string };
}

/** Whether the messages of a chat get no answer (as SQL's `is_paused`). */
export function isPaused({ pause }: MemoryChat, nowMs: number): boolean {
  return pause !== undefined && (pause.untilMs ?? Number.POSITIVE_INFINITY) > nowMs;
}

export interface MemoryMessage {
  id: number;
  accountId: string;
  chatId: number;
  waMessageId: string;
  senderPhone?: string;
  senderLid?: string;
  pushName?: string;
  kind: string;
  text: string;
  quotedText?: string;
  media?: MediaInfo;
  mediaRef?: string;
  editOf?: string;
  mentions?: StoredMention[];
  state: MessageState;
  reason?: string;
  error?: string;
  routeId?: string;
  attempts: number;
  clearedAttempts: number;
  agentMs?: number;
  trace?: unknown;
  stanzaOrder: bigint;
  sentAtMs: number;
  receivedAt: Date;
  finishedAt?: Date;
}

/** An outbox row with its internal fields; ids grow in the order of adding. */
export interface MemoryReply extends OutboxRow {
  messageId?: string;
  idempotencyKey?: string;
  file?: { bytes: Uint8Array; content?: Uint8Array };
}

export interface MemoryDeadLetter {
  id: number;
  accountId: string;
  chatId: number;
  messageId?: string;
  outboxId?: string;
  reason: string;
  error: string;
  attempts: number;
  trace?: unknown;
  createdAt: Date;
  failedAt: Date;
  replayedAt?: Date;
  closedAt?: Date;
}

/** A question to a person. */
export interface MemoryQuestion {
  id: string;
  chatId: number;
  state: 'waiting' | 'open' | 'answered' | 'closed';
  askedAtMs: number;
  remindAtMs: number;
  deadlineAtMs: number;
  messageId?: string;
  answer?: string;
}

/** The tables of one test, shared by the in-memory stores as PostgreSQL is shared by the real ones. */
export class MemoryState {
  readonly chats = new Map<number, MemoryChat>();
  readonly messages = new Map<number, MemoryMessage>();
  readonly outbox = new Map<string, MemoryReply>();
  readonly deadLetters: MemoryDeadLetter[] = [];
  readonly questions: MemoryQuestion[] = [];
  /** `account lid` → number. */
  readonly lids = new Map<string, string>();
  readonly now: () => number;
  #lastId = 0;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  time(): Date {
    return new Date(this.now());
  }

  messagesOf(chatId: number): MemoryMessage[] {
    return [...this.messages.values()].filter((message) => message.chatId === chatId);
  }

  /** Adds a dead letter, or updates and re-opens the one of the same message or reply. */
  addDeadLetter(letter: Omit<MemoryDeadLetter, 'id' | 'createdAt' | 'failedAt'>): void {
    const known = this.deadLetters.find(
      (other) => (other.outboxId ?? other.messageId) === (letter.outboxId ?? letter.messageId),
    );
    const failedAt = this.time();
    if (known) Object.assign(known, letter, { failedAt, replayedAt: undefined, closedAt: undefined });
    else this.deadLetters.push({ ...letter, id: this.nextId(), createdAt: failedAt, failedAt });
  }

  /** Unanswered messages of a chat in the order of their turns. */
  received(chatId: number): MemoryMessage[] {
    return this.messagesOf(chatId)
      .filter((message) => message.state === 'received')
      .sort((a, b) => Number(a.stanzaOrder - b.stanzaOrder) || a.id - b.id);
  }
}
