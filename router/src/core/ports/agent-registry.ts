import type { AttemptOptions } from '../agent-client.ts';
import type { NodeId } from '../chat-id.ts';
import type { AgentPhase, AgentProfile, HostedAgent } from '../hosting/agent-life.ts';
import type { AgentResponse, IncomingMessage } from '../models.ts';
import type { Phrase } from '../phrases.ts';

/** A hosted agent as it is stored: an entry of the specification's `tasks.json`. */
export interface AgentRecord {
  agent: HostedAgent;
  /** The node whose engine runs it. */
  nodeId: NodeId;
  /** The folder with its data (`AgentFiles.folderId`). */
  folderId: string;
  phase: AgentPhase;
  /** Why it does not run. */
  problem?: string;
  /** The phrase of the problem. */
  phrase?: Phrase;
  lastActivityMs: number;
  createdAtMs: number;
  /** It is to be deleted with its data, by its node. */
  isDeleting: boolean;
}

/** Which agents to list. */
export interface AgentQuery {
  nodeId?: NodeId | undefined;
  routeId?: string | undefined;
  /** Only ids after this one. */
  after?: string | undefined;
  limit?: number | undefined;
}

/**
 * Hosted agents of all nodes. The runtimes know which of them run; the registry knows whose they are and when they worked.
 * @throws {StorageUnavailableError} from every method: nothing was changed, call again
 */
export interface AgentRegistry {
  /**
   * The record of an agent. A new agent belongs to this node; the settings of a known one are updated when it belongs to
   * this node.
   */
  claim(agent: HostedAgent, nodeId: NodeId, folderId: string): Promise<AgentRecord>;
  /** Makes `to` the node of an agent that belongs to `from`. @returns false when it belongs to another node meanwhile */
  move(agentId: string, from: NodeId, to: NodeId, folderId: string): Promise<boolean>;
  /** Stores what happened on its node; nothing happens when the agent belongs to another one. */
  update(
    agentId: string,
    nodeId: NodeId,
    changes: Pick<AgentRecord, 'phase' | 'lastActivityMs' | 'problem' | 'phrase'>,
  ): Promise<void>;
  get(agentId: string): Promise<AgentRecord | undefined>;
  /** By id. */
  list(query?: AgentQuery): Promise<AgentRecord[]>;
  /** Marks an agent as being deleted. @returns false when there is none */
  markDeleting(agentId: string): Promise<boolean>;
  delete(agentId: string): Promise<void>;
}

/** One message of a conversation with an agent, without calls of tools. */
export interface AgentMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** The conversation that is read or continued. */
export type Conversation = Pick<IncomingMessage, 'from' | 'channelId'>;

/** Talks to a hosted agent that runs, as its profile says. */
export interface AgentTalk {
  /** Makes one attempt. @throws as `AgentClient.sendMessage` */
  ask(
    agent: HostedAgent,
    running: RunningAgent,
    message: IncomingMessage,
    options?: AttemptOptions,
  ): Promise<AgentResponse>;
  /**
   * The newest messages that the agent has stored, oldest first.
   * @throws {AgentUnusableError} the profile has no history
   * @throws {AgentUnavailableError} it did not answer
   * @throws {AgentProtocolError} its answer is not a history
   */
  history(
    agent: HostedAgent,
    running: RunningAgent,
    conversation: Conversation,
    options: { count: number; signal: AbortSignal },
  ): Promise<AgentMessage[]>;
}

/** How to reach a running agent. */
export interface RunningAgent {
  /** Without a path: `http://127.0.0.1:32768`. */
  url: string;
  token: string;
}

/** Asks a running agent how it is, as its profile says. */
export interface AgentProbe {
  /** `silent`: no HTTP answer yet. `busy`: it works, although no request may run. Never throws. */
  ask(agent: RunningAgent, profile: AgentProfile, signal: AbortSignal): Promise<'silent' | 'ready' | 'busy'>;
}
