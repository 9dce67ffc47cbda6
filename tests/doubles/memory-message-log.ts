import type { AgentExchange } from '../../router/src/core/agent-exchange.ts';
import { canonicalRouteChannelId, lidJid, parseJid } from '../../router/src/core/chat-id.ts';
import { specialView } from '../../router/src/core/delivery/special-message.ts';
import { channelIdsOf, personJid } from '../../router/src/core/messages/chat-identity.ts';
import type { MessageKind } from '../../router/src/core/models.ts';
import type { FirstContact } from '../../router/src/core/policies/governor.ts';
import type {
  DeadLetterGroup,
  DeadLetterGroupQuery,
  DeadLetterQuery,
  DeadLetterRow,
  DeadLetterState,
  MessageLog,
  MessageQuery,
  OpenWork,
  OutgoingWork,
  ReceivedMessage,
  SentMessageRow,
  SentQuery,
} from '../../router/src/core/ports/message-log.ts';
import type { StoredMessageToRoute } from '../../router/src/core/routing/when.ts';
import { rowId } from '../../router/src/infra/db/stores/rows.ts';
import { asRow } from './memory-outbox.ts';
import type { MemoryDeadLetter, MemoryMessage, MemoryReply, MemoryState } from './memory-state.ts';

const ACK_TIMEOUT_MS = 30_000;
const OPEN_REPLY_STATES = new Set(['queued', 'sending', 'sent']);

/** Reads the in-memory inbox and outbox of the same state. */
export class MemoryMessageLog implements MessageLog {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async messages(query: MessageQuery): Promise<ReceivedMessage[]> {
    const rows = [...this.#state.messages.values()].filter(
      (row) =>
        row.state === (query.state ?? row.state) &&
        row.routeId === (query.routeId ?? row.routeId) &&
        contains(row.text, query.text) &&
        this.#isSearched(row, query) &&
        this.#isFrom(row, query.from) &&
        this.#matches(row, row.receivedAt, query),
    );
    return inOrder(rows, query).map((row) => this.#messageRow(row));
  }

  /** A search in all chats leaves out locked ones. */
  #isSearched(
    { chatId }: { chatId: string | number },
    query: { text?: string; chatId?: string; channelId?: string },
  ): boolean {
    if (query.text === undefined || query.chatId !== undefined || query.channelId !== undefined) return true;
    return !this.#state.chats.get(Number(chatId))?.isLocked;
  }

  async message(id: string): Promise<ReceivedMessage | undefined> {
    const row = this.#state.messages.get(Number(id));
    return row && this.#messageRow(row);
  }

  async exchanges(id: string): Promise<AgentExchange[]> {
    return this.#state.messages.get(Number(id))?.exchanges ?? [];
  }

  async messagesToRoute({ accountId, limit }: Parameters<MessageLog['messagesToRoute']>[0]) {
    const rows = [...this.#state.messages.values()].filter(
      (row) =>
        row.accountId === (accountId ?? row.accountId) &&
        (row.state === 'received' || (row.trace !== undefined && row.reason !== 'encrypted-edit')),
    );
    return inOrder(rows, { limit }).map((row): StoredMessageToRoute => {
      const { id, text, kind, media, viewOnce, details, toUs } = row;
      const chat = this.#state.chats.get(row.chatId);
      return {
        messageId: String(id),
        chatId: String(row.chatId),
        accountId: row.accountId,
        channelIds: channelIdsOf(chat ?? {}),
        message: {
          text,
          kind: kind as MessageKind,
          ...(media && { media }),
          ...(viewOnce && { viewOnce }),
          ...(details?.card && { card: details.card }),
        },
        ...(toUs && { toUs }),
        receivedAtMs: row.receivedAt.getTime(),
      };
    });
  }

