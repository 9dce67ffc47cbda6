import type { Logger } from './logger.ts';
import type { AgentResponse, IncomingMessage, Route } from './models.ts';
import type { SayInChat } from './policies/texts.ts';
import type { PastTurn } from './ports/message-log.ts';
import type { AgentSession, StoredTask } from './tasks.ts';

/**
 * What wa2ai stores of an agent beyond one answer: tasks of a message, and the session of the person in the chat.
 * @throws {StorageUnavailableError} from every method
 */
export interface AttemptStore {
  /** The tasks that earlier attempts of this message opened at the agent, oldest first. */
  tasks(): Promise<StoredTask[]>;
  /** Stores the id of a task that the agent opened for this message. Called before any wait for the task. Idempotent. */
  addTask(remoteId: string): Promise<void>;
  /** The tasks that messages of this chat opened at the agent, newest first; at most 100. */
  chatTasks(): Promise<StoredTask[]>;
  /** Those of these ids that some message of the account opened at the agent. */
  knownTasks(remoteIds: readonly string[]): Promise<string[]>;
  session(): Promise<AgentSession | undefined>;
  saveSession(session: AgentSession): Promise<void>;
}

/** Limits and identity of one attempt. */
export interface AttemptOptions {
  /** Ends the attempt early, e.g. at shutdown. */
  signal?: AbortSignal;
  /**
   * Counts the attempt. The client calls this right before it sends the message, and not when it needs no request.
   * @throws {StorageUnavailableError} the message must not be sent
   */
  beforeRequest?(): Promise<void>;
  /**
   * An earlier attempt of this message may have reached the agent before a crash: the client checks that before it sends
   * again.
   */
  isRepeat?: boolean;
  /** Of a repeat: no earlier attempt forbids another one, because it did not run or an operator replayed the message. */
  isCleared?: boolean;
  /**
   * What to do when an earlier attempt may have reached the agent and its session cannot be read: `retry` (default) sends
   * again, `dead-letter` throws AgentUncertainError.
   */
  uncertain?: 'retry' | 'dead-letter';
  /**
   * The bytes of the message's file, fetched when this is called and at most once. Absent: the message has none.
   * @throws {MediaError}
   */
  loadMedia?(): Promise<Uint8Array>;
  /**
   * A link to the message's file, which works for an hour, made when this is called; undefined when there are no links.
   * Absent: the message has no file.
   * @throws {StorageUnavailableError}
   */
  mediaUrl?(): Promise<string | undefined>;
  /** Absent: nothing is stored, and a task must end within the attempt. */
  store?: AttemptStore;
  /**
   * The last turns of the chat before this message, oldest first; read when this is called. Absent: the chat is not known.
   * @throws {StorageUnavailableError}
   */
  loadHistory?(limits: HistoryLimits): Promise<PastTurn[]>;
  /**
   * A secret by which the agent can answer the message later (`POST /api/replies/{token}`), made when this is called first.
   * Absent: it cannot.
   * @throws {StorageUnavailableError}
   */
  replyToken?(): Promise<string>;
  /**
   * Sends a text to the chat immediately, before the answer; at most one for each message, whatever is repeated. Absent: the
   * chat cannot be reached before the answer.
   * @throws {StorageUnavailableError}
   */
  notify?(text: string): Promise<void>;
  /**
   * Called each time the agent has written more of its answer, with what returns the text so far; it may also become another
   * one. Returns immediately. A client that cannot stream never calls it. Absent: nothing is shown before the answer is complete.
   */
  onText?(textSoFar: () => string): void;
  /** Says a text of wa2ai in the language of the person. Absent: in English. */
  sayInChat?: SayInChat;
  /** Log of the turn, whose lines carry the message and the chat. Absent: the client's own. */
  log?: Logger;
}

