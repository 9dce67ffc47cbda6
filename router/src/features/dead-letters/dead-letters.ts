import type { ChatClaim } from '../../core/ports/inbox.ts';
import type { QueuedReply } from '../../core/turns/turn.ts';

/** Which dead letters. */
export interface DeadLetterFilter {
  accountId?: string;
  /** Canonical channelId of one chat. */
  channelId?: string;
  reason?: string;
  /** Only dead letters with a smaller id. */
  before?: string;
  /** Only dead letters with a larger id. */
  after?: string;
}

/** What a replay queued: a message with the claim on its chat, or the reply to deliver. */
export type Replay =
  | { outcome: 'replayed'; messageId: string; chatId: string; worker: ChatClaim; isNewWorker: boolean }
  | { outcome: 'replayed'; reply: QueuedReply }
  /** Its message or reply is not dead: it was replayed before and has not failed again. */
  | { outcome: 'known' }
  | { outcome: 'missing' };

/**
 * Replays and closes dead letters. A message or reply has at most one: when it fails again after a replay, the same one is
 * updated and open again.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface DeadLetters {
  /**
   * Moves a message back to `received` at the end of its chat's order, or a reply back to `queued` in its row, with its
   * WhatsApp id. A closed dead letter can be replayed too.
   */
  replay(id: string, node: string): Promise<Replay>;
  /**
   * Closes an open dead letter: an operator decided to leave it. Idempotent.
   * @returns `replayed` when it is not open because it was replayed; nothing was changed
   */
  close(id: string): Promise<'closed' | 'replayed' | 'missing'>;
  /** Ids of open dead letters, oldest first, at most `limit`. */
  open(filter: DeadLetterFilter, limit: number): Promise<string[]>;
}
