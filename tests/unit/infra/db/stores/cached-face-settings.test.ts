import { expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../../../router/src/core/cluster/node-bus.ts';
import { CachedFaceSettings } from '../../../../../router/src/infra/db/stores/postgres-face-settings.ts';
import { MemoryFaceSettings } from '../../../../doubles/memory-face-settings.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

it('reads the settings once, and again after a change on any node', async () => {
  const table = new MemoryFaceSettings();
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return { publish: () => undefined, session: 1 };
  });
  const settings = new CachedFaceSettings(table, bus, new FakeClock());
  const reads = vi.spyOn(table, 'get');
  for (let n = 0; n < 3; n++) expect(await settings.get('a2a')).toBeUndefined();
  expect(reads).toHaveBeenCalledTimes(1);
  await settings.put('a2a', { enabled: true });
  expect(await settings.get('a2a')).toEqual({ enabled: true });
  await table.put('a2a', { enabled: false });
  expect(await settings.get('a2a')).toEqual({ enabled: true });
  events?.onMessage({ from: '', message: { kind: 'settings-changed' } });
  expect(await settings.get('a2a')).toEqual({ enabled: false });
});
