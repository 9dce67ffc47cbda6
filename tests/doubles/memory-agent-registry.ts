import type { HostedAgent } from '../../router/src/core/hosting/agent-spec.ts';
import type { AgentRecord, AgentRegistry } from '../../router/src/core/ports/agent-registry.ts';

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
        agent: { ...known.agent, spec: agent.spec, idleMs: agent.idleMs },
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

  async list(nodeId?: string): Promise<AgentRecord[]> {
    const records = [...this.#records.values()].filter(
      (record) => (nodeId ?? record.nodeId) === record.nodeId,
    );
    return records.sort((a, b) => (a.agent.agentId < b.agent.agentId ? -1 : 1));
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
