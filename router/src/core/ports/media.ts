import type { PendingTurn } from '../turns/turn.ts';

/**
 * The files of received messages, loaded from WhatsApp when they are first needed. Works on every node: it needs no account's
 * connection.
 */
export interface MediaSource {
  /**
   * The bytes of a stored message's file, checked against what the message says.
   * @throws {MediaError} and, when `signal` aborts, the signal's reason
   * @throws {StorageUnavailableError}
   */
  load(turn: Pick<PendingTurn, 'messageId' | 'accountId'>, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * A link to the file, for agents; undefined when there are none (`MediaLinks`).
   * @throws {StorageUnavailableError}
   */
  urlOf(turn: Pick<PendingTurn, 'messageId' | 'accountId' | 'message'>): Promise<string | undefined>;
}
