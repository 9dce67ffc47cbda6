import type { AgentResponse, IncomingMessage, Route } from './models.ts';
import type { PastTurn } from './ports/chat-history.ts';
import type { Logger } from './ports/logger.ts';
import type { HistoryLimits } from './turns/load-history.ts';

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
   * The last turns of the chat before this message, oldest first; read when this is called. Absent: the chat is not known.
   * @throws {StorageUnavailableError}
   */
  loadHistory?(limits: HistoryLimits): Promise<PastTurn[]>;
  /** Log of the turn, whose lines carry the message and the chat. Absent: the client's own. */
  log?: Logger;
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
  /** Whether this agent accepts a file without text. Absent: it does not. */
  takesFile?(message: IncomingMessage): Promise<boolean>;
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
  /** The URL that requests of a route go to. */
  endpointOf(route: Route): string;
}
