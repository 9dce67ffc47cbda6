import { describe, expect, it } from 'vitest';
import {
  rejectedError,
  retryAfterMs,
} from '../../../../../router/src/infra/agents/transport/agent-transport.ts';

const headers = new Headers({ 'retry-after': '7' });

it.each([
  [429, 7_000, false],
  [503, 7_000, false],
  // A gateway may have lost the answer.
  [502, undefined, true],
])('status %i was not taken, wait %s ms, may have run: %s', (status, waitMs, mayHaveRun) => {
  expect(rejectedError({ status, headers }, { sentence: 'Busy.' }, 0)).toMatchObject({
    message: 'Busy.',
    disposition: 'retry',
    isAway: true,
    retryAfterMs: waitMs,
    mayHaveRun,
  });
});

it.each([400, 500, 504])('status %i may have been taken', (status) => {
  expect(rejectedError({ status, headers }, { sentence: 'Busy.' }, 0)).toBeUndefined();
});

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
