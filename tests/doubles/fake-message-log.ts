import type { AgentExchange } from '../../router/src/core/agent-exchange.ts';
import type { FirstContact } from '../../router/src/core/policies/governor.ts';
import type {
  DeadLetterGroup,
  DeadLetterGroupQuery,
  DeadLetterQuery,
  DeadLetterRow,
  MessageLog,
  MessageQuery,
  ReceivedMessage,
  SentMessageRow,
  SentQuery,
} from '../../router/src/core/ports/message-log.ts';
import type { StoredMessageToRoute } from '../../router/src/core/routing/when.ts';

/** A message log whose rows a test sets; it records the queries it receives. */
export class FakeMessageLog implements MessageLog {
  rows: ReceivedMessage[] = [];
  sentRows: SentMessageRow[] = [];
  deadRows: DeadLetterRow[] = [];
  readonly queries: Array<MessageQuery | SentQuery | DeadLetterQuery> = [];
  /** Set: every method fails with it. */
  failure: Error | undefined;

  async messages(query: MessageQuery): Promise<ReceivedMessage[]> {
    return this.#page(this.rows, query);
  }

  async message(id: string): Promise<ReceivedMessage | undefined> {
    return this.rows.find((row) => row.id === id);
  }

  readonly exchangesOf = new Map<string, AgentExchange[]>();
  async exchanges(id: string): Promise<AgentExchange[]> {
    return this.exchangesOf.get(id) ?? [];
  }

  toRoute: StoredMessageToRoute[] = [];
  async messagesToRoute({ accountId, limit }: { accountId?: string; limit: number }) {
    if (this.failure) throw this.failure;
    return this.toRoute.filter((row) => row.accountId === (accountId ?? row.accountId)).slice(0, limit);
  }

  async sentMessages(query: SentQuery): Promise<SentMessageRow[]> {
    return this.#page(this.sentRows, query);
  }

  async sentMessage(id: string): Promise<SentMessageRow | undefined> {
    return this.sentRows.find((row) => row.id === id);
  }

  /** The last row that a search of one chat may read, when a test sets it. */
  searchEndId: string | undefined;
  async searchEnd(): Promise<string | undefined> {
    return this.searchEndId;
  }

  async newestId(): Promise<string | undefined> {
    const ids = [...this.rows, ...this.sentRows].map(({ id }) => Number(id));
    return ids.length === 0 ? undefined : String(Math.max(...ids));
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetterRow[]> {
    return this.#page(this.deadRows, query);
  }

  async deadLetter(id: string): Promise<DeadLetterRow | undefined> {
    return this.deadRows.find((row) => row.id === id);
  }

  groups: DeadLetterGroup[] = [];
  async deadLetterGroups(query: DeadLetterGroupQuery): Promise<DeadLetterGroup[]> {
    if (this.failure) throw this.failure;
    this.groupQueries.push(query);
    return this.groups;
  }
  readonly groupQueries: DeadLetterGroupQuery[] = [];

  async openWork() {
    if (this.failure) throw this.failure;
    const replies = { queued: 1, sent: 2 };
    return {
      messages: 3,
      oldestMessageMs: 61_500,
      replies,
      unacknowledged: 2,
      deadLetters: 4,
      webhookEvents: 5,
    };
  }

  async outgoingWork() {
    if (this.failure) throw this.failure;
    const until = new Date('2026-01-31T12:00:00.000Z');
    return { queued: 1, delayed: [{ why: 'It is a first contact.', messages: 2, until }] };
  }

  firstContact: FirstContact = { accountAgeMs: 0, earlierMs: [] };
  async firstContacts(): Promise<FirstContact> {
    if (this.failure) throw this.failure;
    return this.firstContact;
  }

  #page<Row extends { id: string; channelId: string; accountId: string }>(
    rows: Row[],
    query: MessageQuery | SentQuery | DeadLetterQuery,
  ): Row[] {
    this.queries.push(query);
    if (this.failure) throw this.failure;
    const { before = '999999', after = '0', limit, chats } = query;
    const isOfChats = (row: Row) =>
      (chats?.includes(row.channelId) ?? true) && (query.accounts?.includes(row.accountId) ?? true);
    const isIn = ({ id }: Row) => Number(id) < Number(before) && Number(id) > Number(after);
    const found = rows.filter((row) => isIn(row) && isOfChats(row));
    if (query.isOldestFirst) found.sort((a, b) => Number(a.id) - Number(b.id));
    return found.slice(0, limit);
  }
}

/** A message sent, as the log shows it. */
export function aSentMessage(change: Partial<SentMessageRow> = {}): SentMessageRow {
  return {
    direction: 'outgoing',
    id: '1',
    accountId: 'default',
    chatId: '7',
    channelId: '5493777239922',
    to: '5493777239922@s.whatsapp.net',
    waMessageId: '3EB0AA',
    text: 'hello',
    state: 'queued',
    attempts: 0,
    queuedAt: new Date('2026-01-02T03:04:05.000Z'),
    ...change,
  };
}

/** A message received and answered, as the log shows it. */
export function aReceivedMessage(change: Partial<ReceivedMessage> = {}): ReceivedMessage {
  const at = new Date('2026-01-02T03:04:05.000Z');
  return {
    direction: 'incoming',
    id: '2',
    accountId: 'default',
    chatId: '7',
    channelId: '5493777239922',
    waMessageId: '3A01',
    from: '5493777239922@s.whatsapp.net',
    kind: 'text',
    text: 'hola',
    state: 'answered',
    attempts: 1,
    sentAt: at,
    receivedAt: at,
    finishedAt: at,
    replies: [],
    ...change,
  };
}

/** A dead letter, as the log shows it. */
export function aDeadLetter(change: Partial<DeadLetterRow> = {}): DeadLetterRow {
  const at = new Date('2026-01-02T03:04:05.000Z');
  return {
    id: '4',
    accountId: 'default',
    chatId: '7',
    channelId: '5493777239922',
    messageId: '2',
    state: 'open',
    reason: 'AGENT_TIMEOUT',
    error: 'The agent took too long.',
    attempts: 3,
    from: '5493777239922@s.whatsapp.net',
    text: 'hola',
    createdAt: at,
    failedAt: at,
    ...change,
  };
}
