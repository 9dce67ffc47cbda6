import { describe, expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../../../router/src/core/cluster/node-bus.ts';
import { NotifiedCache } from '../../../../../router/src/infra/db/stores/notified-cache.ts';
import { routesChanged } from '../../../../../router/src/infra/db/stores/postgres-route-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const transport = { publish: () => undefined, session: 1 as number | undefined };
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return transport;
  });
  const cache = new NotifiedCache<string[]>(
    { bus, clock },
    { changed: routesChanged, maxSize: 3, sizeOf: ({ length }) => length },
  );
  /** PostgreSQL's notification after a change by any writer. */
  const notify = () => events?.onMessage({ from: '', message: { kind: 'routes-changed' } });
  return { clock, transport, cache, notify, load: vi.fn(async () => ['value']) };
}

describe('NotifiedCache', () => {
  it('loads a key once, until the table changes', async () => {
    const { cache, load, notify } = setup();
    await cache.read('a', load);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(1);
    notify();
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('uses an entry for less than half a minute, counted from the start of its load', async () => {
    const { cache, clock, load } = setup();
    await cache.read('a', async () => {
      await clock.advanceMs(1_000);
      return load();
    });
    await clock.advanceMs(28_999);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(1);
    await clock.advanceMs(1);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('caches nothing without nodes', async () => {
    const { load } = setup();
    const cache = new NotifiedCache<string[]>(undefined, { changed: routesChanged });
    await cache.read('a', load);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('caches nothing while notifications may be lost, and nothing from before', async () => {
    const { cache, transport, load } = setup();
    await cache.read('a', load);
    transport.session = undefined;
    await cache.read('a', load);
    await cache.read('a', load);
    transport.session = 2;
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(4);
  });

  it('does not cache what was read while the table changed', async () => {
    const { cache, load, notify } = setup();
    await cache.read('a', async () => {
      notify();
      return ['old'];
    });
    expect(await cache.read('a', load)).toEqual(['value']);
  });

  it('loads again after its own change, also after a failed one, which may be stored', async () => {
    const { cache, load } = setup();
    await cache.read('a', load);
    expect(await cache.change(async () => 'done')).toBe('done');
    await cache.read('a', load);
    await expect(cache.change(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(3);
  });

  it('drops the entry that was used longest ago when the entries are too large together', async () => {
    const { cache, load } = setup();
    for (const key of ['a', 'b', 'c', 'd']) await cache.read(key, load);
    await cache.read('d', load);
    expect(load).toHaveBeenCalledTimes(4);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(5);
  });

  it('throws what the load throws, and loads again', async () => {
    const { cache, load } = setup();
    await expect(cache.read('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await cache.read('a', load)).toEqual(['value']);
  });
});
