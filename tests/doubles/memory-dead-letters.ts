import { canonicalChannelId } from '../../router/src/core/chat-id.ts';
import { channelIdsOf } from '../../router/src/core/messages/chat-identity.ts';
import type {
  DeadLetterFilter,
  DeadLetters,
  Replay,
} from '../../router/src/features/dead-letters/dead-letters.ts';
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
    return letter.outboxId === undefined ? this.#replayMessage(letter, node) : this.#replayReply(letter);
  }

  async close(id: string): Promise<'closed' | 'replayed' | 'missing'> {
    const letter = this.#state.deadLetters.find((row) => String(row.id) === id);
    if (!letter) return 'missing';
    if (!letter.replayedAt) letter.closedAt ??= this.#state.time();
    return letter.closedAt ? 'closed' : 'replayed';
  }

  async closeAll(filter: DeadLetterFilter): Promise<number> {
    const ids = await this.open(filter, Number.POSITIVE_INFINITY);
    for (const id of ids) await this.close(id);
    return ids.length;
  }

  async open(filter: DeadLetterFilter, limit: number): Promise<string[]> {
    const { accountId, reason, before, after, channelId, until } = filter;
    const canonical = channelId === undefined ? undefined : canonicalChannelId(channelId);
    return this.#state.deadLetters
      .filter((letter) => {
        const chat = this.#state.chats.get(letter.chatId);
        const isOfChat =
          channelId === undefined ||
          (chat !== undefined && canonical !== undefined && channelIdsOf(chat).includes(canonical));
        return (
          letter.replayedAt === undefined &&
          letter.closedAt === undefined &&
          isOfChat &&
          letter.accountId === (accountId ?? letter.accountId) &&
          letter.reason === (reason ?? letter.reason) &&
          (before === undefined || letter.id < Number(before)) &&
          (after === undefined || letter.id > Number(after)) &&
          (until === undefined || letter.failedAt <= until)
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
    const merged = state
      .messagesOf(chat.id)
      .filter((row) => row.mergedInto === String(message.id) && row.reason === 'merged')
      .sort((a, b) => Number(a.stanzaOrder - b.stanzaOrder) || a.id - b.id);
    for (const [index, row] of merged.entries()) {
      Object.assign(row, {
        state: 'received',
        reason: undefined,
        finishedAt: undefined,
        trace: undefined,
        clearedAttempts: row.attempts,
        suspicion: 0,
        runsAlone: false,
        stanzaOrder: last.stanzaOrder + 1n + BigInt(index),
      });
    }
    Object.assign(message, {
      state: 'received',
      details: message.details && { ...message.details, noTranscript: undefined },
      reason: undefined,
      error: undefined,
      finishedAt: undefined,
      clearedAttempts: message.attempts,
      suspicion: 0,
      runsAlone: false,
      stanzaOrder: last.stanzaOrder + 1n + BigInt(merged.length),
    });
    Object.assign(letter, { replayedAt: state.time(), closedAt: undefined });
    const messageId = String(message.id);
    for (const row of state.outbox.values()) if (row.messageId === messageId) row.isPart = false;
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

  #replayReply(letter: MemoryDeadLetter): Replay {
    const row = this.#state.outbox.get(letter.outboxId ?? '');
    if (row?.state !== 'dead') return { outcome: 'known' };
    Object.assign(row, {
      state: 'queued',
      error: undefined,
      attempts: 0,
      suspicion: 0,
      runsAlone: false,
      sentAt: undefined,
      delayedUntil: undefined,
      queuedAt: this.#state.time(),
    });
    Object.assign(letter, { replayedAt: this.#state.time(), closedAt: undefined });
    return { outcome: 'replayed', reply: queuedReplyOf(row) };
  }
}
