import type { AgentPhase } from '../hosting/agent-life.ts';
import type { HostedAgent } from '../hosting/agent-spec.ts';
import type { NodeId } from '../ids.ts';

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
    changes: Pick<AgentRecord, 'phase' | 'lastActivityMs' | 'problem'>,
  ): Promise<void>;
  get(agentId: string): Promise<AgentRecord | undefined>;
  /** By id. */
  list(query?: AgentQuery): Promise<AgentRecord[]>;
  /** Marks an agent as being deleted. @returns false when there is none */
  markDeleting(agentId: string): Promise<boolean>;
  delete(agentId: string): Promise<void>;
}
