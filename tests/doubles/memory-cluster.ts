import type { AccountView, Cluster, ClusterView, NodeView } from '../../router/src/core/ports/cluster.ts';
import type { MemoryLeaseState } from './memory-account-lease.ts';

interface NodeRow extends Omit<NodeView, 'isAlive'> {}

/** Nodes and accounts of one test; leases and the time are those of the lease state. */
export class MemoryClusterState {
  readonly nodes = new Map<string, NodeRow>();
  readonly accounts = new Set<string>();
  readonly leases: MemoryLeaseState;

  /** A node in `leases.gone` does not have its lock. */
  constructor(leases: MemoryLeaseState) {
    this.leases = leases;
  }
}

/** The view of one node on the others, in memory. */
export class MemoryCluster implements Cluster {
  readonly #state: MemoryClusterState;
  readonly #nodeId: string;
  readonly #ttlMs: number;
  readonly #startedAtMs: number;

  constructor(state: MemoryClusterState, options: { nodeId: string; ttlMs: number }) {
    this.#state = state;
    this.#nodeId = options.nodeId;
    this.#ttlMs = options.ttlMs;
    this.#startedAtMs = state.leases.nowMs;
  }

  join(): void {}

  /** As in PostgreSQL, where one statement reads and writes: it reads the state before its write. */
  async beat(own: { turns: number; isDraining: boolean }): Promise<ClusterView> {
    const { nodes, accounts, leases } = this.#state;
    const byId = (a: string, b: string) => (a < b ? -1 : 1);
    const view = {
      nodes: [...nodes.values()]
        .sort((a, b) => byId(a.nodeId, b.nodeId))
        .map((node) => ({ ...node, isAlive: this.#isAlive(node) })),
      accounts: [...accounts].sort(byId).map((accountId) => this.#accountView(accountId)),
    };
    nodes.set(this.#nodeId, {
      ...own,
      nodeId: this.#nodeId,
      host: 'localhost',
      url: '',
      version: '0.0.0',
      startedAtMs: this.#startedAtMs,
      seenAtMs: leases.nowMs,
    });
    return view;
  }

  async leave(): Promise<void> {
    this.#state.nodes.delete(this.#nodeId);
  }

  async addAccount(accountId: string): Promise<'added' | 'known'> {
    const { accounts } = this.#state;
    if (accounts.has(accountId)) return 'known';
    accounts.add(accountId);
    return 'added';
  }

  #isAlive({ nodeId, seenAtMs }: NodeRow): boolean {
    const { gone, nowMs } = this.#state.leases;
    return !gone.has(nodeId) && Math.abs(nowMs - seenAtMs) <= this.#ttlMs;
  }

  #accountView(accountId: string): AccountView {
    const { rows, gone, nowMs } = this.#state.leases;
    const row = rows.get(accountId);
    const isFree = row === undefined || row.owner === '' || row.untilMs <= nowMs;
    const hasLock = row !== undefined && this.#state.nodes.has(row.owner) && !gone.has(row.owner);
    return {
      accountId,
      record: { state: 'open' },
      changedAtMs: nowMs,
      ...(row && row.owner !== '' && { owner: { nodeId: row.owner, epoch: row.epoch } }),
      availability: isFree ? 'free' : hasLock ? 'owned' : 'dead-owner',
    };
  }
}
