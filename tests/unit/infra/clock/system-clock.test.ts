import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { systemClock } from '../../../../router/src/infra/clock/system-clock.ts';

it('allows any number of waits under one signal without a leak warning of Node', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  try {
    const ending = new AbortController();
    const waits = Array.from({ length: 50 }, () => systemClock.sleep(60_000, ending.signal));
    ending.abort();
    const ends = await Promise.allSettled(waits);
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['rejected']));
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.map(({ message }) => message)).toEqual([]);
  } finally {
    process.off('warning', onWarning);
  }
});

it('rejects with the reason of the signal, before the wait and during it', async () => {
  const ending = new AbortController();
  const wait = systemClock.sleep(60_000, ending.signal);
  ending.abort('stopped');
  await expect(wait).rejects.toBe('stopped');
  await expect(systemClock.sleep(60_000, ending.signal)).rejects.toBe('stopped');
});

it('leaves no listener on the signal when the wait ends', async () => {
  const { signal } = new AbortController();
  await systemClock.sleep(1, signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
