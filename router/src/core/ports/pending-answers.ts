import type { ChatId } from '../chat-id.ts';
import type { ReplyMedia } from '../models.ts';
import type { NewReply, QueuedReply } from '../turns/turn.ts';

/** The answer of an agent to a message, which waits for the owner. */
export interface Draft {
  /** Id of the message that it answers. */
  id: string;
  accountId: string;
  chatId: ChatId;
  /** Address of the chat, as in routes and filters. */
  channelId: string;
  /** The name that the person gave themselves on WhatsApp. */
  pushName?: string;
  /** The name of the group; absent for a person, and until WhatsApp has said it. */
  groupName?: string;
  /** The message that it answers. */
  question: string;
  /** When its first part was stored. */
  createdAt: Date;
  /** Its parts, in the order in which they would be sent. */
  replies: Array<{ text: string; media?: ReplyMedia }>;
}

/** Which drafts, oldest message first; `chats` and `channelId` in any of their spellings. */
export interface DraftQuery {
  /** Absent: of every account. */
  accountId?: string;
  /** Only drafts of these accounts. */
  accounts?: readonly string[];
  channelId?: string;
  chats?: readonly string[];
  /** Only drafts of messages with a larger id. */
  after?: string;
  limit: number;
}

/**
 * Answers that wait for the owner: those of chats that are paused in the mode `approve`.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface Drafts {
  list(query: DraftQuery): Promise<Draft[]>;
  get(id: string): Promise<Draft | undefined>;
  /**
   * Queues the parts of a draft, once.
   * @param text replaces the texts of all parts; files stay
   * @returns the replies to deliver; undefined: there is no such draft, or it was decided before
   */
  approve(id: string, text?: string): Promise<QueuedReply[] | undefined>;
  /** Removes a draft. @returns false: there is no such draft, or it was decided before */
  drop(id: string): Promise<boolean>;
}

/** `waiting`: another question of the chat is open · `open`: the person's next message answers it. */
export type QuestionState = 'waiting' | 'open' | 'answered' | 'closed';

export interface NewQuestion {
  /** That of its task. */
  id: string;
  accountId: string;
  /** The person, a JID. */
  to: string;
  /** When to remind the person, and until when an answer counts; from now. */
  remindMs: number;
  deadlineMs: number;
}

/** A stored question. Times are from now, by the store's clock; negative when they are over. */
export interface Question {
  state: QuestionState;
  remindMs: number;
  deadlineMs: number;
  answer?: string;
}

/**
 * Questions to people. At most one is open per chat; the others of the chat wait, in the order in which they were added.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface Questions {
  /** Idempotent: a question that is known stays as it is. */
  add(question: NewQuestion): Promise<void>;
  /** Opens a waiting question if it is its turn. @returns its state; `closed` when there is none */
  open(id: string): Promise<QuestionState>;
  get(id: string): Promise<Question | undefined>;
  /** Closes a question that has no answer. Idempotent. */
  close(id: string): Promise<void>;
  /**
   * Gives a message to the open question of its chat; the same message always gets the same question. A message that came
   * before the question was asked, an edit, and a message without text are not answers.
   * @returns the id of the question; undefined: the message answers none
   */
  answer(chatId: ChatId, messageId: string): Promise<string | undefined>;
  /** The chats in which `answer` may find a question. */
  chats(): Promise<ChatId[]>;
}

/** How long an agent may answer by a token, in milliseconds. */
export const REPLY_TOKEN_VALID_MS = 24 * 60 * 60 * 1_000;

/**
 * What a token is good for. `used`: its message was answered, by this token, by another one, or in its turn · `unknown`:
 * never issued, or removed after it expired.
 */
export type ReplyTokenState = 'valid' | 'used' | 'expired' | 'unknown';

/** A reply of a late answer; it goes to the chat of the message. */
export type LateReply = Pick<NewReply, 'waMessageId' | 'text' | 'media' | 'file'>;

/** The end of a late answer: stored with its replies, or why nothing was stored. */
export type LateAnswer =
  | { outcome: 'stored'; replies: QueuedReply[] }
  | { outcome: Exclude<ReplyTokenState, 'valid'> };

/**
 * Tokens by which agents answer messages later. A token is a secret: only its hash is stored.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface ReplyTokens {
  /** A new token for a message, 256 random bits in 43 characters of base64url. */
  issue(messageId: string): Promise<string>;
  stateOf(token: string): Promise<ReplyTokenState>;
  /** The route of the token's message; undefined while its turn runs, and for an unknown token. */
  routeOf(token: string): Promise<string | undefined>;
  /**
   * Stores the replies of a late answer behind all earlier replies of the chat. At most one call for a message succeeds.
   * A message that was given up counts as answered then, and its dead letter as replayed.
   */
  redeem(token: string, replies: readonly LateReply[]): Promise<LateAnswer>;
}
