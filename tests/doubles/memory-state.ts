import type { AgentExchange } from '../../router/src/core/agent-exchange.ts';
import type { SpecialMessage } from '../../router/src/core/delivery/special-message.ts';
import type { StoredDetails, StoredTurn } from '../../router/src/core/messages/chat-identity.ts';
import type { ToUs } from '../../router/src/core/messages/inbound-message.ts';
import type { MediaInfo, MediaKind, Quote } from '../../router/src/core/models.ts';
import type { Phrase } from '../../router/src/core/phrases.ts';
import type { ChatState } from '../../router/src/core/policies/chat-state.ts';
import type { Access } from '../../router/src/core/policies/conversation-fields.ts';
import type { PauseMode, PersonSession } from '../../router/src/core/ports/chat-store.ts';
import type { OutboxRow } from '../../router/src/core/ports/outbox.ts';

type StoredMention = NonNullable<StoredTurn['mentions']>[number];

export interface MemoryChat {
  id: number;
  accountId: string;
  phone?: string;
  lid?: string;
  groupId?: string;
  groupName?: string;
  username?: string;
  replyTo: string;
  workerNode?: string;
  workerEpoch: number;
  policyState?: ChatState;
  /** When a message was last worked on or sent. */
  activeAtMs: number;
  /** 0: messages stay. */
  timerSeconds?: number;
  isLocked?: boolean;
  pause?: { sinceMs: number; untilMs?: number; reason?: string; mode?: PauseMode };
  access?: { state: Access; askedAtMs?: number };
  routeId?: string;
  tags?: string[];
  notes?: string;
}

/** Whether a chat is paused (as SQL's `is_paused`). */
export function isPaused({ pause }: MemoryChat, nowMs: number): boolean {
  return pause !== undefined && (pause.untilMs ?? Number.POSITIVE_INFINITY) > nowMs;
}

const WEEK_MS = 7 * 86_400_000;

/** What the owner decided about a chat (as SQL's `access_of`). */
export function accessOf({ access }: MemoryChat, nowMs: number): Access | undefined {
  const isOver = access?.state === 'pending' && (access.askedAtMs ?? 0) < nowMs - WEEK_MS;
  return isOver ? undefined : access?.state;
}

/** How a chat is paused (as SQL's `pause_mode_of`). */
export function pauseModeOf(chat: MemoryChat, nowMs: number): PauseMode | undefined {
  return isPaused(chat, nowMs) ? (chat.pause?.mode ?? 'listen-only') : undefined;
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
  secret?: Uint8Array;
  editOf?: string;
  edits: number;
  editId?: string;
  mergedInto?: string;
  mentions?: StoredMention[];
  toUs?: ToUs;
  viewOnce?: MediaKind;
  details?: StoredDetails;
  state: 'received' | 'answered' | 'ignored' | 'dead';
  reason?: string;
  error?: string;
  routeId?: string;
  attempts: number;
  clearedAttempts: number;
  suspicion?: number;
  runsAlone?: boolean;
  agentMs?: number;
  trace?: unknown;
  exchanges?: AgentExchange[];
  stanzaOrder: bigint;
  sentAtMs: number;
  receivedAt: Date;
  finishedAt?: Date;
}

/** An outbox row with its internal fields; ids grow in the order of adding. */
export interface MemoryReply extends OutboxRow {
  messageId?: string;
  idempotencyKey?: string;
  /** When it was counted as a first contact. */
  firstContactMs?: number;
  file?: { bytes: Uint8Array; content?: Uint8Array };
  /** As DirectOptions.file. */
  source?: string;
  quote?: Quote;
  mentions?: string[];
  special?: SpecialMessage;
  /** A person wrote it by hand. */
  byHand?: boolean;
  /** It was stored while its turn ran. */
  isPart?: boolean;
  suspicion?: number;
  runsAlone?: boolean;
}

/** The session of a person in all chats. */
export interface MemoryPersonSession extends PersonSession {
  startedBy?: string;
}

export interface MemoryDeadLetter {
  id: number;
  accountId: string;
  chatId: number;
  messageId?: string;
  outboxId?: string;
  reason: string;
  error: string;
  phrase?: Phrase;
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
  /** What WhatsApp said about numbers, by account and number. */
  readonly numbers = new Map<string, { isOnWhatsApp: boolean; atMs: number }>();
  readonly outbox = new Map<string, MemoryReply>();
  /** By `account person`. */
  readonly personSessions = new Map<string, MemoryPersonSession>();
  readonly deadLetters: MemoryDeadLetter[] = [];
  readonly questions: MemoryQuestion[] = [];
  /** `account lid` → number. */
  readonly lids = new Map<string, string>();
  /** Messages for which an agent has opened a task. */
  readonly withTask = new Set<string>();
  /** Numbers of the accounts. */
  readonly ownerPhones = new Map<string, string>();
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

  /** Makes messages of a chat unanswered again (as SQL's `requeue_ignored`). */
  requeueIgnored(chatId: number, reasons: readonly string[]): void {
    for (const message of this.messagesOf(chatId)) {
      const isWaiting = message.state === 'ignored' && reasons.includes(message.reason ?? '');
      const isNew = message.receivedAt.getTime() > this.now() - WEEK_MS;
      if (!isWaiting || !isNew || (message.text === '' && message.kind === 'text')) continue;
      Object.assign(message, {
        state: 'received',
        reason: undefined,
        error: undefined,
        finishedAt: undefined,
      });
    }
  }

  /** Unanswered messages of a chat in the order of their turns. */
  received(chatId: number): MemoryMessage[] {
    return this.messagesOf(chatId)
      .filter((message) => message.state === 'received')
      .sort((a, b) => Number(a.stanzaOrder - b.stanzaOrder) || a.id - b.id);
  }
}
