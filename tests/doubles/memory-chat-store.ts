import { canonicalRouteChannelId, lidJid } from '../../router/src/core/chat-id.ts';
import { channelIdsOf, replyToOf } from '../../router/src/core/messages/chat-identity.ts';
import type { ChatAddress } from '../../router/src/core/messages/inbound-message.ts';
import {
  type AccessAsked,
  type ChatCheck,
  type ChatPosition,
  type ChatQuery,
  type ChatRow,
  type ChatStore,
  LAST_MESSAGE_CHARS,
  type LastMessage,
  NEEDS,
  type PauseMode,
  type PersonSession,
  type ResumedChat,
  type RouteFacts,
  type TurnFacts,
} from '../../router/src/core/ports/chat-store.ts';
import { ACCESS_REASONS, chatOf, claimChat, claimOf } from './memory-chats.ts';
import {
  accessOf,
  isPaused,
  type MemoryChat,
  type MemoryPersonSession,
  type MemoryState,
  pauseModeOf,
} from './memory-state.ts';

/** Chats of the same state, with the promises of PostgresChatStore. */
export class MemoryChatStore implements ChatStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async list(query: ChatQuery): Promise<ChatRow[]> {
    const isOf = (chat: MemoryChat, channelIds: readonly string[] | undefined) => {
      if (channelIds === undefined) return true;
      const wanted = channelIds.map((channelId) => canonicalRouteChannelId(channelId));
      return channelIdsOf(chat).some((channelId) => wanted.includes(channelId));
    };
    const { after, upTo } = query;
    return [...this.#state.chats.values()]
      .filter(
        (chat) =>
          chat.accountId === (query.accountId ?? chat.accountId) &&
          isOf(chat, query.channelId === undefined ? undefined : [query.channelId]) &&
          isOf(chat, query.chats) &&
          (query.accounts?.includes(chat.accountId) ?? true) &&
          isPaused(chat, this.#state.now()) === (query.isPaused ?? isPaused(chat, this.#state.now())) &&
          (query.isPlayground === undefined || (chat.accountId === 'playground') === query.isPlayground) &&
          (query.isLocked === undefined || (chat.isLocked ?? false) === query.isLocked) &&
          (query.access === undefined || accessOf(chat, this.#state.now()) === query.access) &&
          (query.isWaiting === undefined || this.#isWaiting(chat) === query.isWaiting) &&
          (query.needsYou === undefined || this.#needs(chat).length > 0 === query.needsYou) &&
          (query.isAsked === undefined || (this.#question(chat) !== undefined) === query.isAsked) &&
          (query.routeId === undefined || chat.routeId === query.routeId) &&
          (query.tag === undefined || chat.tags?.includes(query.tag) === true) &&
          (query.hasUnanswered === undefined ||
            this.#state.received(chat.id).length > 0 === query.hasUnanswered) &&
          (query.hasFailed === undefined || this.#failed(chat) > 0 === query.hasFailed) &&
          (query.text === undefined || this.#isNamed(chat, query.text.toLowerCase())) &&
          (!after || isAfter(chat, after)) &&
          (!upTo || !isAfter(chat, upTo)),
      )
      .sort((a, b) => b.activeAtMs - a.activeAtMs || b.id - a.id)
      .slice(0, query.limit)
      .map((chat) => this.#row(chat));
  }

  #isWaiting(chat: MemoryChat): boolean {
    const needs = this.#needs(chat);
    return needs.includes('draft') || needs.includes('stranger');
  }

  #needs(chat: MemoryChat): NonNullable<ChatRow['needs']> {
    const now = this.#state.now();
    const question = this.#question(chat);
    const sent = [...this.#state.outbox.values()].filter(({ chatId }) => chatId === String(chat.id));
    const last = this.#state
      .messagesOf(chat.id)
      .filter(({ reason }) => reason === 'chat-paused' || reason === 'owner-message')
      .sort((a, b) => Number(b.stanzaOrder - a.stanzaOrder))[0];
    const is = {
      draft: sent.some(({ state }) => state === 'draft'),
      stranger: accessOf(chat, now) === 'pending',
      question: question !== undefined && question.remindAt.getTime() <= now,
      failed: this.#failed(chat) > 0,
      unanswered:
        this.#state.received(chat.id).some(({ receivedAt }) => receivedAt.getTime() <= now - 300_000) ||
        (isPaused(chat, now) &&
          last?.reason === 'chat-paused' &&
          sent.every(({ id }) => Number(id) < last.id)),
    };
    return NEEDS.filter((need) => is[need]);
  }

  #question(chat: MemoryChat): ChatRow['question'] {
    const open = this.#state.questions.find(
      (each) => each.chatId === chat.id && each.state === 'open' && each.deadlineAtMs > this.#state.now(),
    );
    return (
      open && {
        askedAt: new Date(open.askedAtMs),
        remindAt: new Date(open.remindAtMs),
        until: new Date(open.deadlineAtMs),
      }
    );
  }

  async searchEnd(query: Omit<ChatQuery, 'limit'>, chats: number): Promise<ChatPosition | undefined> {
    const last = (await this.list({ ...query, text: undefined, limit: chats }))[chats - 1];
    return last && { activeAtMs: last.activeAt.getTime(), id: last.id };
  }

  async get(id: string): Promise<ChatRow | undefined> {
    const chat = this.#state.chats.get(Number(id));
    return chat && this.#row(chat);
  }

  async turnFacts(accountId: string, channelIds: readonly string[]): Promise<TurnFacts | undefined> {
    const chat = [...this.#state.chats.values()].find(
      (each) => each.accountId === accountId && channelIdsOf(each).some((id) => channelIds.includes(id)),
    );
    if (!chat) return undefined;
    const chatId = String(chat.id);
    const replies = [...this.#state.outbox.values()].filter((reply) => reply.chatId === chatId);
    return {
      chatId,
      isPaused: pauseModeOf(chat, this.#state.now()) === 'listen-only' || undefined,
      ...(pauseModeOf(chat, this.#state.now()) === 'approve' && { isApproving: true }),
      ...(pauseModeOf(chat, this.#state.now()) === 'auto-reply-loop' && { isInLoop: true }),
      ...(accessOf(chat, this.#state.now()) && { access: accessOf(chat, this.#state.now()) }),
      ...(chat.policyState && { chatState: chat.policyState }),
      repliedAtMs: replies.at(-1)?.queuedAt.getTime(),
    };
  }

  async routeFacts(
    accountId: string,
    channelIds: readonly string[],
    messageId?: string,
  ): Promise<RouteFacts | undefined> {
    const chat = [...this.#state.chats.values()].find(
      (each) => each.accountId === accountId && channelIdsOf(each).some((id) => channelIds.includes(id)),
    );
    if (!chat) return undefined;
    const own = this.#state.messages.get(Number(messageId));
    const isEarlier = ({ stanzaOrder }: { stanzaOrder: bigint }) => !own || stanzaOrder < own.stanzaOrder;
    const answered = this.#state.messagesOf(chat.id).filter(({ state }) => state === 'answered');
    return { chatId: String(chat.id), tags: chat.tags ?? [], isFirstContact: !answered.some(isEarlier) };
  }

  async label(id: string, { tags, notes }: { tags?: readonly string[]; notes?: string }, check?: ChatCheck) {
    const chat = this.#checked(id, check);
    if (chat && tags) chat.tags = [...tags].sort();
    if (chat && notes !== undefined) chat.notes = notes || undefined;
    return this.get(id);
  }

  async lock(accountId: string, chat: ChatAddress, isLocked: boolean): Promise<void> {
    const ids = chat.kind === 'group' ? { groupId: chat.groupId } : { phone: chat.phone, lid: chat.lid };
    const isKnown = [...this.#state.chats.values()].some(
      (each) =>
        each.accountId === accountId && channelIdsOf(each).some((id) => channelIdsOf(ids).includes(id)),
    );
    if (!isLocked && !isKnown) return;
    chatOf(this.#state, accountId, chat, replyToOf({ chat })).isLocked = isLocked;
  }

  async pause(
    id: string,
    { forMs, reason, mode }: { forMs?: number; reason?: string; mode?: PauseMode },
    check?: ChatCheck,
  ) {
    const chat = this.#checked(id, check);
    const now = this.#state.now();
    const untilMs = forMs === undefined ? undefined : now + forMs;
    if (chat) chat.pause = { sinceMs: now, untilMs, reason, mode };
    return this.get(id);
  }

  async resume(
    id: string,
    answerMissed?: { node: string },
    check?: ChatCheck,
  ): Promise<ResumedChat | undefined> {
    const chat = this.#checked(id, check);
    if (!chat) return undefined;
    if (chat.pause?.mode === 'auto-reply-loop') {
      chat.policyState = { ...chat.policyState, loopFromMs: this.#state.now() };
    }
    chat.pause = undefined;
    if (answerMissed) this.#state.requeueIgnored(chat.id, ['chat-paused', 'auto-reply-loop']);
    return this.#claimed(chat, answerMissed?.node);
  }

  async nameGroup(accountId: string, groupId: string, name: string): Promise<void> {
    for (const chat of this.#state.chats.values()) {
      if (chat.accountId === accountId && chat.groupId === groupId) chat.groupName = name;
    }
  }

  async usePersonSession(
    accountId: string,
    person: string,
    chatId: string,
  ): Promise<PersonSession | undefined> {
    const isLocked = (id: string) => this.#state.chats.get(Number(id))?.isLocked === true;
    if (isLocked(chatId)) return undefined;
    const stored = this.#personSession(accountId, person);
    const { usedMs } = stored;
    stored.usedMs = this.#state.now();
    stored.chatIds = [...stored.chatIds.filter((id) => id !== chatId), chatId].slice(-50);
    const { number, startMs } = stored;
    const chatIds = stored.chatIds.filter((id) => !isLocked(id));
    return { number, startMs, chatIds, ...(usedMs !== undefined && { usedMs }) };
  }

  async startPersonSession(accountId: string, person: string, messageId: string) {
    const stored = this.#personSession(accountId, person);
    if (stored.startedBy !== messageId) {
      Object.assign(stored, { number: stored.number + 1, startMs: this.#state.now(), startedBy: messageId });
    }
    return { number: stored.number, startMs: stored.startMs };
  }

  #personSession(accountId: string, person: string): MemoryPersonSession {
    const key = `${accountId} ${person}`;
    const stored = this.#state.personSessions.get(key) ?? { number: 1, startMs: 0, chatIds: [] };
    this.#state.personSessions.set(key, stored);
    return stored;
  }

  async askAccess(id: string): Promise<AccessAsked | undefined> {
    const chat = this.#state.chats.get(Number(id));
    if (!chat) return undefined;
    const now = this.#state.now();
    let access: AccessAsked['access'] | undefined = accessOf(chat, now);
    const asked = [...this.#state.chats.values()].filter(
      (each) => each.accountId === chat.accountId && (each.access?.askedAtMs ?? 0) > now - 3_600_000,
    );
    if (access === undefined && asked.length >= 3) access = 'over-limit';
    else if (access === undefined) {
      access = 'pending';
      chat.access = { state: 'pending', askedAtMs: now };
    }
    const ownerPhone = this.#state.ownerPhones.get(chat.accountId);
    return { access, askedAtMs: chat.access?.askedAtMs, ...(ownerPhone && { ownerPhone }) };
  }

  async decideAccess(
    id: string,
    access: 'approved' | 'refused',
    node: string,
    check?: ChatCheck,
  ): Promise<ResumedChat | undefined> {
    const chat = this.#checked(id, check);
    if (!chat) return undefined;
    chat.access = { ...chat.access, state: access };
    if (access === 'approved') this.#state.requeueIgnored(chat.id, ACCESS_REASONS);
    return this.#claimed(chat, node);
  }

  #checked(id: string, check: ChatCheck | undefined): MemoryChat | undefined {
    const chat = this.#state.chats.get(Number(id));
    if (chat) check?.(this.#row(chat));
    return chat;
  }

  #claimed(chat: MemoryChat, node: string | undefined): ResumedChat {
    const isOpen = chat.workerNode === undefined && this.#state.received(chat.id).length > 0;
    const isNewWorker = isOpen && node !== undefined;
    const worker = isNewWorker ? claimChat(chat, node) : claimOf(chat);
    return { chat: this.#row(chat), isNewWorker, ...(worker && { worker }) };
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
      name: this.#nameOf(chat) ?? (chat.username && `@${chat.username}`),
      ...(chat.username && { username: chat.username }),
      activeAt: new Date(chat.activeAtMs),
      lastReceivedAt: messages[0]?.receivedAt,
      unanswered: this.#state.received(chat.id).length,
      failed: this.#failed(chat),
      ...(this.#needs(chat).length > 0 && { needs: this.#needs(chat) }),
      lastMessage: this.#lastMessage(chat),
      ...(chat.isLocked && { isLocked: true as const }),
      ...(this.#question(chat) && { question: this.#question(chat) }),
      ...(chat.tags?.length && { tags: chat.tags }),
      ...(chat.notes && { notes: chat.notes }),
      ...(accessOf(chat, this.#state.now()) && { access: accessOf(chat, this.#state.now()) }),
      ...(pause &&
        isPaused(chat, this.#state.now()) && {
          pause: {
            mode: pause.mode ?? 'listen-only',
            since: new Date(pause.sinceMs),
            until: pause.untilMs === undefined ? undefined : new Date(pause.untilMs),
            reason: pause.reason,
          },
        }),
    };
  }

  #failed(chat: MemoryChat): number {
    return this.#state.deadLetters.filter(
      ({ chatId, replayedAt, closedAt }) => chatId === chat.id && !replayedAt && !closedAt,
    ).length;
  }

  #isNamed(chat: MemoryChat, text: string): boolean {
    const digits = /^[+\d\s()./-]+$/.test(text) ? text.replaceAll(/\D/g, '') : '';
    return Boolean(
      (digits !== '' && [chat.phone, chat.lid].some((number) => number?.includes(digits))) ||
        (chat.username && `@${chat.username}`.includes(text)) ||
        (chat.tags ?? []).join(' ').includes(text) ||
        this.#nameOf(chat)?.toLowerCase().includes(text),
    );
  }

  #nameOf(chat: MemoryChat): string | undefined {
    const named = this.#state
      .messagesOf(chat.id)
      .toSorted((a, b) => Number(b.stanzaOrder - a.stanzaOrder) || b.id - a.id)
      .map(({ details, pushName, senderPhone, senderLid }) => {
        if (chat.groupId !== undefined) return details?.subject;
        return senderPhone === chat.phone || senderLid === chat.lid ? pushName : undefined;
      })
      .find((name) => name !== undefined);
    return chat.groupName ?? named;
  }

  #lastMessage(chat: MemoryChat): LastMessage | undefined {
    const received = this.#state
      .messagesOf(chat.id)
      .filter(({ reason }) => reason === undefined || !SILENT.has(reason))
      .map(({ id, reason, text, media, kind, receivedAt: at, state }) => ({
        id,
        direction: reason === 'owner-message' ? ('outgoing' as const) : ('incoming' as const),
        ...{ text, kind: media?.kind ?? kind, at, state },
      }));
    const sent = [...this.#state.outbox.values()]
      .filter(({ chatId }) => chatId === String(chat.id))
      .map(({ id, text, media, special, queuedAt: at, state }) => ({
        id: Number(id),
        direction: 'outgoing' as const,
        ...{ text, kind: special?.kind ?? media?.kind ?? 'text', at, state },
      }));
    const [last] = [...received, ...sent].sort((a, b) => Number(b.at) - Number(a.at) || b.id - a.id);
    if (!last) return undefined;
    const { id: _, text, ...shown } = last;
    return { ...shown, text: chat.isLocked ? '' : [...text].slice(0, LAST_MESSAGE_CHARS).join('') };
  }
}

/** What is stored without being a message to read. */
const SILENT = new Set(['own-message', 'edit-applied', 'deleted', 'reaction', 'timer-changed', 'pin']);

/** Whether a chat comes after a position of the list. */
function isAfter(chat: MemoryChat, { activeAtMs, id }: ChatPosition): boolean {
  return chat.activeAtMs < activeAtMs || (chat.activeAtMs === activeAtMs && chat.id < Number(id));
}
