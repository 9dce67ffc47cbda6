import { canonicalChannelId, lidJid } from '../../router/src/core/chat-id.ts';
import { channelIdsOf, personJid } from '../../router/src/core/messages/chat-identity.ts';
import type {
  DeadLetterRow,
  LogQuery,
  MessageLog,
  MessageRow,
  OpenWork,
} from '../../router/src/core/ports/message-log.ts';
import { rowId } from '../../router/src/infra/storage/stores/storable-text.ts';
import { asRow } from './memory-outbox.ts';
import type { MemoryDeadLetter, MemoryMessage, MemoryState } from './memory-state.ts';

const ACK_TIMEOUT_MS = 30_000;
const OPEN_REPLY_STATES = new Set(['queued', 'sending', 'sent']);

/** Reads what the in-memory inbox and outbox of the same state hold, for tests. */
export class MemoryMessageLog implements MessageLog {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async messages(query: LogQuery): Promise<MessageRow[]> {
    const rows = [...this.#state.messages.values()].filter(
      (row) => row.state === (query.state ?? row.state) && this.#matches(row, query),
    );
    return newestFirst(rows, query.limit).map((row) => this.#messageRow(row));
  }

  async message(id: string): Promise<MessageRow | undefined> {
    const row = this.#state.messages.get(Number(id));
    return row && this.#messageRow(row);
  }

  async deadLetters(query: LogQuery): Promise<DeadLetterRow[]> {
    const rows = this.#state.deadLetters.filter((row) => {
      const state = row.replayedAt ? 'replayed' : 'open';
      const isWanted = query.state !== 'open' && query.state !== 'replayed' ? true : query.state === state;
      return isWanted && row.reason === (query.reason ?? row.reason) && this.#matches(row, query);
    });
    return newestFirst(rows, query.limit).map((row) => ({
      ...row,
      id: String(row.id),
      chatId: String(row.chatId),
    }));
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
        ({ state, triedAt }) =>
          state !== 'queued' && triedAt !== undefined && triedAt.getTime() <= now - ACK_TIMEOUT_MS,
      ).length,
      deadLetters: this.#state.deadLetters.filter(({ replayedAt }) => replayedAt === undefined).length,
    };
  }

  #matches(row: MemoryMessage | MemoryDeadLetter, query: LogQuery): boolean {
    if (query.accountId !== undefined && row.accountId !== query.accountId) return false;
    if (query.before !== undefined && !(row.id < Number(rowId(query.before)))) return false;
    if (query.channelId === undefined) return true;
    const channelId = canonicalChannelId(query.channelId);
    const chat = this.#state.chats.get(row.chatId);
    return channelId !== undefined && chat !== undefined && channelIdsOf(chat).includes(channelId);
  }

  #messageRow(row: MemoryMessage): MessageRow {
    const chat = this.#state.chats.get(row.chatId);
    const {
      senderPhone,
      senderLid,
      sentAtMs,
      stanzaOrder: _order,
      editOf: _edit,
      mediaRef: _ref,
      ...shown
    } = row;
    return {
      ...shown,
      id: String(row.id),
      chatId: String(row.chatId),
      channelId: (chat && channelIdsOf(chat)[0]) ?? '',
      from: personJid({ phone: senderPhone, lid: senderLid }) ?? chat?.replyTo ?? '',
      fromLid: senderLid && lidJid(senderLid),
      sentAt: new Date(sentAtMs),
      replies: [...this.#state.outbox.values()].filter((r) => r.messageId === String(row.id)).map(asRow),
    };
  }
}

function newestFirst<T extends { id: number }>(rows: T[], limit: number): T[] {
  return [...rows].sort((a, b) => b.id - a.id).slice(0, limit);
}
