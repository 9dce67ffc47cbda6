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
