import { expect, it, vi } from 'vitest';
import { LiveSettings } from '../../../router/src/app/live-settings.ts';
import { loadConfig } from '../../../router/src/config/config.ts';
import type { ServiceSettings } from '../../../router/src/config/live-settings.ts';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { MemorySettings } from '../../doubles/memory-settings.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { quietLog } from '../../support/quiet-log.ts';

function setup() {
  const config = loadConfig({ WA2AI_LOG_LEVEL: 'warn', WA2AI_RETENTION_FILES: '10d' });
  const store = new MemorySettings();
  const clock = new FakeClock();
  const changes: ServiceSettings[] = [];
  let changed: () => void = () => undefined;
  const live = new LiveSettings({
    ...{ config, store, clock, log: quietLog },
    bus: {
      on: (_kind, handler) => {
        changed = () => handler({} as never, 'n2');
      },
    },
    onChange: (settings) => void changes.push(settings),
  });
  return { live, store, clock, changes, changed: () => changed() };
}

it('has the variables until something is stored, and what is stored after the notification of a node', async () => {
  const { live, store, changes, changed } = setup();
  await live.start();
  expect(live.current).toMatchObject({ logLevel: 'warn', exchanges: 'on', maxMessageAgeMs: 86_400_000 });
  await store.put('service', { logLevel: 'debug', retention: { textDays: 5 } });
  changed();
  await expect.poll(() => live.current.logLevel).toBe('debug');
  expect(live.current.retention).toEqual({ textDays: 5, fileDays: 10, recordDays: 365 });
  expect(changes.map(({ logLevel }) => logLevel)).toEqual(['warn', 'debug']);
  live.stop();
});

it('reads again after half a minute, and keeps the last settings while the database is away', async () => {
  const { live, store, clock } = setup();
  await live.start();
  await store.put('service', { exchanges: 'off', other: 1, agentTimeoutMs: 'soon' });
  const get = vi.spyOn(store, 'get').mockRejectedValueOnce(new StorageUnavailableError({ sentence: 'away' }));
  await clock.advanceMs(30_000);
  expect(live.current.exchanges).toBe('on');
  await clock.advanceMs(30_000);
  expect(get).toHaveBeenCalledTimes(2);
  expect(live.current).toMatchObject({ exchanges: 'off', agentTimeoutMs: 30_000 });
  live.stop();
});
