import type { ChatId, NodeId, PhoneNumber } from '../chat-id.ts';
import type { ChatAddress } from '../messages/inbound-message.ts';
import type { Phrase } from '../phrases.ts';
import type { Access } from '../policies/conversation-fields.ts';
import type { PendingTurn } from '../turns/turn.ts';
import type { ChatClaim } from './inbox.ts';

/**
 * `listen-only`: messages are stored and get no answer; `approve`: each answer is a draft until the owner approves it;
 * `auto-reply-loop`: messages that look automatic get no answer, and the first one that a person seems to type ends it.
 */
export type PauseMode = 'listen-only' | 'approve' | 'auto-reply-loop';

/** A pause of a chat. */
interface ChatPause {
  mode: PauseMode;
  since: Date;
  /** Absent: until somebody resumes the chat. */
  until?: Date;
  reason?: string;
  /** The phrase of a reason of wa2ai. */
  phrase?: Phrase | undefined;
}

/** A question of a program to the person, without an answer. */
interface OpenQuestion {
  askedAt: Date;
  /** When the person is reminded, and until when an answer counts. */
  remindAt: Date;
  until: Date;
}

/**
 * Why a chat waits for an operator. `draft`: an answer waits for approval; `stranger`: the chat itself does; `question`: a
 * program asked the person, who was reminded and has not answered; `failed`: dead letters are open; `unanswered`: a message
 * has waited for its answer for five minutes, or came during a pause and nobody has answered since.
 */
export const NEEDS = ['draft', 'stranger', 'question', 'failed', 'unanswered'] as const;

/** The newest message of a chat. */
export interface LastMessage {
  direction: 'incoming' | 'outgoing';
  /** Its first `LAST_MESSAGE_CHARS` characters; empty for a locked chat. */
  text: string;
  /** `text`, the kind of its file, or what else it is. */
  kind: string;
  /** When it was received or queued. */
  at: Date;
  /** Of the message received, or of the one sent. */
  state: string;
}

/** Longest text of `LastMessage`. */
export const LAST_MESSAGE_CHARS = 200;

/** A chat, as the API shows it. */
export interface ChatRow {
  id: ChatId;
  accountId: string;
  /** Address of the chat, as in routes and filters. */
  channelId: string;
  isGroup: boolean;
  phone?: string;
  /** LID of the person, a JID. */
  lid?: string;
  /** User name of the person, without `@`. */
  username?: string;
  /** The name that the person chose, else `@` and the user name, or the name of the group, once a message said it. */
  name?: string;
  /** When a message was last worked on or sent. */
  activeAt: Date;
  /** When the last message was received. */
  lastReceivedAt?: Date;
  /** Messages whose turn has not ended. */
  unanswered: number;
  /** Open dead letters of its messages and replies. */
  failed: number;
  /** Why it waits for an operator, in the order of `NEEDS`. Absent: it does not. */
  needs?: Array<(typeof NEEDS)[number]>;
  /** The newest message, in either direction. Absent: none, or the database cannot read it. */
  lastMessage?: LastMessage;
  /** The owner locked the chat on the phone: its words are not shown outside of it. */
  isLocked?: true;
  pause?: ChatPause;
  /** What the owner decided about it. Absent: the owner was not asked, or not in the last days. */
  access?: Access;
  /** Absent: no program waits for an answer of the person. */
  question?: OpenQuestion;
  /** In lower case, sorted. Absent: none. */
  tags?: string[];
  /** What operators wrote about the chat. */
  notes?: string;
}

/** Where a page of the list begins: after this chat. */
export interface ChatPosition {
  activeAtMs: number;
  id: ChatId;
}

/** Which chats; all conditions must match. Last active first. */
export interface ChatQuery {
  accountId?: string;
  /** One chat, in any of its spellings. */
  channelId?: string;
  /** Only these chats, each in any of its spellings. */
  chats?: readonly string[];
  /** Only of these accounts. */
  accounts?: readonly string[];
  /** It is of the playground, or it is not. */
  isPlayground?: boolean;
  isPaused?: boolean;
  isLocked?: boolean;
  access?: Access;
  /** A draft, or the chat itself, waits for the owner; or neither does. */
  isWaiting?: boolean;
  /** It has `needs`, or it has none. */
  needsYou?: boolean;
  /** A program waits for an answer of the person, or none does. */
  isAsked?: boolean;
  /** Chats whose last message with a route was taken by this one. */
  routeId?: string;
  /** Chats that have this tag. */
  tag?: string;
  /** It has messages whose turn has not ended, or it has none. */
  hasUnanswered?: boolean;
  /** It has open dead letters, or it has none. */
  hasFailed?: boolean;
  /** Part of the name, of the number or of a tag, in upper or lower case. It has no index: combine it with `upTo`. */
  text?: string;
  after?: ChatPosition;
  /** No chats after this one. */
  upTo?: ChatPosition;
  limit: number;
}

/** What the next turn of a chat would read of the chat. */
export type TurnFacts = Pick<
  PendingTurn,
  'chatId' | 'isPaused' | 'isApproving' | 'isInLoop' | 'access' | 'chatState' | 'repliedAtMs'
