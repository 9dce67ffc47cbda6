import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type ConnectedAccount, LeaseManager } from '../../../../router/src/core/cluster/lease-manager.ts';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import type { ClusterView, Fence } from '../../../../router/src/core/ports/cluster.ts';
import { MemoryAccountLeases, MemoryLeaseState } from '../../../doubles/memory-account-lease.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { nodeView } from '../../../support/node-view.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const TTL_MS = 15_000;

/** Nodes in one process that share accounts, leases and time; each can be cut off from the database or killed. */
class TestCluster {
  readonly clock = new FakeClock(0);
  readonly state = new MemoryLeaseState();
  readonly accounts: string[] = [];
  readonly nodes = new Map<string, TestNode>();

  node(nodeId: string): TestNode {
    const node = new TestNode(this, nodeId);
    this.nodes.set(nodeId, node);
    return node;
  }

  async advanceMs(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 50) {
      await this.clock.advanceMs(Math.min(50, left));
      this.state.nowMs = this.clock.now();
    }
  }

  view(): ClusterView {
    return {
      nodes: [...this.nodes.values()]
        .filter(({ shown }) => shown > 0)
        .map(({ nodeId, isDraining }) =>
          nodeView(nodeId, { isDraining, isAlive: !this.state.gone.has(nodeId) }),
        ),
      accounts: this.accounts.map((accountId) => {
        const row = this.state.rows.get(accountId);
        const isFree = !row || row.owner === '' || row.untilMs <= this.state.nowMs;
        return {
          accountId,
          record: { state: 'open' as const },
          changedAtMs: 0,
          ...(row?.owner && { owner: { nodeId: row.owner, epoch: row.epoch } }),
          availability: isFree
            ? ('free' as const)
            : this.state.gone.has(row.owner)
              ? ('dead-owner' as const)
              : ('owned' as const),
        };
      }),
    };
  }

  /** Nodes that have a socket for the account. */
  sockets(accountId: string): string[] {
    return [...this.nodes.values()].filter((node) => node.open.has(accountId)).map(({ nodeId }) => nodeId);
  }
}

class TestNode {
  readonly #cluster: TestCluster;
  readonly nodeId: string;
  /** Open sockets by account. */
  readonly open = new Map<string, Fence>();
  readonly abandoned: string[] = [];
  readonly owner: LeaseManager;
  /** The number of its heartbeats. */
  shown = 0;
  isDraining = false;
  isCutOff = false;
  connectedForMs = 60_000;
  connectFailures = 0;
  /** The duration of an orderly close of an account's socket. */
  stopTakesMs = 0;

  constructor(cluster: TestCluster, nodeId: string) {
    this.#cluster = cluster;
    this.nodeId = nodeId;
    const reach = async <T>(work: () => Promise<T>): Promise<T> => {
      if (this.isCutOff) throw new StorageUnavailableError({ sentence: 'The database did not answer.' });
      return work();
    };
    const leases = new MemoryAccountLeases(cluster.state, { owner: nodeId, ttlMs: TTL_MS });
    this.owner = new LeaseManager({
      nodeId,
      leases: {
        acquire: (...args) => reach(() => leases.acquire(...args)),
        renew: (...args) => reach(() => leases.renew(...args)),
        release: (...args) => reach(() => leases.release(...args)),
      },
      cluster: {
        join: () => undefined,
        beat: ({ isDraining }) =>
          reach(async () => {
            this.shown += 1;
            this.isDraining = isDraining;
            return cluster.view();
          }),
        leave: async () => undefined,
        addAccount: async () => 'known',
      },
      connect: (fence) => this.#connect(fence),
      turns: () => 0,
      onView: () => undefined,
      notifyOthers: () => {
        for (const other of cluster.nodes.values()) if (other !== this) other.owner.checkNow();
      },
      connectedForMs: () => this.connectedForMs,
      clock: cluster.clock,
      monotonicMs: () => cluster.clock.now(),
      ttlMs: TTL_MS,
      log: quietLog,
    });
  }

  async #connect(fence: Fence): Promise<ConnectedAccount> {
    if (this.connectFailures > 0) {
      this.connectFailures -= 1;
      throw new Error('could not start');
    }
    const { accountId } = fence;
    this.open.set(accountId, fence);
    return {
      stop: async () => {
        if (this.stopTakesMs > 0) await this.#cluster.clock.sleep(this.stopTakesMs);
        this.open.delete(accountId);
      },
      abandon: async () => {
        this.open.delete(accountId);
        this.abandoned.push(accountId);
      },
    };
  }
}

let cluster: TestCluster;
beforeEach(() => {
  cluster = new TestCluster();
});

