import { canonicalChannelId } from '../../router/src/core/chat-id.ts';
import { channelIdsOf } from '../../router/src/core/messages/chat-identity.ts';
import type { DeadLetterFilter, DeadLetters, Replay } from '../../router/src/core/ports/dead-letters.ts';
import { claimChat, claimOf } from './memory-chats.ts';
import { queuedReplyOf } from './memory-inbox.ts';
import type { MemoryDeadLetter, MemoryState } from './memory-state.ts';

/** Dead letters in memory, for tests: the same promises as PostgresDeadLetters. */
export class MemoryDeadLetters implements DeadLetters {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async replay(id: string, node: string): Promise<Replay> {
    const letter = this.#state.deadLetters.find((row) => String(row.id) === id);
    if (!letter) return { outcome: 'missing' };
    return letter.outboxId === undefined
      ? this.#replayMessage(letter, node)
      : this.#replayReply(letter.outboxId);
  }

  async open(filter: DeadLetterFilter, limit: number): Promise<string[]> {
    const { accountId, reason, before, channelId } = filter;
    const canonical = channelId === undefined ? undefined : canonicalChannelId(channelId);
    return this.#state.deadLetters
      .filter((letter) => {
        const chat = this.#state.chats.get(letter.chatId);
        const isOfChat =
          channelId === undefined ||
          (chat !== undefined && canonical !== undefined && channelIdsOf(chat).includes(canonical));
        return (
          letter.replayedAt === undefined &&
          isOfChat &&
          letter.accountId === (accountId ?? letter.accountId) &&
          letter.reason === (reason ?? letter.reason) &&
          (before === undefined || letter.id < Number(before))
        );
      })
      .sort((a, b) => a.id - b.id)
      .slice(0, limit)
      .map((letter) => String(letter.id));
  }

  #replayMessage(letter: MemoryDeadLetter, node: string): Replay {
    const state = this.#state;
    const message = state.messages.get(Number(letter.messageId));
    const chat = state.chats.get(letter.chatId);
    if (message?.state !== 'dead' || !chat) return { outcome: 'known' };
    const last = state.messagesOf(chat.id).reduce((a, b) => (a.stanzaOrder > b.stanzaOrder ? a : b));
    Object.assign(message, {
      state: 'received',
      reason: undefined,
      error: undefined,
      finishedAt: undefined,
      stanzaOrder: last.stanzaOrder + 1n,
    });
    this.#settle((other) => other.outboxId === undefined && other.messageId === letter.messageId, letter);
    const messageId = String(message.id);
    const chatId = String(chat.id);
    const worker = claimOf(chat);
    return {
      outcome: 'replayed',
      messageId,
      chatId,
      worker: worker ?? claimChat(chat, node),
      isNewWorker: worker === undefined,
    };
  }

  #replayReply(outboxId: string): Replay {
    const row = this.#state.outbox.get(outboxId);
    if (row?.state !== 'dead') return { outcome: 'known' };
    Object.assign(row, {
      state: 'queued',
      error: undefined,
      attempts: 0,
      sentAt: undefined,
      delayedUntil: undefined,
      queuedAt: this.#state.time(),
    });
    this.#settle((other) => other.outboxId === outboxId);
    return { outcome: 'replayed', reply: queuedReplyOf(row) };
  }

  #settle(isSame: (letter: MemoryDeadLetter) => boolean, self?: MemoryDeadLetter): void {
    for (const letter of this.#state.deadLetters) {
      if (isSame(letter) && (letter === self || !letter.replayedAt)) letter.replayedAt = this.#state.time();
    }
  }
}
