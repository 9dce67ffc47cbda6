import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import sql from 'sql-template-tag';
import { describe, expect, it, vi } from 'vitest';
import { NodeBus, NodeCalls } from '../../../router/src/core/cluster/node-bus.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { NodeConnection } from '../../../router/src/infra/db/connections/node-connection.ts';
import { PostgresCluster } from '../../../router/src/infra/db/stores/postgres-cluster.ts';
import { testDatabase } from '../../support/database.ts';
import { withIntruder } from '../../support/foreign-lock.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const database = testDatabase();

function connection(nodeId: string, onMessage: (message: unknown) => void = () => undefined): NodeConnection {
  return new NodeConnection({ databaseUrl: database.url, nodeId, log: quietLog, onMessage });
}

/** The class of the locks of nodes. */
const NODE_LOCKS = 0x7761326e;

describe('a role that may only connect', () => {
  const hasLock = async (nodeId: string, { lockKey }: NodeConnection) => {
    const postgres = database.open();
    const own = { nodeId, lockKey, host: '', version: '' };
    await new PostgresCluster(postgres, own, 15_000).beat({ turns: 0, isDraining: false });
    const [row] = await postgres.query<{ has: boolean }>(sql`SELECT node_has_lock(${nodeId}) AS has`);
    return row?.has;
  };

  it('keeps no node from starting by taking its lock, and the node excludes a second one as before', async () => {
    await withIntruder(database, async (intruder) => {
      expect(await intruder.take(NODE_LOCKS, 'node n9')).toBe(true);
      // The lock of the steps that one node at a time runs.
      await intruder.client.query('SELECT pg_advisory_lock($1, 0)', [NODE_LOCKS]);
      const first = connection('n9');
      await first.start();
      expect(await hasLock('n9', first)).toBe(true);
      let steps = 0;
      await first.exclusively(async () => {
        steps += 1;
      });
      expect(steps).toBe(1);
      const second = connection('n9');
      const started = second.start();
      await expect(Promise.race([started, sleep(1_000, 'waiting')])).resolves.toBe('waiting');
      await first.close();
      await started;
      expect(await hasLock('n9', second)).toBe(true);
      await second.close();
    });
  });

  it('does not make an ended node look alive', async () => {
    const node = connection('n10');
    await node.start();
    expect(await hasLock('n10', node)).toBe(true);
    await node.close();
    await withIntruder(database, async (intruder) => {
      await expect.poll(() => intruder.take(NODE_LOCKS, 'node n10')).toBe(true);
      expect(await hasLock('n10', node)).toBe(false);
    });
  });
});

describe('messages between nodes', () => {
  it('arrive in order and completely after a burst, with few statements', async () => {
    const received: unknown[] = [];
    const [listener, sender] = [connection('n1', (message) => received.push(message)), connection('n2')];
    await Promise.all([listener.start(), sender.start()]);
    const statements = vi.spyOn(pg.Client.prototype, 'query');
    for (let note = 0; note < 2_000; note++) sender.publish({ note });
    await expect.poll(() => received.length, { timeout: 60_000 }).toBe(2_000);
    expect(statements.mock.calls.length).toBeLessThan(10);
    statements.mockRestore();
    expect(received).toEqual(Array.from({ length: 2_000 }, (_, note) => ({ note })));
    await Promise.all([listener.close(), sender.close()]);
  });

  it('carry a call of a megabyte and its result', async () => {
    const nodes = ['n7', 'n8'].map(
      (nodeId) =>
        new NodeBus(
          nodeId,
          ({ onMessage }) =>
            new NodeConnection({ databaseUrl: database.url, nodeId, log: quietLog, onMessage }),
        ),
    );
    await Promise.all(nodes.map(({ transport }) => transport.start()));
    const [caller, called] = nodes.map(
      (bus) => new NodeCalls({ bus, clock: systemClock, newId: () => `call of ${bus.nodeId}` }),
    );
    called?.serve('echo', async (args) => args);
    const text = 'ñ\'"\\'.repeat(200_000);
    expect(await caller?.call('n8', 'echo', text, 30_000)).toEqual({ value: text });
    await Promise.all(nodes.map(({ transport }) => transport.close()));
  });

  it('do not wait when they are published while the previous one is being sent', async () => {
    const received: unknown[] = [];
    const node = connection('n6', (message) => received.push(message));
    await node.start();
    const query = pg.Client.prototype.query as (...args: unknown[]) => Promise<unknown>;
    for (let steps = 0; steps < 12; steps++) {
      vi.spyOn(pg.Client.prototype, 'query').mockImplementationOnce(function (
        this: pg.Client,
        ...args: unknown[]
      ) {
        const sent = query.apply(this, args);
        void sent.then(async () => {
          for (let step = 0; step < steps; step++) await Promise.resolve();
          node.publish(`${steps} second`);
        });
        return sent;
      });
      node.publish(`${steps} first`);
      await expect.poll(() => received.at(-1)).toBe(`${steps} second`);
    }
    await node.close();
  });

  it('are all sent before the connection closes', async () => {
    const received: unknown[] = [];
    const [listener, sender] = [connection('n3', (message) => received.push(message)), connection('n4')];
    await Promise.all([listener.start(), sender.start()]);
    for (let note = 0; note < 50; note++) sender.publish({ note });
    sender.publish('farewell');
    await sender.close();
    await expect.poll(() => received.at(-1)).toBe('farewell');
    await listener.close();
  });

  it('arrive again after a reconnect', async () => {
    const received: unknown[] = [];
    let isBack: () => void = () => undefined;
    const back = new Promise<void>((resolve) => {
      isBack = resolve;
    });
    const node = new NodeConnection({
      databaseUrl: database.url,
      nodeId: 'n5',
      log: quietLog,
      onMessage: (message) => received.push(message),
      onBack: isBack,
    });
    await node.start();
    await database.open().query(sql`
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE '% node'`);
    await back;
    node.publish('back');
    await expect.poll(() => received).toEqual(['back']);
    await node.close();
  });

  it('arrive through the new host after the former one disappeared without closing the connection', async () => {
    const way = await TcpProxy.to(database.url);
    const received: unknown[] = [];
    let isBack: () => void = () => undefined;
    const back = new Promise<void>((resolve) => {
      isBack = resolve;
    });
    const node = new NodeConnection({
      databaseUrl: way.through(database.url),
      nodeId: 'n7',
      responseTimeoutMs: 1_000,
      log: quietLog,
      onMessage: (message) => received.push(message),
      onBack: isBack,
    });
    await node.start();
    way.replace();
    await back;
    node.publish('back');
    await expect.poll(() => received).toEqual(['back']);
    await node.close();
    await way.close();
  });
});