describe('a node', () => {
  it('acquires each account at its start when it is alone', async () => {
    cluster.accounts.push('a', 'b');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    expect([...n1.owner.owned()]).toEqual([
      ['a', 1n],
      ['b', 1n],
    ]);
  });

  it('keeps its accounts while it can renew the leases', async () => {
    cluster.accounts.push('a');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    await cluster.advanceMs(120_000);
    expect(n1.owner.owned().get('a')).toBe(1n);
    expect(n1.open.get('a')?.isHeld()).toBe(true);
  });

  it('waits for the next renewal of its leases instead of looking at them', async () => {
    cluster.accounts.push('a');
    const sleep = vi.spyOn(cluster.clock, 'sleep');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    await cluster.advanceMs(60_000);
    const renewals = 60_000 / (TTL_MS / 5);
    // a heartbeat, a renewal, and a look at whether it has ended
    expect(sleep.mock.calls.length).toBeLessThan(renewals * 4);
  });

  it('acquires at once the accounts of its former process, under a new epoch', async () => {
    cluster.accounts.push('a');
    cluster.state.rows.set('a', { owner: 'n1', epoch: 7n, untilMs: 14_000 });
    const n1 = cluster.node('n1');
    await n1.owner.start();
    expect(n1.owner.owned().get('a')).toBe(8n);
  });

  it('closes its sockets before its leases expire when the database is unavailable, and opens them afterwards', async () => {
    cluster.accounts.push('a');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    n1.isCutOff = true;
    const fence = n1.open.get('a') as Fence;
    await cluster.advanceMs(6_000);
    expect(cluster.sockets('a')).toEqual(['n1']);
    await cluster.advanceMs(4_500);
    expect(fence.isHeld()).toBe(false);
    expect(n1.abandoned).toEqual(['a']);
    expect(cluster.sockets('a')).toEqual([]);
    n1.isCutOff = false;
    await cluster.advanceMs(4_000);
    expect(cluster.sockets('a')).toEqual(['n1']);
    expect(n1.owner.owned().get('a')).toBe(2n);
  });

  it('releases an account when a write finds the lease lost', async () => {
    cluster.accounts.push('a');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    const fence = n1.open.get('a') as Fence;
    cluster.state.rows.set('a', { owner: 'n2', epoch: 2n, untilMs: 60_000 });
    fence.lose('another node took the account');
    expect(n1.open.has('a')).toBe(false);
    expect(fence.isHeld()).toBe(false);
    await cluster.advanceMs(5_000);
    expect(n1.owner.owned().size).toBe(0);
  });

  it('retries an account that could not be started', async () => {
    cluster.accounts.push('a');
    const n1 = cluster.node('n1');
    n1.connectFailures = 2;
    await n1.owner.start();
    expect(n1.owner.owned().size).toBe(0);
    await cluster.advanceMs(7_000);
    expect(cluster.sockets('a')).toEqual(['n1']);
  });
});