/** A task that an attempt left running, for `AgentClient.followTask`. */
export interface FollowedTask {
  remoteId: string;
  /** The message that opened it. */
  message: IncomingMessage;
  /** `position` of the last progress that was reported; absent when none was. */
  position?: string;
}

/** What there is to report of a running task: its progress, or the answer that it ended with. */
export type TaskReport =
  | { kind: 'progress'; text: string; position: string }
  | { kind: 'end'; response: AgentResponse };

/** What an agent says of a task now. */
export interface TaskNow {
  /** As the protocol names it: `working`, `processing`. */
  state: string;
  /** From 0 to 100, when the agent says it. */
  percent?: number;
  /** What the agent says about its work. */
  text?: string;
}

/**
 * Port to one agent protocol (path and name fixed by the agent contract).
 *
 * `sendMessage` makes one attempt and returns the answer.
 * @throws {AgentUnavailableError} the agent did not accept the request; sending it again is safe
 * @throws {AgentTimeoutError} the agent may have accepted it; never sent again without a check
 * @throws {AgentUncertainError} an earlier attempt may have been accepted, and nothing was sent
 * @throws {AgentProtocolError} no retry helps
 * @throws {MediaError} the message's file could not be loaded; the agent was not called
 */
export interface AgentClient {
  sendMessage(endpoint: string, message: IncomingMessage, options?: AttemptOptions): Promise<AgentResponse>;
  /**
   * The id of the agent that works on this message, when wa2ai itself runs one for each person or chat: each has its own
   * circuit breaker. Absent: the endpoint of the route has one.
   */
  agentIdFor?(message: IncomingMessage): string | undefined;
  /** Whether this agent accepts a file without text. Absent: it does not. */
  takesFile?(message: IncomingMessage, endpoint: string): Promise<boolean>;
  /** Whether the agent gets the description of a location, a contact and the like as the text. Absent: it does. */
  readsDescriptions?(): boolean;
  /** Whether the agent has a command of this name, such as `help`: then it gets the message. Absent: it has none. */
  ownsCommand?(name: string, endpoint: string): Promise<boolean>;
  /**
   * Waits until a task that `sendMessage` left running (`AgentResponse.task`) has something new to report. Opens nothing.
   * @throws {AgentUnavailableError} the agent cannot be reached now; call again
   * @throws any other Wa2aiError: the task has failed
   */
  followTask?(
    endpoint: string,
    task: FollowedTask,
    options: {
      signal: AbortSignal;
      log: Logger;
      store: Pick<AttemptStore, 'saveSession'>;
      /** As `AttemptOptions.sayInChat`. */
      sayInChat?: SayInChat;
    },
  ): Promise<TaskReport>;
  /**
   * What the agent says of a task that `sendMessage` left running. Absent: it cannot be asked.
   * @throws {Wa2aiError} the agent does not answer, or does not show the task
   */
  taskNow?(endpoint: string, task: FollowedTask, signal: AbortSignal): Promise<TaskNow>;
  /**
   * Asks the agent to cancel such a task; `followTask` reports its end. Absent: tasks cannot be canceled.
   * @returns false: the agent does not cancel it
   * @throws {Wa2aiError} the agent does not answer
   */
  cancelTask?(endpoint: string, task: FollowedTask, signal: AbortSignal): Promise<boolean>;
  /** What `sendMessage` would send for this message, for an admin, without secrets; the agent is not called. */
  preview?(message: IncomingMessage, endpoint: string): Promise<Record<string, unknown>>;
}

/** The agents of routes, by their kind. */
export interface AgentClients {
  /**
   * The client of a route, the same one until the route changes.
   * @throws {AgentProtocolError} the route names no known agent kind
   */
  clientFor(route: Route): AgentClient;
  /** The URL that requests of a route go to: routes with the same one share a circuit breaker. */
  endpointOf(route: Route): string;
}

/** How much of a conversation an agent gets. */
export interface HistoryLimits {
  turns: number;
  /** Of all texts together. */
  maxChars: number;
}
