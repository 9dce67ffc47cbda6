import type { AgentExchange } from '../agent-exchange.ts';
import type { ChatId } from '../ids.ts';
import type { IncomingMessage } from '../models.ts';
import type { NewReply, QueuedReply } from '../turns/turn.ts';

/** A task at an agent, opened for a message. `isOpen`: it may still run, or its end is not yet in the chat. */
export interface StoredTask {
  /** The agent's own id. */
  remoteId: string;
  isOpen: boolean;
}

/** What an agent needs to continue the conversation with one person in one chat. */
export interface AgentSession {
  /** The agent's id of the conversation. */
  contextId: string;
  /** The task that waits for the person's next message; absent when none does. */
  taskId?: string;
}

/** The message and the route that opened a task. */
export interface TaskOwner {
  accountId: string;
  messageId: string;
  routeId: string;
}

/** Whose session it is: the route, and the agent contract's session of the person in the chat. */
export interface SessionKey {
  accountId: string;
  routeId: string;
  sessionId: string;
}

/** A task that is followed, with its message. */
export interface FollowedRow {
  taskId: string;
  remoteId: string;
  routeId: string;
  accountId: string;
  chatId: ChatId;
  messageId: string;
  message: IncomingMessage;
  /** Where its reports go: the JID the chat was last heard from. */
  replyTo: string;
  /** Reports that are stored. */
  reports: number;
  /** Of the last stored progress. */
  position?: string;
  /** Since it was opened, in milliseconds, by the database's clock. */
  ageMs: number;
}

/** One report of a task. `number` is 1 for the first; `end` absent: it is progress, at `position`. */
export interface NewReport {
  number: number;
  replies: NewReply[];
  position?: string;
  /** Requests to the agent that brought the report, with their answers; stored with it. */
  exchanges?: AgentExchange[];
  /** `failed` makes the message a dead letter with this reason and this sentence. */
  end?: { state: 'done' } | { state: 'failed'; reason: string; error: string };
}

/** A task as operators see it. */
export interface ListedTask {
  taskId: string;
  remoteId: string;
  routeId: string;
  accountId: string;
  chatId: ChatId;
  /** Address of the chat, as in routes and filters. */
  channelId: string;
  messageId: string;
  /** The name that the writer of the message chose. */
  pushName?: string;
  /** `open`: it may still run, or its end is not yet in the chat. */
  state: 'open' | 'ended';
  createdAt: Date;
  endedAt?: Date;
}

/** Which tasks, newest first; all conditions must match. */
export interface TaskListQuery {
  accountId?: string;
  state?: ListedTask['state'];
  /** Only of these chats, in any of their spellings. */
  chats?: readonly string[];
  /** Only of these accounts. */
  accounts?: readonly string[];
  routes?: readonly string[];
  /** Only tasks with a smaller id. */
  before?: string;
  limit: number;
}

/**
 * Tasks that agents run for messages, and sessions at agents.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface RemoteTasks {
  /** Idempotent: a task of the message and the route that is known stays as it is. */
  add(owner: TaskOwner, remoteId: string): Promise<void>;
  /** The tasks of a message at the agent of a route, oldest first. */
  ofMessage(owner: TaskOwner): Promise<StoredTask[]>;
  /** The tasks of all messages of the message's chat at the agent of the route, newest first; at most 100. */
  ofChat(owner: TaskOwner): Promise<StoredTask[]>;
  /** Those of these ids that a message opened at the agent of this route. */
  known(routeId: string, remoteIds: readonly string[]): Promise<string[]>;
  /**
   * Open tasks whose turn ended with the reason `task-started`, oldest first. Tasks whose turn ended otherwise are closed:
   * their turn reported them.
   */
  unfollowed(limit: number): Promise<string[]>;
  /** The open task of an ended turn; undefined when it was reported, or was opened by an attempt that is not the last. */
  followed(taskId: string): Promise<FollowedRow | undefined>;
  /** The open task of a message that the turn of the message left running; undefined when there is none. */
  startedBy(messageId: string): Promise<string | undefined>;
  /**
   * Stores a report and its replies, after all replies of the message, in one transaction; the message of a failed task
   * becomes dead, with a dead letter. Idempotent: a number that is stored, and a task that has ended, change nothing.
   * @returns the replies that this call stored
   */
  report(taskId: string, report: NewReport): Promise<QueuedReply[]>;
  /** The tasks of all chats, also those that their turn reported. */
  list(query: TaskListQuery): Promise<ListedTask[]>;
  /** One of them; undefined when there is none. */
  get(taskId: string): Promise<ListedTask | undefined>;
  /** The conversation, if it is known. Counts as a use: a conversation that nobody uses is removed one day. */
  session(key: SessionKey): Promise<AgentSession | undefined>;
  saveSession(key: SessionKey, session: AgentSession): Promise<void>;
}
