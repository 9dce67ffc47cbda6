import { describe, expect, it, vi } from 'vitest';
import { NotifiedCache } from '../../../../../router/src/infra/db/stores/notified-cache.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const transport = { publish: () => undefined, session: 1 as number | undefined };
  const cache = new NotifiedCache<string[]>(transport, clock, { maxSize: 3, sizeOf: ({ length }) => length });
  const load = vi.fn(async () => ['value']);
  return { clock, transport, cache, load };
}

describe('NotifiedCache', () => {
  it('loads a key once, until it is cleared', async () => {
    const { cache, load } = setup();
    await cache.read('a', load);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(1);
    cache.clear();
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(2);
  });

  it('uses an entry for less than five seconds', async () => {
    const { cache, clock, load } = setup();
    await cache.read('a', load);
    await clock.advanceMs(4_999);
    await cache.read('a', load);
    expect(load).toHaveBeenCalledTimes(1);
    await clock.advanceMs(1);
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

  it('does not cache what was read while it was cleared', async () => {
    const { cache, load } = setup();
    await cache.read('a', async () => {
      cache.clear();
      return ['old'];
    });
    expect(await cache.read('a', load)).toEqual(['value']);
  });

  it('is cleared by a change, also by one that failed', async () => {
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
