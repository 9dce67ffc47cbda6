import { canonicalChannelId } from '../../router/src/core/chat-id.ts';
import { channelIdsOf } from '../../router/src/core/messages/chat-identity.ts';
import type { Draft, DraftQuery, Drafts } from '../../router/src/core/ports/pending-answers.ts';
import type { QueuedReply } from '../../router/src/core/turns/turn.ts';
import { queuedReplyOf } from './memory-inbox.ts';
import type { MemoryReply, MemoryState } from './memory-state.ts';

/** Drafts of the same state, with the promises of PostgresDrafts. */
export class MemoryDrafts implements Drafts {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async list({ accountId, accounts, channelId, chats, after = '0', limit }: DraftQuery): Promise<Draft[]> {
    const messages = new Set(this.#parts().map(({ messageId }) => Number(messageId)));
    const isOf = (draft: Draft, channelIds: readonly string[] | undefined) => {
      const chat = this.#state.chats.get(Number(draft.chatId));
      const wanted = channelIds?.map((each) => canonicalChannelId(each));
      return !wanted || (chat !== undefined && channelIdsOf(chat).some((each) => wanted.includes(each)));
    };
    return [...messages]
      .sort((a, b) => a - b)
      .filter((id) => id > Number(after))
      .map((id) => this.#draft(String(id)))
      .filter((draft) => draft !== undefined)
      .filter((draft) => draft.accountId === (accountId ?? draft.accountId))
      .filter((draft) => accounts?.includes(draft.accountId) ?? true)
      .filter((draft) => isOf(draft, channelId === undefined ? undefined : [channelId]) && isOf(draft, chats))
      .slice(0, limit);
  }

  async get(id: string): Promise<Draft | undefined> {
    return this.#draft(id);
  }

  async approve(id: string, text?: string): Promise<QueuedReply[] | undefined> {
    const [first, ...others] = this.#parts(id);
    if (!first) return undefined;
    if (text !== undefined) {
      first.text = text;
      for (const other of others) {
        other.text = '';
        if (!other.media) this.#state.outbox.delete(other.id);
      }
    }
    const parts = this.#parts(id);
    for (const part of parts) Object.assign(part, { state: 'queued', queuedAt: this.#state.time() });
    this.#setReason(id, undefined);
    return parts.map(queuedReplyOf);
  }

  async drop(id: string): Promise<boolean> {
    const parts = this.#parts(id);
    for (const part of parts) this.#state.outbox.delete(part.id);
    this.#setReason(id, 'draft-dropped');
    return parts.length > 0;
  }

  #setReason(id: string, reason: string | undefined): void {
    const message = this.#state.messages.get(Number(id));
    if (message?.reason === 'draft') message.reason = reason;
  }

  #parts(messageId?: string): MemoryReply[] {
    return [...this.#state.outbox.values()].filter(
      (row) => row.state === 'draft' && row.messageId === (messageId ?? row.messageId),
    );
  }

  #draft(id: string): Draft | undefined {
    const message = this.#state.messages.get(Number(id));
    const chat = message && this.#state.chats.get(message.chatId);
    const parts = this.#parts(id);
    if (!message || !chat || !parts[0]) return undefined;
    return {
      id,
      accountId: message.accountId,
      chatId: String(chat.id),
      channelId: channelIdsOf(chat)[0] ?? '',
      pushName: message.pushName,
      question: message.text,
      createdAt: parts[0].queuedAt,
      replies: parts.map(({ text, media }) => ({ text, ...(media && { media }) })),
    };
  }
}
