import type { AgentExchange } from '../agent-exchange.ts';
import type { SpecialView } from '../delivery/special-message.ts';
import type { MessageCard } from '../messages/message-card.ts';
import type { MediaInfo, MediaKind, MessageKind, Quote } from '../models.ts';
import type { Phrase } from '../phrases.ts';
import type { FirstContact } from '../policies/governor.ts';
import type { StoredMessageToRoute } from '../routing/when.ts';
import type { OutboxRow, OutboxState } from './outbox.ts';

/** A message received, with its result, as the API shows it. */
export interface ReceivedMessage {
  direction: 'incoming';
  id: string;
  accountId: string;
  /** Id of the stored chat. */
  chatId: string;
  /** Address of the chat, as in routes and filters. */
  channelId: string;
  /** User name of the chat's person, without `@`. */
  username?: string;
  waMessageId: string;
  /** JID of the person who wrote it. */
  from: string;
  fromLid?: string;
  pushName?: string;
  kind: string;
  text: string;
  quotedText?: string;
  /** The WhatsApp id of the message that this one edits. */
  editOf?: string;
  /** The WhatsApp id of the message that this one deletes or reacts to. */
  about?: string;
  /** It was edited so often before its answer; `text` is the last version. Absent: never. */
  edits?: number;
  /** What it has besides text and file. */
  card?: MessageCard;
  /** The kind of a file that could be seen once; it is not stored. */
  viewOnce?: MediaKind;
  /** What its file is. The bytes are not part of the log. */
  media?: MediaInfo;
  /** Its file can be loaded. */
  hasFile?: true;
  state: string;
  reason?: string;
  error?: string;
  /** The phrase of the error. */
  phrase?: Phrase;
  routeId?: string;
  attempts: number;
  agentMs?: number;
  trace?: unknown;
  sentAt: Date;
  receivedAt: Date;
  finishedAt?: Date;
  replies: SentMessageRow[];
}

/** A message sent or to be sent: a reply, or one from `POST /api/messages`. */
export interface SentMessageRow extends OutboxRow {
  direction: 'outgoing';
  channelId: string;
  username?: string;
  /** The message that it replies to. */
  messageId?: string;
  /** Why it is dead. */
  reason?: string;
  /** Its dead letter, while there is one. */
  deadLetterId?: string;
  /** A person wrote it by hand, through the API. */
  byHand?: true;
  /** wa2ai itself wrote it: a notice of a slow answer, or a text for the owner. */
  isNotice?: true;
  /** What it is when it is neither text nor file, without secrets. */
  special?: SpecialView;
  /** The message that it quotes. */
  quote?: Quote;
  /** The bytes of its file are stored. */
  hasFile?: true;
}

/** The dead letters with one reason. */
export interface DeadLetterGroup {
  reason: string;
  count: number;
  /** When the last of them failed. */
  newestAt: Date;
  oldestAt: Date;
  /** The error of the newest, and its phrase. */
  error: string;
  phrase?: Phrase;
}

/** Which dead letters a group counts. */
export type DeadLetterGroupQuery = Pick<
  DeadLetterQuery,
  'accountId' | 'channelId' | 'chats' | 'accounts' | 'state'
>;

export type DeadLetterState = 'open' | 'replayed' | 'closed';

/** A message without an answer, or a reply that was not sent. Each has at most one. */
export interface DeadLetterRow {
  id: string;
  accountId: string;
  chatId: string;
  channelId: string;
  username?: string;
  /** The message without an answer, or the one whose reply was not sent. */
  messageId?: string;
  /** The reply, or the message of an admin, that was not sent. */
  outboxId?: string;
  state: DeadLetterState;
  reason: string;
  error: string;
  phrase?: Phrase;
  attempts: number;
  /** JID of the person who wrote the message; absent for a message of an admin. */
  from?: string;
  pushName?: string;
  /** The name of the group; absent for a person, and until WhatsApp has said it. */
  groupName?: string;
  /** JID of the chat that the reply was for. */
  to?: string;
  /** Text of the reply if it was not sent, else of the message. */
  text: string;
  trace?: unknown;
  createdAt: Date;
  /** When it last failed: later than `createdAt` if a replay failed. */
  failedAt: Date;
  replayedAt?: Date;
  closedAt?: Date;
}

/** What every list of the log filters by. */
interface LogFilter {
  accountId?: string;
  /** One chat, in any of its spellings. */
  channelId?: string;
  /** Id of one stored chat. */
  chatId?: string;
  /** Only these chats, each in any of its spellings. */
  chats?: readonly string[];
  /** Only of these accounts. */
  accounts?: readonly string[];
  /** The person who wrote the message: a number or a LID JID, in canonical form. */
  from?: string;
  /** Only rows with a smaller id. */
  before?: string;
  /** Only rows with a larger id. */
  after?: string;
  /** Received, queued or failed at or after this time. */
  since?: Date;
  /** Received, queued or failed before this time. */
  until?: Date;
  /** Default: newest first. */
  isOldestFirst?: boolean;
  limit: number;
}

/** Filter of messages sent. */
export interface SentQuery extends Omit<LogFilter, 'from'> {
  state?: OutboxState;
  /**
   * Part of the text, in upper or lower case. It has no index: combine it with `before` and `after`. Messages of locked chats are
   * found only where the chat is named.
   */
  text?: string;
}

/** Filter of messages received. */
export interface MessageQuery extends LogFilter {
  state?: string;
  routeId?: string;
  /** As in SentQuery. */
  text?: string;
}

export interface DeadLetterQuery extends LogFilter {
  state?: DeadLetterState;
  reason?: string;
}

