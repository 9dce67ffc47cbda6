import type { ChatId } from '../ids.ts';
import type { ReplyMedia } from '../models.ts';
import type { QueuedReply } from '../turns/turn.ts';

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
  /** The message that it answers. */
  question: string;
  /** When its first part was stored. */
  createdAt: Date;
  /** Its parts, in the order in which they would be sent. */
  replies: Array<{ text: string; media?: ReplyMedia }>;
}

/** Which drafts, oldest message first; `chats` and `channelId` in any of their spellings. */
export interface DraftQuery {
  accountId: string;
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
