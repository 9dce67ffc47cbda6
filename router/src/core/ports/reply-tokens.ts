import type { NewReply, QueuedReply } from '../turns/turn.ts';

/** How long an agent may answer by a token, in milliseconds. */
export const REPLY_TOKEN_VALID_MS = 24 * 60 * 60 * 1_000;

/**
 * What a token is good for. `used`: its message was answered, by this token, by another one, or in its turn · `unknown`:
 * never issued, or removed after it expired.
 */
export type ReplyTokenState = 'valid' | 'used' | 'expired' | 'unknown';

/** A reply of a late answer; it goes to the chat of the message. */
export type LateReply = Pick<NewReply, 'waMessageId' | 'text' | 'media' | 'file'>;

/** The end of a late answer: stored with its replies, or why nothing was stored. */
export type LateAnswer =
  | { outcome: 'stored'; replies: QueuedReply[] }
  | { outcome: Exclude<ReplyTokenState, 'valid'> };

/**
 * Tokens by which agents answer messages later. A token is a secret: only its hash is stored.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface ReplyTokens {
  /** A new token for a message, 256 random bits in 43 characters of base64url. */
  issue(messageId: string): Promise<string>;
  stateOf(token: string): Promise<ReplyTokenState>;
  /** The route of the token's message; undefined while its turn runs, and for an unknown token. */
  routeOf(token: string): Promise<string | undefined>;
  /**
   * Stores the replies of a late answer behind all earlier replies of the chat. At most one call for a message succeeds.
   * A message that was given up counts as answered then, and its dead letter as replayed.
   */
  redeem(token: string, replies: readonly LateReply[]): Promise<LateAnswer>;
}
