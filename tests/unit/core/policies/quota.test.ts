import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideQuota } from '../../../../router/src/core/policies/access.ts';
import type { ChatState } from '../../../../router/src/core/policies/chat-state.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';

const quota = { messages: 2, perMinutes: 10 };
const settings = (change = {}) => chatSettingsOf(undefined, { quota: { ...quota, ...change } });
const MINUTE = 60_000;

/** The decisions about messages at these times, each with the state that the one before left. */
function decisions(times: readonly number[], change = {}, sender = '1') {
  let state: ChatState = {};
  return times.map((nowMs) => {
    const decision = decideQuota(sender, state, settings(change), 'en', nowMs);
    state = { ...state, ...decision.patch };
    return { decision, state };
  });
}

describe('decideQuota', () => {
  it('answers as many messages as the quota has, then says so once per window', () => {
    const kinds = decisions([0, 1, 2, 3, 10 * MINUTE]).map(({ decision }) =>
      decision.kind === 'end' ? (decision.say ?? 'silent') : 'continue',
    );
    expect(kinds).toEqual([
      'continue',
      'continue',
      'You have reached the limit of messages for now. Please write again in 10 minutes.',
      'silent',
      'continue',
    ]);
  });

  it('counts each person', () => {
    const [, second] = decisions([0, 1]);
    expect(decideQuota('2', second?.state ?? {}, settings(), 'en', 2).kind).toBe('continue');
  });

  it('is off by default, and then changes nothing', () => {
    expect(decideQuota('1', {}, settings({ messages: 0 }), 'en', 0)).toEqual({ kind: 'continue' });
  });

  it('never counts below zero or above the quota, and answers at most the quota in any window', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 5 * MINUTE }), { maxLength: 60 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 5 }), (waits, messages) => {
        let now = 0;
        const times = waits.map((wait) => {
          now += wait;
          return now;
        });
        const all = decisions(times, { messages });
        for (const { state } of all) {
          const count = state.quotas?.['1']?.count ?? 0;
          expect(count).toBeGreaterThanOrEqual(0);
          expect(count).toBeLessThanOrEqual(messages);
        }
        const starts = new Map<number, number>();
        for (const { decision, state } of all) {
          const start = state.quotas?.['1']?.startMs ?? 0;
          if (decision.kind === 'continue') starts.set(start, (starts.get(start) ?? 0) + 1);
        }
        for (const answered of starts.values()) expect(answered).toBeLessThanOrEqual(messages);
      }),
    );
  });
});
