import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../../../router/src/infra/agents/transport/retry-after.ts';

const NOW_MS = Date.UTC(2026, 0, 1, 12, 0, 0);

describe('retryAfterMs', () => {
  it.each([
    ['7', 7_000],
    [' 120 ', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 12:00:30 GMT', 30_000],
    ['Thu, 01 Jan 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-5 seconds', undefined],
    ['', undefined],
  ])('reads %j as %s ms', (value, expected) => {
    expect(retryAfterMs(new Headers({ 'retry-after': value }), NOW_MS)).toBe(expected);
  });

  it('is undefined without the header', () => {
    expect(retryAfterMs(new Headers(), NOW_MS)).toBeUndefined();
  });
});
