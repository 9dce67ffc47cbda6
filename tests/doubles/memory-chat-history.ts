import type { MessageKind } from '../../router/src/core/models.ts';
import {
  type ChatHistory,
  type EarlierTurn,
  PAST_TEXT_CHARS,
  type PastTurn,
} from '../../router/src/core/ports/chat-history.ts';
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

  async pastTurns(chatId: string, except: string, limit: number): Promise<PastTurn[]> {
    return this.#state
      .messagesOf(Number(chatId))
      .filter(({ id, state, reason }) => {
        return state === 'answered' && String(id) !== except && reason !== 'fallback-text';
      })
      .sort((a, b) => Number(b.stanzaOrder - a.stanzaOrder) || b.id - a.id)
      .map(({ id, senderLid, senderPhone, pushName, kind, text }) => ({
        sender: senderLid ?? senderPhone ?? '',
        ...(pushName !== undefined && { pushName }),
        kind: kind as MessageKind,
        text: cut(text),
        replies: this.#repliesTo(String(id)),
      }))
      .filter(({ replies }) => replies.length > 0)
      .slice(0, limit);
  }

  #repliesTo(messageId: string): PastTurn['replies'] {
    return [...this.#state.outbox.values()]
      .filter((reply) => reply.messageId === messageId && reply.state !== 'dead')
      .sort((a, b) => Number(a.id) - Number(b.id))
      .map(({ text, media }) => ({ text: cut(text), ...(media && { media: media.kind }) }));
  }
}

function cut(text: string): string {
  return [...text].slice(0, PAST_TEXT_CHARS).join('');
}
