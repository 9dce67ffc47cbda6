import { expect, it } from 'vitest';
import { notTakenError } from '../../../../../router/src/infra/agents/transport/not-taken.ts';

const headers = new Headers({ 'retry-after': '7' });

it.each([
  [429, 7_000, false],
  [503, 7_000, false],
  // A gateway may have lost the answer.
  [502, undefined, true],
])('status %i was not taken, wait %s ms, may have run: %s', (status, retryAfterMs, mayHaveRun) => {
  expect(notTakenError({ status, headers }, 'Busy.', 0)).toMatchObject({
    message: 'Busy.',
    disposition: 'retry',
    isAway: true,
    retryAfterMs,
    mayHaveRun,
  });
});

it.each([400, 500, 504])('status %i may have been taken', (status) => {
  expect(notTakenError({ status, headers }, 'Busy.', 0)).toBeUndefined();
});
