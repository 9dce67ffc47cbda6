import type { PendingTurn } from './inbox.ts';

/**
 * The files of messages that came in, fetched from WhatsApp when they are needed. Any node can: it takes no socket.
 */
export interface MediaSource {
  /**
   * The bytes of a stored message's file, checked against what the message says.
   * @throws {MediaError} and, when `signal` aborts, the signal's reason
   * @throws {StorageUnavailableError}
   */
  load(turn: Pick<PendingTurn, 'messageId' | 'accountId'>, signal: AbortSignal): Promise<Uint8Array>;
}
