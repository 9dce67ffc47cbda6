import { describe, expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../router/src/core/cluster/node-bus.ts';
import type { NewApiKey } from '../../../router/src/core/ports/api-key-store.ts';
import { CachedApiKeyStore } from '../../../router/src/features/access/key-store.ts';
import { MemoryApiKeyStore } from '../../doubles/memory-api-key-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const KEY: NewApiKey = {
  id: '0123456789ab',
  name: 'k',
  scopes: ['tasks'],
  limits: { perMinute: 100, perSecond: 10 },
  secretHash: new Uint8Array(32),
};

function setup() {
  const clock = new FakeClock();
  const table = new MemoryApiKeyStore(() => clock.now());
  const transport = { publish: () => undefined, session: 1 as number | undefined };
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return transport;
  });
  const keys = new CachedApiKeyStore(table, bus, clock);
  const notify = () => events?.onMessage({ from: '', message: { kind: 'keys-changed' } });
  return { clock, table, keys, notify, reads: vi.spyOn(table, 'all'), marks: vi.spyOn(table, 'markUsed') };
}

describe('CachedApiKeyStore', () => {
  it('reads the table once for all keys, also for ids that do not exist', async () => {
    const { keys, reads } = setup();
    await keys.create(KEY);
    expect((await keys.find(KEY.id))?.name).toBe('k');
    for (let n = 0; n < 100; n++) expect(await keys.find(`unknown ${n}`)).toBeUndefined();
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('applies its own changes at once', async () => {
    const { keys } = setup();
    expect(await keys.find(KEY.id)).toBeUndefined();
    await keys.create(KEY);
    expect(await keys.find(KEY.id)).toBeDefined();
    await keys.delete(KEY.id);
    expect(await keys.find(KEY.id)).toBeUndefined();
  });

  it('applies a change of another node at its notification, and without one after a second', async () => {
    const { keys, table, notify, clock } = setup();
    await keys.create(KEY);
    await keys.find(KEY.id);
    await table.delete(KEY.id);
    expect(await keys.find(KEY.id)).toBeDefined();
    notify();
    expect(await keys.find(KEY.id)).toBeUndefined();
    await table.create(KEY);
    await clock.advanceMs(999);
    expect(await keys.find(KEY.id)).toBeUndefined();
    await clock.advanceMs(1);
    expect(await keys.find(KEY.id)).toBeDefined();
  });

  it('writes a use once a minute for each key', async () => {
    const { keys, marks, clock } = setup();
    for (const id of ['a', 'a', 'b', 'a']) await keys.markUsed(id);
    expect(marks.mock.calls).toEqual([['a'], ['b']]);
    await clock.advanceMs(60_000);
    await keys.markUsed('a');
    expect(marks).toHaveBeenCalledTimes(3);
  });

  it('shows all keys as the table has them', async () => {
    const { keys, table } = setup();
    await keys.find(KEY.id);
    await table.create(KEY);
    expect(await keys.all()).toMatchObject([{ id: KEY.id }]);
  });
});
