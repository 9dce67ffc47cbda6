import type { HostedAgent } from '../../router/src/core/hosting/agent-life.ts';
import type { AgentQuery, AgentRecord, AgentRegistry } from '../../router/src/core/ports/agent-registry.ts';

/** Hosted agents in memory, with the promises of PostgresAgentRegistry except durability. */
export class MemoryAgentRegistry implements AgentRegistry {
  readonly #records = new Map<string, AgentRecord>();
  readonly #now: () => number;

  constructor(now: () => number = () => Date.now()) {
    this.#now = now;
  }

  async claim(agent: HostedAgent, nodeId: string, folderId: string): Promise<AgentRecord> {
    const known = this.#records.get(agent.agentId);
    if (known) {
      if (known.nodeId !== nodeId) return known;
      return this.#put({
        ...known,
        agent: { ...agent, ...ownerOf(known.agent) },
        folderId,
      });
    }
    const nowMs = this.#now();
    return this.#put({
      ...{ agent, nodeId, folderId, phase: 'absent', isDeleting: false },
      ...{ lastActivityMs: nowMs, createdAtMs: nowMs },
    });
  }

  async move(agentId: string, from: string, to: string, folderId: string): Promise<boolean> {
    const record = this.#records.get(agentId);
    if (record?.nodeId !== from) return false;
    this.#put({ ...record, nodeId: to, folderId, phase: 'stopped' });
    return true;
  }

  async update(
    agentId: string,
    nodeId: string,
    { phase, lastActivityMs, problem }: Pick<AgentRecord, 'phase' | 'lastActivityMs' | 'problem'>,
  ): Promise<void> {
    const record = this.#records.get(agentId);
    if (record?.nodeId !== nodeId) return;
    const { problem: _, ...rest } = record;
    this.#put({ ...rest, phase, lastActivityMs, ...(problem !== undefined && { problem }) });
  }

  async get(agentId: string): Promise<AgentRecord | undefined> {
    return this.#records.get(agentId);
  }

  async list({ nodeId, routeId, after = '', limit }: AgentQuery = {}): Promise<AgentRecord[]> {
    const records = [...this.#records.values()].filter(
      ({ nodeId: node, agent }) =>
        (nodeId ?? node) === node && (routeId ?? agent.routeId) === agent.routeId && agent.agentId > after,
    );
    return records.sort((a, b) => (a.agent.agentId < b.agent.agentId ? -1 : 1)).slice(0, limit);
  }

  async markDeleting(agentId: string): Promise<boolean> {
    const record = this.#records.get(agentId);
    if (record) this.#put({ ...record, isDeleting: true });
    return record !== undefined;
  }

  async delete(agentId: string): Promise<void> {
    this.#records.delete(agentId);
  }

  #put(record: AgentRecord): AgentRecord {
    this.#records.set(record.agent.agentId, record);
    return record;
  }
}

/** Of the first claim. */
function ownerOf({ accountId, routeId }: HostedAgent): Pick<HostedAgent, 'accountId' | 'routeId'> {
  return { ...(accountId !== undefined && { accountId }), ...(routeId !== undefined && { routeId }) };
}
