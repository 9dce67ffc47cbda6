import type { ChatId } from '../../router/src/core/chat-id.ts';
import { channelIdOfChat, pendingTurn } from '../../router/src/core/messages/chat-identity.ts';
import type {
  AgentSession,
  FollowedRow,
  ListedTask,
  NewReport,
  RemoteTasks,
  SessionKey,
  StoredTask,
  TaskListQuery,
  TaskOwner,
} from '../../router/src/core/tasks.ts';
import type { QueuedReply } from '../../router/src/core/turns/turn.ts';
import { queuedReplyOf, queueReply } from './memory-inbox.ts';
import type { MemoryMessage, MemoryState } from './memory-state.ts';

interface MemoryTask extends TaskOwner {
  id: number;
  remoteId: string;
  isOpen: boolean;
  reports: number;
  position?: string;
  createdAtMs: number;
  endedAtMs?: number;
}

/** Tasks of agents in memory, with the promises of PostgresRemoteTasks except durability. */
export class MemoryRemoteTasks implements RemoteTasks {
  readonly #state: MemoryState;
  readonly #tasks: MemoryTask[] = [];
  readonly #sessions = new Map<string, AgentSession>();

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async add(owner: TaskOwner, remoteId: string): Promise<void> {
    if (this.#of(owner).some((task) => task.remoteId === remoteId)) return;
    const id = this.#tasks.length + 1;
    this.#state.withTask.add(owner.messageId);
    this.#tasks.push({ ...owner, id, remoteId, isOpen: true, reports: 0, createdAtMs: this.#state.now() });
  }

  async ofMessage(owner: TaskOwner): Promise<StoredTask[]> {
    return this.#of(owner).map(shown);
  }

  async ofChat({ messageId, routeId }: TaskOwner): Promise<StoredTask[]> {
    const chatId = this.#message(messageId)?.chatId;
    return this.#tasks
      .filter((task) => task.routeId === routeId && this.#message(task.messageId)?.chatId === chatId)
      .reverse()
      .slice(0, 100)
      .map(shown);
  }

  async known(routeId: string, remoteIds: readonly string[]): Promise<string[]> {
    const ids = this.#tasks.filter((task) => task.routeId === routeId).map(({ remoteId }) => remoteId);
    return [...new Set(ids.filter((id) => remoteIds.includes(id)))];
  }

  async unfollowed(limit: number): Promise<string[]> {
    for (const task of this.#tasks) {
      const isEnded = this.#message(task.messageId)?.state !== 'received';
      if (task.isOpen && isEnded && !this.#isFollowed(task)) {
        Object.assign(task, { isOpen: false, endedAtMs: this.#state.now() });
      }
    }
    return this.#tasks
      .filter((task) => this.#isFollowed(task))
      .slice(0, limit)
      .map(({ id }) => String(id));
  }

  async followed(taskId: string): Promise<FollowedRow | undefined> {
    const task = this.#tasks.find(({ id }) => String(id) === taskId);
    const message = task && this.#isFollowed(task) ? this.#message(task.messageId) : undefined;
    const chat = message && this.#state.chats.get(message.chatId);
    if (!task || !message || !chat) return undefined;
    const turn = pendingTurn({
      ...message,
      receivedAtMs: message.receivedAt.getTime(),
      messageId: task.messageId,
      chatId: String(chat.id),
      chat: { phone: chat.phone, lid: chat.lid, groupId: chat.groupId },
      replyTo: chat.replyTo,
    });
    return {
      taskId,
      remoteId: task.remoteId,
      routeId: task.routeId,
      accountId: message.accountId,
      chatId: turn.chatId,
      messageId: task.messageId,
      message: turn.message,
      replyTo: turn.replyTo,
      reports: task.reports,
      ageMs: this.#state.now() - task.createdAtMs,
      ...(task.position !== undefined && { position: task.position }),
    };
  }

  async startedBy(messageId: string): Promise<string | undefined> {
    const task = this.#tasks.findLast((other) => other.messageId === messageId && this.#isFollowed(other));
    return task && String(task.id);
  }

  async report(
    taskId: string,
    { number, replies, position, end, exchanges = [] }: NewReport,
  ): Promise<QueuedReply[]> {
    const task = this.#tasks.find(({ id }) => String(id) === taskId);
    const message = task && this.#message(task.messageId);
    if (!task?.isOpen || message?.state !== 'answered' || task.reports !== number - 1) return [];
    const state = this.#state;
    const before = new Set(state.outbox.keys());
    for (const reply of replies) queueReply(state, message, reply);
    Object.assign(task, { reports: number, position: position ?? task.position, isOpen: end === undefined });
    message.exchanges = [...(message.exchanges ?? []), ...exchanges];
    if (end) task.endedAtMs = state.now();
    if (end?.state === 'failed') {
      const { reason, error } = end;
      Object.assign(message, { state: 'dead', reason, error, finishedAt: state.time() });
      const { accountId, chatId, attempts, trace } = message;
      state.addDeadLetter({ accountId, chatId, messageId: task.messageId, reason, error, attempts, trace });
    } else if (end) message.reason = undefined;
    return [...state.outbox.values()]
      .filter(({ id, state: sent }) => !before.has(id) && sent !== 'draft')
      .map(queuedReplyOf);
  }

  async list({
    accountId,
    state,
    chats,
    accounts,
    routes,
    before,
    limit,
  }: TaskListQuery): Promise<ListedTask[]> {
    return this.#tasks
      .map((task) => this.#listed(task))
      .filter(
        (task) =>
          (accountId === undefined || task.accountId === accountId) &&
          (state === undefined || task.state === state) &&
          (chats === undefined || chats.includes(task.channelId)) &&
          (accounts === undefined || accounts.includes(task.accountId)) &&
          (routes === undefined || routes.includes(task.routeId)) &&
          (before === undefined || Number(task.id) < Number(before)),
      )
      .reverse()
      .slice(0, limit);
  }

  async get(taskId: string): Promise<ListedTask | undefined> {
    const task = this.#tasks.find(({ id }) => String(id) === taskId);
    return task && this.#listed(task);
  }

  #listed({ id, remoteId, routeId, accountId, messageId, isOpen, ...task }: MemoryTask): ListedTask {
    const message = this.#message(messageId);
    const chat = message && this.#state.chats.get(message.chatId);
    if (!message || !chat) throw new Error('the task has no message');
    return {
      ...{ id: String(id), remoteId, routeId, accountId, messageId, chatId: String(chat.id) as ChatId },
      channelId: channelIdOfChat({ phone: chat.phone, lid: chat.lid, groupId: chat.groupId }),
      ...(message.pushName !== undefined && { pushName: message.pushName }),
      state: isOpen ? 'open' : 'ended',
      createdAt: new Date(task.createdAtMs),
      ...(task.endedAtMs !== undefined && { endedAt: new Date(task.endedAtMs) }),
    };
  }

  async session(key: SessionKey): Promise<AgentSession | undefined> {
    return this.#sessions.get(nameOf(key));
  }

  async saveSession(key: SessionKey, session: AgentSession): Promise<void> {
    this.#sessions.set(nameOf(key), session);
  }

  #of({ messageId, routeId }: TaskOwner): MemoryTask[] {
    return this.#tasks.filter((task) => task.messageId === messageId && task.routeId === routeId);
  }

  #message(messageId: string): MemoryMessage | undefined {
    return this.#state.messages.get(Number(messageId));
  }

  /** Open, and the newest task of a turn that left it running. */
  #isFollowed(task: MemoryTask): boolean {
    const message = this.#message(task.messageId);
    const isNewest = this.#tasks.findLast(({ messageId }) => messageId === task.messageId) === task;
    const isStarted = message?.state === 'answered' && message.reason === 'task-started';
    return task.isOpen && isNewest && isStarted && message.routeId === task.routeId;
  }
}

function shown({ remoteId, isOpen }: MemoryTask): StoredTask {
  return { remoteId, isOpen };
}

function nameOf({ accountId, routeId, sessionId }: SessionKey): string {
  return `${accountId} ${routeId} ${sessionId}`;
}
