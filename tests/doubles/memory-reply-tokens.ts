import { randomBytes } from 'node:crypto';
import {
  type LateAnswer,
  type LateReply,
  REPLY_TOKEN_VALID_MS,
  type ReplyTokenState,
  type ReplyTokens,
} from '../../router/src/core/ports/pending-answers.ts';
import { queuedReplyOf, queueReply } from './memory-inbox.ts';
import type { MemoryState } from './memory-state.ts';

interface MemoryToken {
  messageId: string;
  expiresAtMs: number;
  isUsed: boolean;
}

/** Reply tokens in memory, with the promises of PostgresReplyTokens except durability. */
export class MemoryReplyTokens implements ReplyTokens {
  readonly #state: MemoryState;
  readonly #validMs: number;
  readonly #tokens = new Map<string, MemoryToken>();

  constructor(state: MemoryState, validMs = REPLY_TOKEN_VALID_MS) {
    this.#state = state;
    this.#validMs = validMs;
  }

  async issue(messageId: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    this.#tokens.set(token, { messageId, expiresAtMs: this.#state.now() + this.#validMs, isUsed: false });
    return token;
  }

  async stateOf(token: string): Promise<ReplyTokenState> {
    return this.#stateOf(token);
  }

  #stateOf(token: string): ReplyTokenState {
    const found = this.#tokens.get(token);
    const message = found && this.#state.messages.get(Number(found.messageId));
    if (!found || !message) return 'unknown';
    const isAnswered = message.state === 'answered' && message.reason === undefined;
    const isUsed = [...this.#tokens.values()].some(
      (other) => other.messageId === found.messageId && other.isUsed,
    );
    if (isAnswered || isUsed) return 'used';
    return found.expiresAtMs <= this.#state.now() ? 'expired' : 'valid';
  }

  async routeOf(token: string): Promise<string | undefined> {
    const found = this.#tokens.get(token);
    return found && this.#state.messages.get(Number(found.messageId))?.routeId;
  }

  async redeem(token: string, replies: readonly LateReply[]): Promise<LateAnswer> {
    const outcome = this.#stateOf(token);
    if (outcome !== 'valid') return { outcome };
    const found = this.#tokens.get(token);
    const message = this.#state.messages.get(Number(found?.messageId));
    const chat = message && this.#state.chats.get(message.chatId);
    if (!found || !message || !chat) return { outcome: 'unknown' };
    found.isUsed = true;
    if (message.state === 'dead') {
      Object.assign(message, {
        state: 'answered',
        reason: 'agent-later',
        error: undefined,
      });
      const letter = this.#state.deadLetters.find(
        ({ messageId, outboxId, replayedAt }) =>
          messageId === found.messageId && outboxId === undefined && replayedAt === undefined,
      );
      if (letter) {
        letter.replayedAt = this.#state.time();
        letter.error += ' The agent answered later.';
      }
    }
    const to = { accountId: message.accountId, to: chat.replyTo };
    const rows = replies.map((reply) => queueReply(this.#state, message, { ...to, ...reply }));
    return { outcome: 'stored', replies: rows.filter(({ state }) => state !== 'draft').map(queuedReplyOf) };
  }
}
