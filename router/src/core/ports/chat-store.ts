import type { ChatId } from '../ids.ts';

/** A pause of a chat: its messages are stored and get no answer. */
export interface ChatPause {
  since: Date;
  /** Absent: until somebody resumes the chat. */
  until?: Date;
  reason?: string;
}

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
  /** The name that the person gave themselves on WhatsApp; absent for a group. */
  name?: string;
  /** When a message was last worked on or sent. */
  activeAt: Date;
  /** When the last message was received. */
  lastReceivedAt?: Date;
  /** Messages whose turn has not ended. */
  unanswered: number;
  pause?: ChatPause;
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
  isPaused?: boolean;
  after?: ChatPosition;
  limit: number;
}

/**
 * The chats of all accounts and their pauses.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface ChatStore {
  list(query: ChatQuery): Promise<ChatRow[]>;
  get(id: ChatId): Promise<ChatRow | undefined>;
  /**
   * Pauses a chat from now on; a pause before it is replaced. A turn that runs is not stopped.
   * @param pause.forMs absent: until it is resumed
   * @returns the chat as it is then; undefined: there is none
   */
  pause(id: ChatId, pause: { forMs?: number; reason?: string }): Promise<ChatRow | undefined>;
  /** Ends the pause of a chat. Idempotent. @returns the chat as it is then; undefined: there is none */
  resume(id: ChatId): Promise<ChatRow | undefined>;
}