/** Unfinished work of all accounts. */
export interface OpenWork {
  /** Messages whose turn has not ended. */
  messages: number;
  /** Age of the oldest of them, in milliseconds; 0 if there is none. */
  oldestMessageMs: number;
  /** Replies that WhatsApp has not acknowledged, by state: `queued`, `sending`, `sent`. A state without any is absent. */
  replies: Record<string, number>;
  /** Those among `replies` that WhatsApp has not acknowledged in time. */
  unacknowledged: number;
  /** Open dead letters. */
  deadLetters: number;
  /** Events that wait for webhooks. */
  webhookEvents: number;
}

/** What an account has not sent yet. */
export interface OutgoingWork {
  /** Messages that wait for their turn, or for a connection. */
  queued: number;
  /** Messages that are not sent before a time, by the reason for it. `until`: of the first one. */
  delayed: Array<{ why: string; phrase?: Phrase; messages: number; until: Date }>;
}

/**
 * Reads messages received and sent, and dead letters. A row whose text the database cannot read is returned without it.
 * @throws {StorageUnavailableError} from every method
 */
export interface MessageLog {
  /** Messages received. */
  messages(query: MessageQuery): Promise<ReceivedMessage[]>;
  /** Ids of messages received and sent come from one sequence: an id is of one of them. */
  message(id: string): Promise<ReceivedMessage | undefined>;
  /**
   * The requests to agents for a message received, with their answers, of its last five turns, oldest first. Empty: none are
   * stored, or not any more.
   */
  exchanges(id: string): Promise<AgentExchange[]>;
  /**
   * The newest messages that a route was chosen for, or will be, newest first; without those whose text is not stored any more,
   * and among the last 50,000 messages received and sent.
   * One whose text the database cannot read has the text ``.
   */
  messagesToRoute(query: { accountId?: string; limit: number }): Promise<StoredMessageToRoute[]>;
  /** Messages sent or to be sent: replies and those of an admin. */
  sentMessages(query: SentQuery): Promise<SentMessageRow[]>;
  sentMessage(id: string): Promise<SentMessageRow | undefined>;
  /** Id of the newest message, received or sent; undefined when there is none. */
  newestId(): Promise<string | undefined>;
  /**
   * Where a search ends that reads, newest first, at most `rows` messages received and as many sent of one chat: it reads those
   * with a larger id.
   * @param chat.before only messages with a smaller id
   * @returns undefined: it reads all
   */
  searchEnd(
    chat: Pick<LogFilter, 'accountId' | 'channelId' | 'chatId' | 'before'>,
    rows: number,
  ): Promise<string | undefined>;
  deadLetters(query: DeadLetterQuery): Promise<DeadLetterRow[]>;
  deadLetter(id: string): Promise<DeadLetterRow | undefined>;
  /** Dead letters by reason, the largest group first. */
  deadLetterGroups(query: DeadLetterGroupQuery): Promise<DeadLetterGroup[]>;
  /** For metrics. Reads unfinished rows only, so the number of finished ones does not matter. */
  openWork(): Promise<OpenWork>;
  outgoingWork(accountId: string): Promise<OutgoingWork>;
  /** What the governor counts of an account. */
  firstContacts(accountId: string): Promise<FirstContact>;
}

/** A reply of wa2ai with the message that it answered. Times are the database's, epoch milliseconds. */
export interface EarlierTurn {
  /** LID of the person who wrote the message, else the number; bare digits. */
  sender: string;
  text: string;
  receivedAtMs: number;
  /** When the reply was stored, which is before it was sent. */
  repliedAtMs: number;
  replyText: string;
}

/** A message that an agent answered, with its replies. Texts are cut after `PAST_TEXT_CHARS` characters. */
export interface PastTurn {
  /** LID of the person who wrote the message, else the number; bare digits. */
  sender: string;
  /** The name that the person gave themselves on WhatsApp. */
  pushName?: string;
  kind: MessageKind;
  /** Empty for a file without a caption, and when retention removed it. */
  text: string;
  /** In the order in which they were sent, at least one; replies that could not be sent are not among them. */
  replies: Array<{ text: string; media?: MediaKind }>;
}

/** Longest text of a past turn, in characters. */
export const PAST_TEXT_CHARS = 4_000;

/** A message that no agent got; `isOwner`: the account's owner wrote it by hand. The text is cut after `PAST_TEXT_CHARS` characters. */
export interface UnansweredMessage {
  sender: string;
  isOwner?: boolean;
  pushName?: string;
  kind: MessageKind;
  text: string;
}

/** @throws {StorageUnavailableError} from every method */
export interface ChatHistory {
  /** Turns of a chat that got a reply, newest first; a turn with several replies appears once for each. */
  answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]>;
  /**
   * Turns of a chat that an agent answered, newest first, without fallback texts and answers to commands.
   * @param except the message whose turn runs: it is not among them
   * @param sinceMs only messages that were received at or after this time
   * @param person only messages of this person, in these chats instead of one
   */
  pastTurns(
    chatId: string,
    except: string,
    limit: number,
    sinceMs?: number,
    person?: { sender: string; chatIds: readonly string[] },
  ): Promise<PastTurn[]>;
  /**
   * Messages of a chat before this one that were ignored for one of these reasons since the last one that was answered,
   * newest first; with `owner-message` among the reasons also those that a person sent through the API. `pushName` is that of
   * the message, or the newest that the person had in the chat.
   */
  unanswered(
    chatId: string,
    before: string,
    reasons: readonly string[],
    limit: number,
  ): Promise<UnansweredMessage[]>;
}
