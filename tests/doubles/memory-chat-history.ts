import type { MessageKind } from '../../router/src/core/models.ts';
import {
  type ChatHistory,
  type EarlierTurn,
  PAST_TEXT_CHARS,
  type PastTurn,
  type UnansweredMessage,
} from '../../router/src/core/ports/message-log.ts';
import { isSamePerson } from './memory-chats.ts';
import type { MemoryMessage, MemoryState } from './memory-state.ts';

/** The answered turns of a chat in memory, for tests: the same promises as PostgresChatHistory. */
export class MemoryChatHistory implements ChatHistory {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async answeredTurns(chatId: string, limit: number): Promise<EarlierTurn[]> {
    return [...this.#state.outbox.values()]
      .filter((reply) => reply.chatId === chatId && reply.state !== 'draft' && !reply.special)
      .sort((a, b) => Number(b.id) - Number(a.id))
      .flatMap((reply) => {
        const message = this.#state.messages.get(Number(reply.messageId));
        if (!message) return [];
        return {
          sender: message.senderLid ?? message.senderPhone ?? '',
          text: this.#wordsOf(message),
          replyText: reply.text,
          receivedAtMs: message.receivedAt.getTime(),
          repliedAtMs: reply.queuedAt.getTime(),
        };
      })
      .slice(0, limit);
  }

  async pastTurns(
    chatId: string,
    except: string,
    limit: number,
    sinceMs = 0,
    person?: { sender: string; chatIds: readonly string[] },
  ): Promise<PastTurn[]> {
    return (person?.chatIds ?? [chatId])
      .flatMap((id) => this.#state.messagesOf(Number(id)))
      .filter(
        ({ senderLid, senderPhone }) => person === undefined || (senderLid ?? senderPhone) === person.sender,
      )
      .filter(({ id, state, reason, receivedAt }) => {
        const isOwn = ['fallback-text', 'command', 'quota-exceeded'].includes(reason ?? '');
        return state === 'answered' && String(id) !== except && !isOwn && receivedAt.getTime() >= sinceMs;
      })
      .sort((a, b) => Number(b.stanzaOrder - a.stanzaOrder) || b.id - a.id)
      .map((message) => ({
        sender: message.senderLid ?? message.senderPhone ?? '',
        ...(message.pushName !== undefined && { pushName: message.pushName }),
        kind: message.kind as MessageKind,
        text: cut(this.#wordsOf(message)),
        replies: this.#repliesTo(String(message.id)),
      }))
      .filter(({ replies }) => replies.length > 0)
      .slice(0, limit);
  }

  async unanswered(
    chatId: string,
    before: string,
    reasons: readonly string[],
    limit: number,
  ): Promise<UnansweredMessage[]> {
    const order = this.#state.messages.get(Number(before))?.stanzaOrder ?? 0n;
    const newestFirst = this.#state
      .messagesOf(Number(chatId))
      .filter(({ stanzaOrder }) => stanzaOrder < order)
      .sort((a, b) => Number(b.stanzaOrder - a.stanzaOrder) || b.id - a.id);
    const answered = newestFirst.findIndex(({ state }) => state === 'answered');
    const lastId = newestFirst[answered]?.id ?? 0;
    const nameOf = (phone: string | undefined, lid: string | undefined) =>
      this.#state
        .messagesOf(Number(chatId))
        .filter((other) => other.pushName !== undefined)
        .findLast((other) => isSamePerson({ phone, lid }, { phone: other.senderPhone, lid: other.senderLid }))
        ?.pushName;
    const received = newestFirst
      .slice(0, answered < 0 ? undefined : answered)
      .filter(({ state, reason }) => state === 'ignored' && reason !== undefined && reasons.includes(reason))
      .map(({ id, senderLid, senderPhone, pushName, kind, text, reason }) => ({
        id,
        sender: senderLid ?? senderPhone ?? '',
        ...(reason === 'owner-message' && { isOwner: true }),
        pushName: pushName ?? nameOf(senderPhone, senderLid),
        kind: kind as MessageKind,
        text: cut(text),
      }))
      .map(({ pushName, ...message }) => ({ ...message, ...(pushName !== undefined && { pushName }) }));
    const byHand = [...this.#state.outbox.values()]
      .filter((row) => row.byHand && row.chatId === chatId && row.state !== 'dead')
      .filter(({ id }) => Number(id) > lastId && Number(id) < Number(before))
      .map(({ id, media, text }) => {
        const kind: MessageKind = media?.kind === 'voice' ? 'audio' : (media?.kind ?? 'text');
        return { id: Number(id), sender: '', isOwner: true, kind, text: cut(text) };
      });
    return [...received, ...(reasons.includes('owner-message') ? byHand : [])]
      .sort((a, b) => b.id - a.id)
      .slice(0, limit)
      .map(({ id: _, ...message }) => message);
  }

  /** The text of a message, after those of the messages that ended with it. */
  #wordsOf({ id, chatId, text }: MemoryMessage): string {
    const merged = this.#state
      .messagesOf(chatId)
      .filter((row) => row.mergedInto === String(id) && row.reason === 'merged')
      .sort((a, b) => Number(a.stanzaOrder - b.stanzaOrder) || a.id - b.id);
    return [...merged.map((row) => row.text), text].filter((line) => line !== '').join('\n');
  }

  #repliesTo(messageId: string): PastTurn['replies'] {
    return [...this.#state.outbox.values()]
      .filter(
        (reply) =>
          reply.messageId === messageId && !['dead', 'draft'].includes(reply.state) && !reply.special,
      )
      .sort((a, b) => Number(a.id) - Number(b.id))
      .map(({ text, media }) => ({ text: cut(text), ...(media && { media: media.kind }) }));
  }
}

function cut(text: string): string {
  return [...text].slice(0, PAST_TEXT_CHARS).join('');
}
