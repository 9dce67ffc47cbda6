import type { AgentResponse, IncomingMessage, Route } from './models.ts';

/** Limits and identity of one ask. */
export interface AskOptions {
  /** Ends the ask early, e.g. at shutdown. */
  signal?: AbortSignal;
  /** An earlier ask of this message may have reached the agent (a crash came between): look before asking again. */
  isRepeat?: boolean;
  /**
   * The bytes of the message's file, fetched when this is called and at most once. Absent: the message carries none.
   * @throws {MediaError}
   */
  loadMedia?(): Promise<Uint8Array>;
}

/**
 * Port to one agent protocol (path and name fixed by the agent contract).
 *
 * `sendMessage` asks once and returns the answer.
 * @throws {AgentUnavailableError} the agent did not take the request; asking again is safe
 * @throws {AgentTimeoutError} the agent may have taken it; never asked again blindly
 * @throws {AgentProtocolError} no repeat helps
 * @throws {MediaError} the message's file could not be had; the agent was not asked
 */
export interface AgentClient {
  sendMessage(endpoint: string, message: IncomingMessage, options?: AskOptions): Promise<AgentResponse>;
  /** Whether a message that is a file without words means something to this agent. Absent: it does not. */
  takesFile?(message: IncomingMessage): Promise<boolean>;
  /** What `sendMessage` would ask for this message, for an admin's eyes; the agent is not asked. */
  preview?(message: IncomingMessage): Promise<Record<string, unknown>>;
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
