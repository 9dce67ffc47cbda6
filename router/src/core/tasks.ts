import type { AgentExchange } from './agent-exchange.ts';
import type { ChatId } from './chat-id.ts';
import type { IncomingMessage } from './models.ts';
import type { Phrase } from './phrases.ts';
import type { NewReply, QueuedReply } from './turns/turn.ts';

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
  end?: { state: 'done' } | { state: 'failed'; reason: string; error: string; phrase?: Phrase };
}

/** A task as operators see it. */
export interface ListedTask {
  id: string;
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

/** The input and the result of each kind of long task; both are stored as JSON and contain no secret. */
interface TaskKinds {
  'delete-account': { input: { accountId: string }; result: { deletedRows: number } };
  /** Follows a task at an agent; `taskId` is that of `RemoteTasks`. */
  'follow-task': { input: { taskId: string }; result: { outcome: string } };
  /** Performs a task of the NPC server that is not short; `taskId` is that of `NpcTasks`. */
  'npc-task': { input: { taskId: string }; result: { outcome: string } };
  /** Does a task for a program; `taskId` is that of `ServedTasks`. */
  'serve-task': { input: { taskId: string }; result: { outcome: string } };
  /** Sends the updates of a served task to one of its hooks. */
  'push-updates': { input: { taskId: string; hookId: string }; result: { outcome: string } };
}

export type TaskKind = keyof TaskKinds;
export type TaskInput<Kind extends TaskKind> = TaskKinds[Kind]['input'];
export type TaskResult<Kind extends TaskKind> = TaskKinds[Kind]['result'];

/** The steps of one running task. */
export interface TaskSteps {
  /**
   * Runs one step and stores its result. When the process dies, the task runs again from its beginning on this node or
   * on another one, and every step that ended returns its stored result instead of running. `work` must be safe to
   * repeat, because a step that a crash interrupted runs again. Errors with disposition `retry` are retried with growing
   * waits; any other error rejects, and so fails the task unless the task catches it.
   * @param name unique within the task and the same in every run
   */
  run<T extends string | number | boolean | null | readonly string[]>(
    name: string,
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Aborts when the process stops. A step that waits long must then reject; it runs again after the next start, or on
   * another node.
   */
  readonly stopping: AbortSignal;
}

/** What runs for each kind of task. It must call its steps in the same order in every run. */
export type TaskFunctions = {
  readonly [Kind in TaskKind]: (steps: TaskSteps, input: TaskInput<Kind>) => Promise<TaskResult<Kind>>;
};

/** `error` is a sentence that an operator can act on. */
export type TaskStatus =
  | { kind: TaskKind; state: 'running' }
  | { kind: TaskKind; state: 'done'; result: TaskResult<TaskKind> }
  | { kind: TaskKind; state: 'failed'; error: string };

/** A long task to start. */
export type TaskStart = {
  [Kind in TaskKind]: { kind: Kind; id: string; input: TaskInput<Kind> };
}[TaskKind];

/**
 * Long tasks that survive the death of the process.
 * @throws {StorageUnavailableError} from both methods; safe to retry with the same id
 */
export interface DurableTasks {
  /** Resolves when the task is stored; it runs in the background. Idempotent: an id that was used before starts nothing. */
  start(task: TaskStart): Promise<void>;
  /** Undefined: no task has this id, or it ended longer ago than the retention of workflows. */
  status(id: string): Promise<TaskStatus | undefined>;
}

/** A task at the agent of a route. */
export interface PushedTask {
  routeId: string;
  /** The agent's own id. */
  remoteId: string;
}

/** Notifications by which agents say that a task has changed, so that wa2ai need not look at it again and again. */
export interface TaskPushes {
  /**
   * Where an agent sends the notifications of a task; contains a secret, always the same for one task. Undefined: agents
   * cannot reach wa2ai.
   * @throws {StorageUnavailableError}
   */
  urlOf(task: PushedTask): Promise<string | undefined>;
  /** `onPush` is called after each notification of the task, at whatever node it arrives. Some may be lost. @returns ends it */
  listen(task: PushedTask, onPush: () => void): () => void;
}

/** The messages whose turn left a task running, from the turns to the follower; kept until somebody listens. */
export class StartedTasks {
  #listener: ((messageId: string) => void) | undefined;
  #waiting: string[] = [];

  /** Called by a turn after its end is stored. Returns immediately. */
  add(messageId: string): void {
    if (this.#listener) this.#listener(messageId);
    else this.#waiting.push(messageId);
  }

  /** Gives every message to one listener, also those of before. */
  listen(listener: (messageId: string) => void): void {
    this.#listener = listener;
    for (const messageId of this.#waiting.splice(0)) listener(messageId);
  }
}

const MAX_SHOWN_CHARS = 24;
const SHORT_CHARS = 8;
const MIN_PREFIX_CHARS = 4;

/** A task id as people see and write it: a long one by its first characters, which `taskNamed` finds again. */
export function shortTaskId(remoteId: string): string {
  return remoteId.length > MAX_SHOWN_CHARS ? remoteId.slice(0, SHORT_CHARS) : remoteId;
}

/** The task of a chat that a person means: by its id, or by the beginning of only one id. */
export function taskNamed(tasks: readonly StoredTask[], written: string): StoredTask | undefined {
  const exact = tasks.find(({ remoteId }) => remoteId === written);
  if (exact || written.length < MIN_PREFIX_CHARS) return exact;
  const lower = written.toLowerCase();
  const found = tasks.filter(({ remoteId }) => remoteId.toLowerCase().startsWith(lower));
  return new Set(found.map(({ remoteId }) => remoteId)).size === 1 ? found[0] : undefined;
}
