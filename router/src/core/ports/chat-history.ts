import type { MediaKind, MessageKind } from '../models.ts';

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