describe('several nodes', () => {
  it('never have two sockets for one account, and share the accounts evenly', async () => {
    cluster.accounts.push('a', 'b', 'c', 'd', 'e', 'f');
    const nodes = ['n1', 'n2', 'n3'].map((nodeId) => cluster.node(nodeId));
    for (const node of nodes) await node.owner.start();
    for (const node of nodes) node.owner.checkNow();
    for (let step = 0; step < 60; step++) {
      await cluster.advanceMs(500);
      for (const accountId of cluster.accounts)
        expect(cluster.sockets(accountId).length).toBeLessThanOrEqual(1);
    }
    expect(nodes.map((node) => node.owner.owned().size)).toEqual([2, 2, 2]);
  });

  it('take over the accounts of a dead process within a second', async () => {
    cluster.accounts.push('a', 'b');
    const [n1, n2, n3] = ['n1', 'n2', 'n3'].map((nodeId) => cluster.node(nodeId)) as [
      TestNode,
      TestNode,
      TestNode,
    ];
    for (const node of [n1, n2, n3]) await node.owner.start();
    for (const node of [n1, n2, n3]) node.owner.checkNow();
    await cluster.advanceMs(15_000);
    expect(n1.owner.owned().size).toBe(1);
    const lost = [...n1.owner.owned().keys()][0] as string;
    // A killed process runs no code.
    n1.isCutOff = true;
    n1.open.clear();
    cluster.state.gone.add('n1');
    await cluster.advanceMs(1_500);
    expect(cluster.sockets(lost)).toHaveLength(1);
  });

  it('take over within a second when only one node is left', async () => {
    cluster.accounts.push('a');
    const [n1, n2] = [cluster.node('n1'), cluster.node('n2')];
    await n1.owner.start();
    await n2.owner.start();
    n2.owner.checkNow();
    n1.isCutOff = true;
    n1.open.clear();
    cluster.state.gone.add('n1');
    await cluster.advanceMs(1_000);
    expect(cluster.sockets('a')).toEqual(['n2']);
  });

  it('leave the accounts of a live node when their own connection broke', async () => {
    cluster.accounts.push('a');
    const [n1, n2] = [cluster.node('n1'), cluster.node('n2')];
    await n1.owner.start();
    await n2.owner.start();
    n2.connectedForMs = 100;
    cluster.state.gone.add('n1');
    await cluster.advanceMs(2_000);
    expect(n2.owner.owned().size).toBe(0);
    cluster.state.gone.delete('n1');
    n2.connectedForMs = 60_000;
    await cluster.advanceMs(2_000);
    expect(cluster.sockets('a')).toEqual(['n1']);
  });

  it('leave accounts where they are while the database lists no live node, as after a fail-over of the database', async () => {
    cluster.accounts.push('a');
    const [n1, n2] = [cluster.node('n1'), cluster.node('n2')];
    await n1.owner.start();
    await n2.owner.start();
    for (const name of ['n1', 'n2']) cluster.state.gone.add(name);
    await cluster.advanceMs(9_000);
    expect([...n1.owner.owned()]).toEqual([['a', 1n]]);
    expect(cluster.sockets('a')).toEqual(['n1']);
    cluster.state.gone.delete('n2');
    await cluster.advanceMs(1_500);
    expect(cluster.sockets('a')).toEqual(['n2']);
  });

  it('take over from a hung node after its lease expired, when it has closed its socket', async () => {
    cluster.accounts.push('a');
    const [n1, n2] = [cluster.node('n1'), cluster.node('n2')];
    await n1.owner.start();
    await n2.owner.start();
    n1.isCutOff = true;
    for (let step = 0; step < 40; step++) {
      await cluster.advanceMs(500);
      expect(cluster.sockets('a').length).toBeLessThanOrEqual(1);
    }
    expect(cluster.sockets('a')).toEqual(['n2']);
    expect(n1.abandoned).toEqual(['a']);
  });

  it('ignore a late message about a lease that they released and acquired again', async () => {
    cluster.accounts.push('a', 'b');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    const first = new Map(n1.open);
    const n2 = cluster.node('n2');
    await n2.owner.start();
    n1.owner.checkNow();
    await cluster.advanceMs(5_000);
    const moved = [...n2.open.keys()][0] as string;
    await n2.owner.drain();
    await cluster.advanceMs(5_000);
    expect(n1.open.has(moved)).toBe(true);
    first.get(moved)?.lose('too late');
    expect(n1.open.get(moved)?.isHeld()).toBe(true);
    expect(n1.owner.owned().has(moved)).toBe(true);
  });

  it('leave an account to its owner until a slow close of its socket ends, with its last writes', async () => {
    cluster.accounts.push('a');
    const [n1, n2] = [cluster.node('n1'), cluster.node('n2')];
    await n1.owner.start();
    await n2.owner.start();
    n1.stopTakesMs = 3 * TTL_MS;
    const fence = n1.open.get('a');
    const drained = n1.owner.drain();
    await cluster.advanceMs(3 * TTL_MS - 100);
    expect(fence?.isHeld()).toBe(true);
    expect(cluster.sockets('a')).toEqual(['n1']);
    await cluster.advanceMs(1_000);
    await drained;
    expect(cluster.sockets('a')).toEqual(['n2']);
    await n1.owner.stop();
  });

  it('regard a node as alive while it releases an account slowly', async () => {
    cluster.accounts.push('a', 'b');
    const [n1, n2] = [cluster.node('n1'), cluster.node('n2')];
    await n1.owner.start();
    n1.stopTakesMs = 4 * TTL_MS;
    await n2.owner.start();
    n1.owner.checkNow();
    await cluster.advanceMs(TTL_MS);
    const before = n1.shown;
    await cluster.advanceMs(TTL_MS);
    expect(n1.shown).toBeGreaterThan(before);
    expect(n1.open.size).toBe(2);
    await cluster.advanceMs(3 * TTL_MS);
    expect([n1.open.size, n2.open.size]).toEqual([1, 1]);
  });

  it('acquire all accounts of a draining node at once, and return none', async () => {
    cluster.accounts.push('a', 'b', 'c');
    const n1 = cluster.node('n1');
    await n1.owner.start();
    const n2 = cluster.node('n2');
    await n2.owner.start();
    const drained = n1.owner.drain();
    await settle();
    await drained;
    await cluster.advanceMs(1_500);
    expect([...n2.owner.owned().keys()].sort()).toEqual(['a', 'b', 'c']);
    expect(n1.owner.owned().size).toBe(0);
    expect(n1.abandoned).toEqual([]);
  });
});
