import { describe, expect, it } from 'vitest';
import { LogOutput } from '../../../../router/src/infra/logging/log-output.ts';
import { LogRing } from '../../../../router/src/infra/logging/log-ring.ts';
import { createLogger } from '../../../../router/src/infra/logging/logger.ts';

const never = new AbortController().signal;

describe('LogRing', () => {
  it('keeps the newest 2,000 lines', () => {
    const ring = new LogRing('run');
    for (let number = 1; number <= 2_500; number += 1) ring.add(`line ${number}`);
    expect([ring.first, ring.last]).toEqual([501, 2_500]);
    expect(ring.at(500)).toBeUndefined();
    expect(ring.at(501)).toEqual({ position: 501, text: 'line 501' });
    expect(ring.at(2_500)?.text).toBe('line 2500');
    expect(ring.at(2_501)).toBeUndefined();
  });

  it('keeps at most four million characters, and goes on after a line that is longer', () => {
    const ring = new LogRing('run');
    for (let number = 0; number < 10; number += 1) ring.add('x'.repeat(1_000_000));
    expect([ring.first, ring.last]).toEqual([7, 10]);
    ring.add('x'.repeat(5_000_000));
    expect([ring.first, ring.last]).toEqual([12, 11]);
    ring.add('short');
    expect(ring.at(ring.first)?.text).toBe('short');
  });

  it('wakes those who wait with the next line, at their end, and when it is stopped', async () => {
    const ring = new LogRing('run');
    const gone = new AbortController();
    const order: string[] = [];
    const waits = [
      ring.after(0, never).then(() => order.push('line')),
      ring.after(1, gone.signal).then(() => order.push('gone')),
      ring.after(9, never).then(() => order.push('stopped')),
    ];
    ring.add('one');
    await waits[0];
    await ring.after(0, never);
    // Everybody is woken by a line, and looks whether it is there.
    await Promise.all(waits);
    expect(order).toEqual(['line', 'gone', 'stopped']);
    const later = ring.after(1, gone.signal);
    gone.abort();
    await later;
    const last = ring.after(1, never);
    ring.stop();
    await last;
    await ring.after(1, never);
  });
});

describe('the lines of the log in the ring', () => {
  it.each(['json', 'pretty'] as const)('are redacted JSON with the format %s, in order', (format) => {
    const ring = new LogRing('run');
    const output = new LogOutput({ write: (_fd, bytes) => bytes.length });
    const log = createLogger({ level: 'info', format, output, ring });
    log.info({ password: 'hunter2', accountId: 'default' }, 'one');
    log.child({ mod: 'http' }).warn({}, 'two');
    log.debug({}, 'below the level');
    const lines = [1, 2, 3]
      .flatMap((position) => ring.at(position) ?? [])
      .map(({ text }) => JSON.parse(text));
    expect(lines).toMatchObject([
      { level: 'info', msg: 'one', accountId: 'default', password: '[redacted]' },
      { level: 'warn', msg: 'two', mod: 'http' },
    ]);
    expect(lines).toHaveLength(2);
  });
});
