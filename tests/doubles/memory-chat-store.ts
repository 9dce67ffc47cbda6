import { canonicalChannelId, lidJid } from '../../router/src/core/chat-id.ts';
import { channelIdsOf } from '../../router/src/core/messages/chat-identity.ts';
import type { ChatQuery, ChatRow, ChatStore } from '../../router/src/core/ports/chat-store.ts';
import { isPaused, type MemoryChat, type MemoryState } from './memory-state.ts';

/** Chats of the same state, with the promises of PostgresChatStore. */
export class MemoryChatStore implements ChatStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async list(query: ChatQuery): Promise<ChatRow[]> {
    const isOf = (chat: MemoryChat, channelIds: readonly string[] | undefined) => {
      if (channelIds === undefined) return true;
      const wanted = channelIds.map((channelId) => canonicalChannelId(channelId));
      return channelIdsOf(chat).some((channelId) => wanted.includes(channelId));
    };
    const { after } = query;
    return [...this.#state.chats.values()]
      .filter(
        (chat) =>
          chat.accountId === (query.accountId ?? chat.accountId) &&
          isOf(chat, query.channelId === undefined ? undefined : [query.channelId]) &&
          isOf(chat, query.chats) &&
          isPaused(chat, this.#state.now()) === (query.isPaused ?? isPaused(chat, this.#state.now())) &&
          (!after ||
            chat.activeAtMs < after.activeAtMs ||
            (chat.activeAtMs === after.activeAtMs && chat.id < Number(after.id))),
      )
      .sort((a, b) => b.activeAtMs - a.activeAtMs || b.id - a.id)
      .slice(0, query.limit)
      .map((chat) => this.#row(chat));
  }

  async get(id: string): Promise<ChatRow | undefined> {
    const chat = this.#state.chats.get(Number(id));
    return chat && this.#row(chat);
  }

  async pause(id: string, { forMs, reason }: { forMs?: number; reason?: string }) {
    const chat = this.#state.chats.get(Number(id));
    const now = this.#state.now();
    if (chat) chat.pause = { sinceMs: now, untilMs: forMs === undefined ? undefined : now + forMs, reason };
    return this.get(id);
  }

  async resume(id: string) {
    const chat = this.#state.chats.get(Number(id));
    if (chat) chat.pause = undefined;
    return this.get(id);
  }

  #row(chat: MemoryChat): ChatRow {
    const messages = this.#state
      .messagesOf(chat.id)
      .sort((a, b) => Number(b.stanzaOrder - a.stanzaOrder) || b.id - a.id);
    const { pause } = chat;
    return {
      id: String(chat.id),
      accountId: chat.accountId,
      channelId: channelIdsOf(chat)[0] ?? '',
      isGroup: chat.groupId !== undefined,
      phone: chat.phone,
      lid: chat.lid && lidJid(chat.lid),
      name: chat.groupId === undefined ? messages[0]?.pushName : undefined,
      activeAt: new Date(chat.activeAtMs),
      lastReceivedAt: messages[0]?.receivedAt,
      unanswered: this.#state.received(chat.id).length,
      ...(pause &&
        isPaused(chat, this.#state.now()) && {
          pause: {
            since: new Date(pause.sinceMs),
            until: pause.untilMs === undefined ? undefined : new Date(pause.untilMs),
            reason: pause.reason,
          },
        }),
    };
  }
}
