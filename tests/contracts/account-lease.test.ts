import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccountLeases, Lease } from '../../router/src/core/ports/cluster.ts';
import { PostgresAccountStore } from '../../router/src/features/accounts/postgres-account-store.ts';
import { NodeConnection } from '../../router/src/infra/db/connections/node-connection.ts';
import { PostgresAccountLeases } from '../../router/src/infra/db/stores/postgres-account-lease.ts';
import { PostgresCluster } from '../../router/src/infra/db/stores/postgres-cluster.ts';
import { MemoryAccountLeases, MemoryLeaseState } from '../doubles/memory-account-lease.ts';
import { createTestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { anAccount } from './adapters.ts';

const TTL_MS = 60_000;

interface Nodes {
  /** A new account without a lease. */
  account(): Promise<string>;
  /** Leases of a node. One with a time below 0 has ended already: the database rounds the end of 0 up to a millisecond. */
  node(name: string, ttlMs?: number): AccountLeases;
  /** How many ends of processes were counted for an account. */
  ends(account: string): Promise<number>;
  /** Ends a node's process in a way that other nodes can detect. */
  end(name: string): Promise<void>;
  close(): Promise<void>;
}

const ADAPTERS: Array<{ name: string; open(): Promise<Nodes> }> = [
  {
    name: 'memory',
    async open() {
      const state = new MemoryLeaseState();
      const ended: string[] = [];
      state.onEnded = (account) => ended.push(account);
      return {
        ends: async (account) => ended.filter((each) => each === account).length,
        account: async () => anAccount(),
        node: (owner, ttlMs = TTL_MS) => new MemoryAccountLeases(state, { owner, ttlMs }),
        end: async (name) => void state.gone.add(name),
        close: async () => undefined,
      };
    },
  },
  {
    name: 'PostgreSQL',
    async open() {
      const database = await createTestDatabase();
      const postgres = database.open();
      const connections = new Map<string, NodeConnection>();
      for (const nodeId of ['n1', 'n2']) {
        const connection = new NodeConnection({
          databaseUrl: database.url,
          nodeId,
          log: quietLog,
          onMessage: () => undefined,
        });
        await connection.start();
        connections.set(nodeId, connection);
        const own = { nodeId, lockKey: connection.lockKey, host: '', version: '', url: () => '' };
        await new PostgresCluster(postgres, own, TTL_MS).beat({ turns: 0, isDraining: false });
      }
      return {
        // The row is marked before each end: only a marked one is counted further.
        ends: async (account) => {
          const rows = await postgres.query<{ suspicion: number }>(sql`
            UPDATE journal SET runs_alone = true WHERE account_id = ${account} RETURNING suspicion`);
          return rows[0]?.suspicion ?? -1;
        },
        account: async () => {
          const account = anAccount();
          await new PostgresAccountStore(postgres).save(account, { state: 'starting' });
          await postgres.execute(sql`
            INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
            VALUES (${account}, 'hash', 1, 'WA1', '', '')`);
          return account;
        },
        node: (owner, ttlMs = TTL_MS) => new PostgresAccountLeases(postgres, { owner, ttlMs }),
        end: async (name) => {
          await connections.get(name)?.close();
          // The server releases the lock when it reads the end of the connection, at a time that this process does not control.
          await expect
            .poll(() => postgres.query<{ locked: boolean }>(sql`SELECT node_has_lock(${name}) AS locked`))
            .toEqual([{ locked: false }]);
        },
        close: async () => {
          await Promise.all([...connections.values()].map((connection) => connection.close()));
          await database.drop();
        },
      };
    },
  },
];

describe.each(ADAPTERS)('account leases in $name', ({ open }) => {
  let nodes: Nodes;
  let n1: AccountLeases;
  let n2: AccountLeases;

  beforeAll(async () => {
    nodes = await open();
    n1 = nodes.node('n1');
    n2 = nodes.node('n2');
  });
  afterAll(() => nodes.close());

  it('are granted to exactly one of many nodes that request an account at once', async () => {
    const account = await nodes.account();
    const asked = Array.from({ length: 20 }, (_, index) => nodes.node(`many-${index}`).acquire(account));
    const given = (await Promise.all(asked)).filter((lease) => lease !== undefined);
    expect(given).toHaveLength(1);
    expect(given[0]).toMatchObject({ accountId: account, epoch: 1n });
  });

  it('increase the epoch with each acquisition, also by the same node', async () => {
    const account = await nodes.account();
    expect(await n1.acquire(account)).toEqual({ accountId: account, owner: 'n1', epoch: 1n });
    expect((await n1.acquire(account))?.epoch).toBe(2n);
    expect(await n2.acquire(account)).toBeUndefined();
  });

  it('count the end of a process for an account that it did not release, unless the same process takes it again', async () => {
    const account = await nodes.account();
    const hung = nodes.node('n1', -1);
    const first = (await hung.acquire(account)) as Lease;
    expect(await nodes.ends(account)).toBe(0);
    await hung.release(first);
    await hung.acquire(account);
    expect(await nodes.ends(account)).toBe(0);
    await hung.acquire(account, { wasOurs: true });
    expect(await nodes.ends(account)).toBe(0);
    await hung.acquire(account);
    expect(await nodes.ends(account)).toBe(1);
    await n2.acquire(account, { wasOurs: true });
    expect(await nodes.ends(account)).toBe(2);
  });

  it('can be acquired at once after a release, and a release of a lost lease changes nothing', async () => {
    const account = await nodes.account();
    const first = (await n1.acquire(account)) as Lease;
    await n1.release(first);
    const second = (await n2.acquire(account)) as Lease;
    expect(second.epoch).toBe(2n);
    await n1.release(first);
    expect(await n2.renew([second])).toEqual(new Set([account]));
    expect(await n1.acquire(account)).toBeUndefined();
  });

  it('are renewed when they are valid, and not otherwise', async () => {
    const [kept, given, never] = [await nodes.account(), await nodes.account(), await nodes.account()];
    const leases = [(await n1.acquire(kept)) as Lease, (await n1.acquire(given)) as Lease];
    await n1.release(leases[1] as Lease);
    await n2.acquire(given);
    const renewed = await n1.renew([...leases, { accountId: never, owner: 'n1', epoch: 1n }]);
    expect(renewed).toEqual(new Set([kept]));
    expect(await n1.renew([])).toEqual(new Set());
  });

  it('can be acquired after they expire, and then the former owner cannot renew them', async () => {
    const account = await nodes.account();
    const hung = nodes.node('n1', -1);
    const old = (await hung.acquire(account)) as Lease;
    expect((await n2.acquire(account))?.epoch).toBe(old.epoch + 1n);
    expect(await n1.renew([old])).toEqual(new Set());
  });

  it('stay renewable after they expire as long as no other node acquired them', async () => {
    const account = await nodes.account();
    const hung = nodes.node('n1', -1);
    const lease = (await hung.acquire(account)) as Lease;
    expect(await n1.renew([lease])).toEqual(new Set([account]));
    expect(await n2.acquire(account)).toBeUndefined();
  });

  it('can be acquired from a dead process by the node that saw it end, and not from a live one', async () => {
    const account = await nodes.account();
    const lease = (await n1.acquire(account)) as Lease;
    expect(await n2.acquire(account, { fromDead: true })).toBeUndefined();
    await nodes.end('n1');
    expect(await n2.acquire(account)).toBeUndefined();
    expect((await n2.acquire(account, { fromDead: true }))?.epoch).toBe(lease.epoch + 1n);
  });
});
