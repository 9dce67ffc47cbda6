import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccountLeases, Cluster } from '../../router/src/core/ports/cluster.ts';
import { NodeConnection } from '../../router/src/infra/db/connections/node-connection.ts';
import { PostgresAccountLeases } from '../../router/src/infra/db/stores/postgres-account-lease.ts';
import { PostgresCluster } from '../../router/src/infra/db/stores/postgres-cluster.ts';
import { MemoryAccountLeases, MemoryLeaseState } from '../doubles/memory-account-lease.ts';
import { MemoryCluster, MemoryClusterState } from '../doubles/memory-cluster.ts';
import { createTestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { anAccount } from './adapters.ts';

const TTL_MS = 60_000;
const IDLE = { turns: 0, isDraining: false };

interface Node {
  cluster: Cluster;
  leases: AccountLeases;
  /** Ends the node's process in a way that other nodes can detect. */
  end(): Promise<void>;
}

interface Nodes {
  /** A live node. */
  start(nodeId: string): Promise<Node>;
  close(): Promise<void>;
}

const ADAPTERS: Array<{ name: string; open(): Promise<Nodes> }> = [
  {
    name: 'memory',
    async open() {
      const leases = new MemoryLeaseState();
      const state = new MemoryClusterState(leases);
      return {
        start: async (nodeId) => ({
          cluster: new MemoryCluster(state, { nodeId, ttlMs: TTL_MS }),
          leases: new MemoryAccountLeases(leases, { owner: nodeId, ttlMs: TTL_MS }),
          end: async () => void leases.gone.add(nodeId),
        }),
        close: async () => undefined,
      };
    },
  },
  {
    name: 'PostgreSQL',
    async open() {
      const database = await createTestDatabase();
      const postgres = database.open();
      const connections: NodeConnection[] = [];
      return {
        start: async (nodeId) => {
          const connection = new NodeConnection({
            databaseUrl: database.url,
            nodeId,
            log: quietLog,
            onMessage: () => undefined,
          });
          connections.push(connection);
          await connection.start();
          const own = { nodeId, lockKey: connection.lockKey, host: 'localhost', version: '0.0.0' };
          return {
            cluster: new PostgresCluster(postgres, own, TTL_MS),
            leases: new PostgresAccountLeases(postgres, { owner: nodeId, ttlMs: TTL_MS }),
            end: () => connection.close(),
          };
        },
        close: async () => {
          await Promise.all(connections.map((connection) => connection.close()));
          await database.drop();
        },
      };
    },
  },
];

describe.each(ADAPTERS)('a cluster in $name', ({ open }) => {
  let nodes: Nodes;
  let first: Node;
  let second: Node;

  beforeAll(async () => {
    nodes = await open();
    first = await nodes.start('n1');
    second = await nodes.start('n2');
    await first.cluster.beat(IDLE);
    await second.cluster.beat(IDLE);
  });
  afterAll(() => nodes.close());

  it('lists live nodes by id with their last heartbeat', async () => {
    await second.cluster.beat({ turns: 3, isDraining: true });
    await first.cluster.beat({ turns: 1, isDraining: false });
    const view = await first.cluster.beat({ turns: 2, isDraining: false });
    expect(view.nodes).toMatchObject([
      { nodeId: 'n1', turns: 1, isDraining: false, isAlive: true },
      { nodeId: 'n2', turns: 3, isDraining: true, isAlive: true },
    ]);
  });

  it('lists a node to itself from its second heartbeat on', async () => {
    const { cluster } = await nodes.start('n0');
    const views = [await cluster.beat(IDLE), await cluster.beat(IDLE)];
    const hasItself = views.map(({ nodes: seen }) => seen.some(({ nodeId }) => nodeId === 'n0'));
    await cluster.leave();
    expect(hasItself).toEqual([false, true]);
  });

  it('adds an account once, which any node can acquire', async () => {
    const accountId = anAccount();
    expect(await first.cluster.addAccount(accountId)).toBe('added');
    expect(await second.cluster.addAccount(accountId)).toBe('known');
    const [account] = await accountsOf(second, accountId);
    expect(account).toMatchObject({ accountId, availability: 'free' });
    expect(account?.owner).toBeUndefined();
  });

  it('shows the owner of an account until the lease is released', async () => {
    const accountId = anAccount();
    await first.cluster.addAccount(accountId);
    const lease = await first.leases.acquire(accountId);
    expect(await accountsOf(second, accountId)).toMatchObject([
      { owner: { nodeId: 'n1', epoch: 1n }, availability: 'owned' },
    ]);
    if (lease) await first.leases.release(lease);
    expect(await accountsOf(second, accountId)).toMatchObject([{ availability: 'free' }]);
  });

  it('shows a node whose process ended as dead, and its accounts as owned by a dead node', async () => {
    const accountId = anAccount();
    const third = await nodes.start('n3');
    await third.cluster.beat(IDLE);
    await third.cluster.addAccount(accountId);
    await third.leases.acquire(accountId);
    await third.end();
    await expect
      .poll(() => accountsOf(first, accountId))
      .toMatchObject([{ owner: { nodeId: 'n3' }, availability: 'dead-owner' }]);
    const { nodes: seen } = await first.cluster.beat(IDLE);
    expect(seen.find(({ nodeId }) => nodeId === 'n3')?.isAlive).toBe(false);
  });

  it('does not list a node that left', async () => {
    const fourth = await nodes.start('n4');
    await fourth.cluster.beat(IDLE);
    await fourth.cluster.leave();
    const { nodes: seen } = await first.cluster.beat(IDLE);
    expect(seen.map(({ nodeId }) => nodeId)).not.toContain('n4');
  });
});

async function accountsOf({ cluster }: Node, accountId: string) {
  const { accounts } = await cluster.beat(IDLE);
  return accounts.filter((account) => account.accountId === accountId);
}
