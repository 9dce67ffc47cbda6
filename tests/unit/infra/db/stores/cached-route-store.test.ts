import { describe, expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../../../router/src/core/cluster/node-bus.ts';
import type { Route } from '../../../../../router/src/core/models.ts';
import type { RouteStore } from '../../../../../router/src/core/ports/route-store.ts';
import { CachedRouteStore } from '../../../../../router/src/infra/db/stores/postgres-route-store.ts';
import { MemoryRouteStore } from '../../../../doubles/memory-route-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aRoute } from '../../../../support/routes.ts';

type Query = Parameters<RouteStore['candidates']>[0];

const QUERY: Query = {
  accountId: 'main',
  environment: 'lab',
  channelIds: ['5493777239922', '7@lid'],
};

/** A cache before a table with one route for all chats. */
async function setup() {
  const clock = new FakeClock();
  const table = new MemoryRouteStore();
  const first = await table.create(aRoute({ accountId: 'main', channelId: '*' }));
  const transport = { publish: () => undefined, session: 1 as number | undefined };
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return transport;
  });
  const routes = new CachedRouteStore(table, bus, clock);
  const reads = vi.spyOn(table, 'candidates');
  const ids = async (query = QUERY) => (await routes.candidates(query)).map(({ id }) => id);
  /** PostgreSQL's notification after a change. */
  const notify = () => events?.onMessage({ from: '', message: { kind: 'routes-changed' } });
  return { clock, table, first, transport, routes, reads, ids, notify };
}

describe('CachedRouteStore', () => {
  it('reads the candidates of a chat once', async () => {
    const { reads, ids, first } = await setup();
    expect([await ids(), await ids()]).toEqual([[first.id], [first.id]]);
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it.each<[string, Query]>([
    ['account', { ...QUERY, accountId: 'other' }],
    ['environment', { ...QUERY, environment: 'prod' }],
    ['chat', { ...QUERY, channelIds: ['5493777239922'] }],
  ])('reads them again for another %s', async (_what, query) => {
    const { reads, ids } = await setup();
    await ids();
    await ids(query);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it('reads again after 5 seconds, counted from the start of the read, though no notification came', async () => {
    const { clock, table, first, reads, ids } = await setup();
    let end: () => void = () => undefined;
    reads.mockImplementationOnce(async () => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      return [first];
    });
    const reading = ids();
    await clock.advanceMs(1_000);
    end();
    await reading;
    await table.delete(first.id);
    await clock.advanceMs(3_999);
    expect(await ids()).toEqual([first.id]);
    await clock.advanceMs(1);
    expect(await ids()).toEqual([]);
  });

  it('applies the notification of a change made elsewhere', async () => {
    const { table, first, ids, notify } = await setup();
    await ids();
    await table.delete(first.id);
    notify();
    expect(await ids()).toEqual([]);
  });

  it.each<[string, (routes: CachedRouteStore, first: Route) => Promise<unknown>]>([
    ['created', (routes) => routes.create(aRoute({ accountId: 'main', channelId: '*' }))],
    ['changed', (routes, { id }) => routes.update(id, { priority: 7 })],
    ['deleted', (routes, { id }) => routes.delete(id)],
  ])('reads again after a route was %s through it', async (_what, change) => {
    const { routes, table, first, ids } = await setup();
    await ids();
    await change(routes, first);
    expect(await routes.candidates(QUERY)).toEqual(await table.candidates(QUERY));
  });

  it('reads again after a change that failed, which may have been stored', async () => {
    const { routes, table, first, ids } = await setup();
    await ids();
    vi.spyOn(table, 'delete').mockImplementationOnce(async (id) => {
      await MemoryRouteStore.prototype.delete.call(table, id);
      throw new Error('connection lost after the commit');
    });
    await expect(routes.delete(first.id)).rejects.toThrow('connection lost');
    expect(await ids()).toEqual([]);
  });

  it.each<[string, (parts: Awaited<ReturnType<typeof setup>>) => Promise<unknown>]>([
    ['a notification', async ({ notify }) => notify()],
    ['a change through it', ({ routes }) => routes.update('none', {})],
    [
      'a new session',
      async ({ transport }) => {
        transport.session = 2;
      },
    ],
  ])('does not cache a read during which there was %s', async (_what, happens) => {
    const parts = await setup();
    const { table, first, reads, ids } = parts;
    reads.mockImplementationOnce(async () => {
      await table.delete(first.id);
      await happens(parts);
      return [first];
    });
    expect(await ids()).toEqual([first.id]);
    expect(await ids()).toEqual([]);
  });

  it('reads the table for every message while notifications cannot arrive', async () => {
    const { table, transport, first, ids } = await setup();
    await ids();
    transport.session = undefined;
    expect(await ids()).toEqual([first.id]);
    await table.delete(first.id);
    expect(await ids()).toEqual([]);
  });

  it('uses nothing that it read before notifications were lost', async () => {
    const { table, transport, first, ids } = await setup();
    await ids();
    await table.delete(first.id);
    transport.session = 2;
    expect(await ids()).toEqual([]);
  });

  it('caches again when notifications arrive again', async () => {
    const { transport, reads, ids } = await setup();
    transport.session = undefined;
    await ids();
    transport.session = 2;
    await ids();
    await ids();
    expect(reads).toHaveBeenCalledTimes(2);
  });

  it('answers from the cache while the database is unavailable, for 5 seconds', async () => {
    const { clock, reads, ids, first } = await setup();
    await ids();
    reads.mockRejectedValue(new Error('unavailable'));
    expect(await ids()).toEqual([first.id]);
    await clock.advanceMs(5_000);
    await expect(ids()).rejects.toThrow('unavailable');
  });

  it('keeps at most 1,000 routes, of the chats used last', async () => {
    const { reads, ids } = await setup();
    const chat = (index: number) => ({ ...QUERY, channelIds: [`chat ${index}`] });
    for (let index = 0; index <= 1_000; index++) await ids(chat(index));
    reads.mockClear();
    await ids(chat(1_000));
    await ids(chat(1));
    expect(reads).not.toHaveBeenCalled();
    await ids(chat(0));
    expect(reads).toHaveBeenCalledTimes(1);
  });
});