>;

/** What conditions of routes ask of a chat. */
export interface RouteFacts {
  chatId: ChatId;
  tags: string[];
  /** No message of the chat was answered before. */
  isFirstContact: boolean;
}

/** What became of a question to the owner: it is open, the owner decided before, or the owner was asked too often. */
export interface AccessAsked {
  access: Access | 'over-limit';
  /** Of an open question: when it was first asked, epoch milliseconds. */
  askedAtMs?: number;
  /** The number of the account. */
  ownerPhone?: PhoneNumber;
}

/** A chat after a change; `worker`: the claim on it, when it has messages to answer now. */
export interface ResumedChat {
  chat: ChatRow;
  worker?: ChatClaim;
  isNewWorker: boolean;
}

/** Called with what calls can change of a chat, in the transaction of the change; the Wa2aiError that it throws prevents the change. */
export type ChatCheck = (current: Pick<ChatRow, 'pause' | 'access' | 'tags' | 'notes'>) => void;

/** A session of a person in all chats. Times are epoch milliseconds. */
export interface PersonSession {
  number: number;
  /** 0 for the first. */
  startMs: number;
  /** When it was used before. Absent: never. */
  usedMs?: number;
  /** The last chats in which it was used, with the present one; at most 50. */
  chatIds: ChatId[];
}

/**
 * The chats of all accounts, their pauses, and who of them gets answers.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface ChatStore {
  list(query: ChatQuery): Promise<ChatRow[]>;
  /** Where a search ends that reads so many chats; undefined: it reads all. `text` does not count. */
  searchEnd(query: Omit<ChatQuery, 'limit'>, chats: number): Promise<ChatPosition | undefined>;
  get(id: ChatId): Promise<ChatRow | undefined>;
  /** Of the chat with one of these canonical channelIds; undefined: there is none. */
  turnFacts(accountId: string, channelIds: readonly string[]): Promise<TurnFacts | undefined>;
  /**
   * Of the chat with one of these canonical channelIds, as they are for one of its messages: those answered before it count.
   * @param messageId absent: for the next message
   * @returns undefined: there is no such chat
   */
  routeFacts(
    accountId: string,
    channelIds: readonly string[],
    messageId?: string,
  ): Promise<RouteFacts | undefined>;
  /**
   * Replaces the tags or the notes of a chat; an absent field stays. Empty notes are none.
   * @param change.tags in lower case, each once
   * @returns the chat as it is then; undefined: there is none
   */
  label(
    id: ChatId,
    change: { tags?: readonly string[]; notes?: string },
    check?: ChatCheck,
  ): Promise<ChatRow | undefined>;
  /**
   * Stores whether the owner has locked a chat on the phone. A chat that is locked before its first message is created.
   * Idempotent.
   */
  lock(accountId: string, chat: ChatAddress, isLocked: boolean): Promise<void>;
  /** Stores the name of a group whose chat there is. Idempotent. */
  nameGroup(accountId: string, groupId: string, name: string): Promise<void>;
  /**
   * Pauses a chat from now on; a pause before it is replaced. A turn that runs is not stopped.
   * @param pause.forMs absent: until it is resumed
   * @param pause.mode default: listen-only
   * @returns the chat as it is then; undefined: there is none
   */
  pause(
    id: ChatId,
    pause: { forMs?: number; reason?: string; mode?: PauseMode },
    check?: ChatCheck,
  ): Promise<ChatRow | undefined>;
  /**
   * Ends the pause of a chat. Turns before do not count as an auto-reply loop. Idempotent.
   * @param answerMissed makes messages of the last 7 days that got no answer because of a pause unanswered again, in their order,
   *   and claims the chat for this node when no worker has it
   * @returns undefined: there is no such chat
   */
  resume(id: ChatId, answerMissed?: { node: NodeId }, check?: ChatCheck): Promise<ResumedChat | undefined>;
  /**
   * Stores that the owner is asked about the chat. Changes nothing when the owner decided before, was asked in the last
   * 7 days, or was asked about 3 other chats of the account in the last hour.
   * @returns undefined: there is no such chat
   */
  askAccess(id: ChatId): Promise<AccessAsked | undefined>;
  /**
   * Stores the decision of the owner. After `approved`, messages of the last 7 days that waited for it are
   * unanswered again, in their order, and the chat is claimed for `node` when no worker has it. Idempotent.
   * @returns undefined: there is no such chat
   */
  decideAccess(
    id: ChatId,
    access: 'approved' | 'refused',
    node: NodeId,
    check?: ChatCheck,
  ): Promise<ResumedChat | undefined>;
  /**
   * The session of a person in all chats of an account, which is used in this chat now. The first one has the number 1. Locked
   * chats have no part in it.
   * @returns undefined: this chat is locked
   */
  usePersonSession(accountId: string, person: string, chatId: ChatId): Promise<PersonSession | undefined>;
  /** Begins the next session of the person. Idempotent for each message. */
  startPersonSession(
    accountId: string,
    person: string,
    messageId: string,
  ): Promise<Pick<PersonSession, 'number' | 'startMs'>>;
}
