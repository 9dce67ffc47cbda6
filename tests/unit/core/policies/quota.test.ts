import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quotaPolicy } from '../../../../router/src/core/policies/access.ts';
import type { ChatState } from '../../../../router/src/core/policies/chat-state.ts';
import { decisionOf, turnView } from '../../../support/policies.ts';

const quota = { messages: 2, perMinutes: 10 };
const decide = (sender: string, chatState: ChatState, nowMs: number, change = {}) =>
  decisionOf(quotaPolicy(), {
    ...turnView({ sender, chatState }, { quota: { ...quota, ...change } }),
    nowMs,
  });
const MINUTE = 60_000;

/** The decisions about messages at these times, each with the state that the one before left. */
async function decisions(times: readonly number[], change = {}, sender = '1') {
  let state: ChatState = {};
  const made = [];
  for (const nowMs of times) {
    const decision = await decide(sender, state, nowMs, change);
    state = { ...state, ...decision.patch };
    made.push({ decision, state });
  }
  return made;
}

describe('the quota policy', () => {
  it('answers as many messages as the quota has, then says so once per window', async () => {
    const kinds = (await decisions([0, 1, 2, 3, 10 * MINUTE])).map(({ decision }) =>
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

  it('counts each person', async () => {
    const [, second] = await decisions([0, 1]);
    expect((await decide('2', second?.state ?? {}, 2)).kind).toBe('continue');
  });

  it('is off by default, and then changes nothing', async () => {
    expect(await decide('1', {}, 0, { messages: 0 })).toEqual({ kind: 'continue' });
  });

  it('never counts below zero or above the quota, and answers at most the quota in any window', async () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 5 * MINUTE }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(gaps, fc.integer({ min: 1, max: 5 }), async (waits, messages) => {
        let now = 0;
        const times = waits.map((wait) => {
          now += wait;
          return now;
        });
        const all = await decisions(times, { messages });
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
