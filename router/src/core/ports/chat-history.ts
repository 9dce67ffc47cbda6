import type { MessageKind, ReplyMediaKind } from '../models.ts';

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
  replies: Array<{ text: string; media?: ReplyMediaKind }>;
}

/** Longest text of a past turn, in characters. */
export const PAST_TEXT_CHARS = 4_000;

/** @throws {StorageUnavailableError} from every method */
export interface ChatHistory {
  /** Turns of a chat that got a reply, newest first; a turn with several replies appears once for each. */
  answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]>;
  /**
   * Turns of a chat that an agent answered, newest first, without fallback texts.
   * @param except the message whose turn runs: it is not among them
   */
  pastTurns(chatId: string, except: string, limit: number): Promise<PastTurn[]>;
}
