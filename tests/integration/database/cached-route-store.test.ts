import sql from 'sql-template-tag';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { NodeBus } from '../../../router/src/core/cluster/node-bus.ts';
import { NodeConnection } from '../../../router/src/infra/db/connections/node-connection.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { anAccount } from '../../contracts/adapters.ts';
import { testDatabase } from '../../support/database.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { aRoute } from '../../support/routes.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const database = testDatabase();
let postgres: Postgres;
beforeAll(async () => {
  postgres = database.open();
});

/** The route store of a node whose cache does not age, and the connection that brings its notifications. */
async function aNode(nodeId: string, databaseUrl = database.url) {
  const bus = new NodeBus(
    nodeId,
    (events) => new NodeConnection({ databaseUrl, nodeId, log: quietLog, ...events }),
  );
  await bus.transport.start();
  onTestFinished(() => bus.transport.close());
  const own = database.open();
  const reads = vi.spyOn(own, 'query');
  const routes = new PostgresRouteStore(own, { bus, clock: new FakeClock() });
  return { routes, reads, connection: bus.transport };
}

/** Two candidates in the cache of `node`: one that stays and one to change. */
async function cached({ routes, reads }: Awaited<ReturnType<typeof aNode>>) {
  const accountId = anAccount();
  const query = { accountId, environment: 'lab' as const, channelIds: ['5493777239922'] };
  const { id } = await routes.create(aRoute({ accountId, channelId: '*', environment: 'lab', priority: 1 }));
  const priority = async () => (await routes.candidates(query))[0]?.priority;
  // The notification of `create` may still be on its way.
  await vi.waitFor(async () => {
    reads.mockClear();
    await priority();
    expect(await priority()).toBe(1);
    expect(reads).toHaveBeenCalledTimes(0);
  });
  return { id, priority };
}

it('applies a change that another node stored', async () => {
  const [here, there] = [await aNode('n1'), await aNode('n2')];
  const { id, priority } = await cached(here);
  await there.routes.update(id, { priority: 2 });
  await expect.poll(priority).toBe(2);
  await there.routes.delete(id);
  await expect.poll(priority).toBeUndefined();
});

it.each([
  ['UPDATE', sql`UPDATE route SET priority = 2`, 2],
  ['DELETE', sql`DELETE FROM route`, undefined],
  ['TRUNCATE', sql`TRUNCATE route`, undefined],
])('applies an %s that wa2ai did not execute', async (_what, statement, expected) => {
  const { priority } = await cached(await aNode('n3'));
  await postgres.execute(statement);
  await expect.poll(priority).toBe(expected);
});

it('reads the table while the connection of the node is down, and after it was down', async () => {
  const way = await TcpProxy.to(database.url);
  onTestFinished(() => way.close());
  const node = await aNode('n4', way.through(database.url));
  const { id, priority } = await cached(node);
  const { session } = node.connection;
  const others = new PostgresRouteStore(postgres);

  way.cut();
  await expect.poll(() => node.connection.session).toBeUndefined();
  await others.update(id, { priority: 2 });
  expect(await priority()).toBe(2);
  await others.update(id, { priority: 3 });
  expect(await priority()).toBe(3);

  way.restore();
  await expect.poll(() => node.connection.session ?? session, { timeout: 60_000 }).not.toBe(session);
  expect(await priority()).toBe(3);
  node.reads.mockClear();
  expect(await priority()).toBe(3);
  expect(node.reads).not.toHaveBeenCalled();
});

it('reads the table after a break that nobody noticed', async () => {
  const way = await TcpProxy.to(database.url);
  onTestFinished(() => way.close());
  const node = await aNode('n5', way.through(database.url));
  const { id, priority } = await cached(node);
  const { session } = node.connection;
  way.cut();
  await new PostgresRouteStore(postgres).update(id, { priority: 2 });
  way.restore();
  await expect.poll(() => node.connection.session ?? session, { timeout: 60_000 }).not.toBe(session);
  expect(await priority()).toBe(2);
});
