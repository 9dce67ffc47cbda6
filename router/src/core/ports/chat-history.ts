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

/** @throws {StorageUnavailableError} */
export interface ChatHistory {
  /** Turns of a chat that got a reply, newest first; a turn with several replies appears once for each. */
  answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]>;
}
