import type { ChatClaim, QueuedReply } from './inbox.ts';

/** Which dead letters: all of a filter, oldest first. */
export interface DeadLetterFilter {
  accountId?: string;
  /** Canonical channelId of one chat. */
  channelId?: string;
  reason?: string;
  /** Only letters older than the one with this id. */
  before?: string;
}

/** What a replay queued: a message with the claim on its chat, or the reply to deliver. */
export type Replay =
  | { outcome: 'replayed'; messageId: string; chatId: string; worker: ChatClaim; isNewWorker: boolean }
  | { outcome: 'replayed'; reply: QueuedReply }
  /** What the letter tells of is not dead: it was replayed before, and has not died again. */
  | { outcome: 'known' }
  | { outcome: 'missing' };

/**
 * Dead letters, taken up again.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface DeadLetters {
  /**
   * Puts a message back to `received` at the end of its chat's order, or a reply back to `queued` in its old row, with
   * its old WhatsApp id. All open letters of the same thing count as replayed; what dies again gets a new letter. A chat
   * that nobody works on is claimed for `node`.
   */
  replay(id: string, node: string): Promise<Replay>;
  /** Ids of letters that were not replayed, oldest first, at most `limit`. */
  open(filter: DeadLetterFilter, limit: number): Promise<string[]>;
}
