import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterFailure,
  MAX_AGE_MS,
  MAX_ATTEMPTS,
} from '../../../router/src/features/webhooks/webhook-dispatcher.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const first = { attempt: 1, ageMs: 0, failures: 0, failingForMs: 0 };
const decided = (
  given: Partial<typeof first>,
  failure: { status?: number; retryAfterMs?: number },
  random = () => 0.5,
) => afterFailure({ ...first, ...given }, { error: 'It failed.', ...failure }, random);

describe('afterFailure', () => {
  it('keeps the status and the sentence', () => {
    expect(decided({}, { status: 400 })).toEqual({ status: 400, error: 'It failed.', retryInMs: 1_000 });
    expect(decided({}, {})).not.toHaveProperty('status');
  });

  it.each([
    [1, 1_000],
    [2, 2_000],
    [5, 16_000],
    [20, HOUR_MS / 2],
  ])('waits longer with each attempt, with jitter: attempt %i', (attempt, retryInMs) => {
    expect(decided({ attempt }, { status: 400 }).retryInMs).toBe(retryInMs);
    expect(decided({ attempt }, { status: 400 }, () => 0).retryInMs).toBe(0);
  });

  it('waits as long as the receiver asks, at most an hour and a tenth', () => {
    expect(decided({}, { status: 503, retryAfterMs: 90_000 }, () => 0)).toMatchObject({
      retryInMs: 90_000,
      pauseMs: 90_000,
    });
    expect(decided({}, { status: 429, retryAfterMs: DAY_MS }, () => 0.999).retryInMs).toBeLessThan(
      1.1 * HOUR_MS + 1,
    );
  });

  it.each([
    ['24 hours', { ageMs: MAX_AGE_MS }],
    ['many attempts', { attempt: MAX_ATTEMPTS }],
  ])('gives an event up after %s', (_, given) => {
    expect(decided(given, { status: 500 }).retryInMs).toBeUndefined();
  });

  it('pauses a webhook that fails again and again, but not because of single refused events', () => {
    expect(decided({ failures: 3 }, {}).pauseMs).toBeUndefined();
    expect(decided({ failures: 4 }, {}).pauseMs).toBe(1_000);
    expect(decided({ failures: 6 }, { status: 502 }).pauseMs).toBe(4_000);
    expect(decided({ failures: 500 }, {}).pauseMs).toBe(150_000);
    expect(decided({ failures: 500 }, { status: 400 }).pauseMs).toBeUndefined();
  });

  it('switches a webhook off at once when its receiver is gone', () => {
    expect(decided({}, { status: 410 }).disabledReason).toMatch(/410/);
  });

  it('switches a webhook off after three days without a success, and says the last error', () => {
    const failing = { failures: 19, failingForMs: 3 * DAY_MS };
    expect(decided(failing, {}).disabledReason).toBe(
      'No event could be delivered for three days. It failed.',
    );
    expect(decided({ ...failing, failures: 18 }, {}).disabledReason).toBeUndefined();
    expect(decided({ ...failing, failingForMs: 3 * DAY_MS - 1 }, {}).disabledReason).toBeUndefined();
  });

  it('never waits longer than about an hour, and never a negative time', () => {
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: 100 }),
          ageMs: fc.integer({ min: -DAY_MS, max: 3 * DAY_MS }),
          failures: fc.integer({ min: 0, max: 10_000 }),
          failingForMs: fc.integer({ min: 0, max: 9 * DAY_MS }),
        }),
        fc.record(
          {
            status: fc.integer({ min: 300, max: 599 }),
            retryAfterMs: fc.integer({ min: 0, max: 9 * DAY_MS }),
          },
          { requiredKeys: [] },
        ),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (delivery, failure, draw) => {
          const { retryInMs = 0, pauseMs = 0 } = decided(delivery, failure, () => draw);
          for (const ms of [retryInMs, pauseMs]) {
            expect(ms).toBeGreaterThanOrEqual(0);
            expect(ms).toBeLessThanOrEqual(1.1 * HOUR_MS);
          }
        },
      ),
    );
  });
});
