/** A reply of ours with the message that it answered. Times are the database's, epoch milliseconds. */
export interface EarlierTurn {
  /** LID of who wrote the message, else the number; bare digits. */
  sender: string;
  text: string;
  receivedAtMs: number;
  /** When our reply was stored, which is before it went out. */
  repliedAtMs: number;
  replyText: string;
}

/** @throws {StorageUnavailableError} */
export interface ChatHistory {
  /** Turns of a chat that got a reply, newest first; a turn with several replies stands there once a reply. */
  answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]>;
}
