/**
 * The files of messages that came in, fetched from WhatsApp when they are needed. Any node can: it takes no socket.
 */
export interface MediaSource {
  /**
   * The bytes of a stored message's file, checked against what the message says.
   * @param messageId the row's id, as `PendingTurn` has it
   * @throws {MediaError} and, when `signal` aborts, the signal's reason
   * @throws {StorageUnavailableError}
   */
  load(messageId: string, signal: AbortSignal): Promise<Uint8Array>;
}
