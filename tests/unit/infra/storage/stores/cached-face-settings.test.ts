import { describe, expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../../../router/src/core/cluster/node-bus.ts';
import { CachedFaceSettings } from '../../../../../router/src/infra/storage/stores/cached-face-settings.ts';
import { MemoryFaceSettings } from '../../../../doubles/memory-face-settings.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const table = new MemoryFaceSettings();
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return { publish: () => undefined, session: 1 as number | undefined };
  });
  const settings = new CachedFaceSettings(table, bus, clock);
  const notify = () => events?.onMessage({ from: '', message: { kind: 'settings-changed' } });
  return { clock, table, settings, notify, reads: vi.spyOn(table, 'get') };
}

describe('CachedFaceSettings', () => {
  it('reads each face once, also one without settings, and applies its own changes at once', async () => {
    const { settings, reads } = setup();
    expect([await settings.get('npc'), await settings.get('npc')]).toEqual([undefined, undefined]);
    expect(reads).toHaveBeenCalledTimes(1);
    await settings.put('npc', { enabled: true });
    expect(await settings.get('npc')).toEqual({ enabled: true });
  });

  it('applies a change of another node at its notification, and without one after five seconds', async () => {
    const { settings, table, notify, clock } = setup();
    await settings.get('npc');
    await table.put('npc', { enabled: true });
    expect(await settings.get('npc')).toBeUndefined();
    notify();
    expect(await settings.get('npc')).toEqual({ enabled: true });
    await table.put('npc', { enabled: false });
    await clock.advanceMs(5_000);
    expect(await settings.get('npc')).toEqual({ enabled: false });
  });
});