  async sentMessages(query: SentQuery): Promise<SentMessageRow[]> {
    const rows = [...this.#state.outbox.values()].filter(
      (row) =>
        row.state === (query.state ?? row.state) &&
        contains(row.text, query.text) &&
        this.#isSearched(row, query) &&
        this.#matches(row, row.queuedAt, query),
    );
    return inOrder(rows, query).map((row) => this.#sentRow(row));
  }

  async sentMessage(id: string): Promise<SentMessageRow | undefined> {
    const row = this.#state.outbox.get(id);
    return row && this.#sentRow(row);
  }

  async newestId(): Promise<string | undefined> {
    const ids = [...this.#state.messages.keys(), ...[...this.#state.outbox.keys()].map(Number)];
    return ids.length === 0 ? undefined : String(Math.max(...ids));
  }

  async searchEnd(chat: Parameters<MessageLog['searchEnd']>[0], rows: number): Promise<string | undefined> {
    const ids = [
      await this.messages({ ...chat, limit: rows + 1 }),
      await this.sentMessages({ ...chat, limit: rows + 1 }),
    ]
      .flatMap((found) => found[rows] ?? [])
      .map(({ id }) => Number(id));
    return ids.length === 0 ? undefined : String(Math.max(...ids));
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterRow[]> {
    const rows = this.#state.deadLetters.filter(
      (row) =>
        stateOf(row) === (query.state ?? stateOf(row)) &&
        row.reason === (query.reason ?? row.reason) &&
        this.#isFrom(this.#state.messages.get(Number(row.messageId)), query.from) &&
        this.#matches(row, row.failedAt, query),
    );
    return inOrder(rows, query).map((row) => this.#deadLetterRow(row));
  }

  async deadLetter(id: string): Promise<DeadLetterRow | undefined> {
    const row = this.#state.deadLetters.find((letter) => String(letter.id) === id);
    return row && this.#deadLetterRow(row);
  }

  async deadLetterGroups(query: DeadLetterGroupQuery): Promise<DeadLetterGroup[]> {
    const groups = new Map<string, DeadLetterRow[]>();
    for (const letter of await this.deadLetters({ ...query, limit: Number.MAX_SAFE_INTEGER })) {
      groups.set(letter.reason, [...(groups.get(letter.reason) ?? []), letter]);
    }
    return [...groups]
      .map(([reason, letters]) => {
        const byTime = letters.toSorted(
          (a, b) => Number(b.failedAt) - Number(a.failedAt) || Number(b.id) - Number(a.id),
        );
        const [newest, oldest] = [byTime[0], byTime.at(-1)] as [DeadLetterRow, DeadLetterRow];
        const { failedAt: newestAt, error } = newest;
        return { reason, count: letters.length, newestAt, oldestAt: oldest.failedAt, error };
      })
      .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
  }

  async outgoingWork(accountId: string): Promise<OutgoingWork> {
    const now = this.#state.now();
    const rows = [...this.#state.outbox.values()].filter(
      (row) => row.accountId === accountId && row.state === 'queued',
    );
    const delayed = new Map<string, { why: string; messages: number; until: Date }>();
    let queued = 0;
    for (const { delayedUntil: until, error: why = '' } of rows) {
      if (until === undefined || until.getTime() <= now) queued += 1;
      else {
        const { messages = 0, until: first = until } = delayed.get(why) ?? {};
        const earlier = new Date(Math.min(first.getTime(), until.getTime()));
        delayed.set(why, { why, messages: messages + 1, until: earlier });
      }
    }
    return { queued, delayed: [...delayed.values()].sort((a, b) => Number(a.until) - Number(b.until)) };
  }

  async firstContacts(wanted: string): Promise<FirstContact> {
    const nowMs = this.#state.now();
    const earlierMs = [...this.#state.outbox.values()].flatMap(({ accountId, firstContactMs }) =>
      accountId === wanted && firstContactMs !== undefined ? [nowMs - firstContactMs] : [],
    );
    return { accountAgeMs: 0, earlierMs: earlierMs.filter((ms) => ms < 86_400_000) };
  }

  async openWork(): Promise<OpenWork> {
    const now = this.#state.now();
    const waiting = [...this.#state.messages.values()].filter(({ state }) => state === 'received');
    const open = [...this.#state.outbox.values()].filter(({ state }) => OPEN_REPLY_STATES.has(state));
    const replies: Record<string, number> = {};
    for (const { state } of open) replies[state] = (replies[state] ?? 0) + 1;
    return {
      messages: waiting.length,
      oldestMessageMs: Math.max(0, ...waiting.map(({ receivedAt }) => now - receivedAt.getTime())),
      replies,
      unacknowledged: open.filter(
        ({ state, attemptedAt }) =>
          state !== 'queued' && attemptedAt !== undefined && attemptedAt.getTime() <= now - ACK_TIMEOUT_MS,
      ).length,
      deadLetters: this.#state.deadLetters.filter((row) => stateOf(row) === 'open').length,
      webhookEvents: 0,
    };
  }

  #matches(
    row: MemoryMessage | MemoryReply | MemoryDeadLetter,
    at: Date,
    query: Omit<MessageQuery, 'state'>,
  ): boolean {
    if (query.accountId !== undefined && row.accountId !== query.accountId) return false;
    if (query.before !== undefined && !(Number(row.id) < Number(rowId(query.before)))) return false;
    if (query.after !== undefined && !(Number(row.id) > Number(rowId(query.after)))) return false;
    if (query.chatId !== undefined && String(row.chatId) !== query.chatId) return false;
    if (query.since && at < query.since) return false;
    if (query.until && at >= query.until) return false;
    const isOf = (channelIds: readonly string[] | undefined) => {
      if (channelIds === undefined) return true;
      const chat = this.#state.chats.get(Number(row.chatId));
      const wanted = channelIds.map((channelId) => canonicalRouteChannelId(channelId));
      return chat !== undefined && channelIdsOf(chat).some((channelId) => wanted.includes(channelId));
    };
    return (
      isOf(query.channelId === undefined ? undefined : [query.channelId]) &&
      isOf(query.chats) &&
      (query.accounts?.includes(row.accountId) ?? true)
    );
  }

  #isFrom(row: MemoryMessage | undefined, from: string | undefined): boolean {
    if (from === undefined) return true;
    if (!row) return false;
    const address = from.includes('@') ? parseJid(from) : undefined;
    if (address) return address.kind === 'lid' && row.senderLid === address.lid;
    const phone = row.senderLid && this.#state.lids.get(`${row.accountId} ${row.senderLid}`);
    return row.senderPhone === from || phone === from;
  }

  #chatOf(chatId: number): { channelId: string; username?: string } {
    const chat = this.#state.chats.get(chatId);
    const { username } = chat ?? {};
    return { channelId: (chat && channelIdsOf(chat)[0]) ?? '', ...(username && { username }) };
  }

  #writerOf(row: MemoryMessage): string {
    const person = { phone: row.senderPhone, lid: row.senderLid };
    return personJid(person) ?? this.#state.chats.get(row.chatId)?.replyTo ?? '';
  }

  #messageRow(row: MemoryMessage): ReceivedMessage {
    const {
      senderPhone: _phone,
      senderLid,
      sentAtMs,
      stanzaOrder: _order,
      mediaRef,
      secret: _secret,
      details,
      edits,
      ...shown
    } = row;
    return {
      ...shown,
      ...(edits > 0 && { edits }),
      ...(details?.card && { card: details.card }),
      ...(details?.of !== undefined && { about: details.of }),
      ...(mediaRef !== undefined && { hasFile: true as const }),
      direction: 'incoming',
      id: String(row.id),
      chatId: String(row.chatId),
      ...this.#chatOf(row.chatId),
      from: this.#writerOf(row),
      fromLid: senderLid && lidJid(senderLid),
      sentAt: new Date(sentAtMs),
      replies: [...this.#state.outbox.values()]
        .filter((reply) => reply.messageId === String(row.id))
        .map((reply) => this.#sentRow(reply)),
    };
  }

  #sentRow(row: MemoryReply): SentMessageRow {
    const isDead = row.state === 'dead';
    const letter = this.#state.deadLetters.find(({ outboxId }) => isDead && outboxId === row.id);
    return {
      ...asRow(row),
      direction: 'outgoing',
      ...this.#chatOf(Number(row.chatId)),
      messageId: row.messageId,
      reason: letter?.reason,
      deadLetterId: letter && String(letter.id),
      ...(row.byHand && { byHand: true as const }),
      ...(row.special && { special: specialView(row.special) }),
      ...(row.quote && { quote: row.quote }),
      ...(row.file && { hasFile: true as const }),
    };
  }

  #deadLetterRow(row: MemoryDeadLetter): DeadLetterRow {
    const message = this.#state.messages.get(Number(row.messageId));
    const reply = this.#state.outbox.get(row.outboxId ?? '');
    return {
      ...row,
      id: String(row.id),
      chatId: String(row.chatId),
      ...this.#chatOf(row.chatId),
      state: stateOf(row),
      from: message && this.#writerOf(message),
      pushName: message?.pushName,
      to: reply?.to,
      text: (row.outboxId === undefined ? message?.text : reply?.text) ?? '',
    };
  }
}

function stateOf(row: MemoryDeadLetter): DeadLetterState {
  if (row.closedAt) return 'closed';
  return row.replayedAt ? 'replayed' : 'open';
}

function contains(text: string, part: string | undefined): boolean {
  return part === undefined || text.toLowerCase().includes(part.toLowerCase());
}

function inOrder<T extends { id: number | string }>(
  rows: T[],
  { limit, isOldestFirst = false }: { limit: number; isOldestFirst?: boolean },
): T[] {
  const newestFirst = [...rows].sort((a, b) => Number(b.id) - Number(a.id));
  return (isOldestFirst ? newestFirst.reverse() : newestFirst).slice(0, limit);
}
