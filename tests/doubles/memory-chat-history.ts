import type { ChatHistory, EarlierTurn } from '../../router/src/core/ports/chat-history.ts';
import type { MemoryState } from './memory-state.ts';

/** The answered turns of a chat in memory, for tests: the same promises as PostgresChatHistory. */
export class MemoryChatHistory implements ChatHistory {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]> {
    return [...this.#state.outbox.values()]
      .filter((reply) => reply.chatId === chatId)
      .sort((a, b) => Number(b.id) - Number(a.id))
      .flatMap((reply) => {
        const message = this.#state.messages.get(Number(reply.messageId));
        if (!message) return [];
        return {
          sender: message.senderLid ?? message.senderPhone ?? '',
          text: message.text,
          replyText: reply.text,
          receivedAtMs: message.receivedAt.getTime(),
          repliedAtMs: reply.queuedAt.getTime(),
        };
      })
      .slice(0, limit);
  }
}
