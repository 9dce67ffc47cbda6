import { describe, expect, it } from 'vitest';
import type { ChatState } from '../../../../router/src/core/policies/chat-state.ts';
import { conversationOf } from '../../../../router/src/core/policies/settings.ts';
import { slowAnswerPolicy } from '../../../../router/src/core/policies/slow-answer.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const ANSWER = { kind: 'answer' as const };

function setup(state: ChatState = {}, notices = {}, hasSpoken = () => false) {
  const clock = new FakeClock();
  const log = recordingLog();
  const said: unknown[] = [];
  const patches: ChatState[] = [];
  const faults: Error[] = [];
  const policy = slowAnswerPolicy({
    clock,
    noticeLog: log,
    say: async (...given) => {
      const fault = faults.pop();
      if (fault) throw fault;
      said.push(given);
    },
  });
  const view = {
    turn: { messageId: '7', accountId: 'main', replyTo: '1@lid' } as PendingTurn,
    route: { id: 'r', channelId: '*' },
    conversation: conversationOf(undefined, { notices }),
    language: 'en' as const,
    nowMs: 0,
    state,
    hasSpoken,
  };
  /** Runs work that takes so long. */
  const run = async (ms: number) => {
    const work = () => clock.advanceMs(ms).then(() => ANSWER);
    return policy.during?.(view, work, (patch) => void patches.push(patch));
  };
  return { run, said, patches, faults, log };
}

describe('slowAnswerPolicy', () => {
  it('says once that the answer is on its way, under a key of the message', async () => {
    const { run, said, patches } = setup();
    expect(await run(60_000)).toBe(ANSWER);
    expect(said).toEqual([
      [{ accountId: 'main', to: '1@lid' }, 'This takes a little longer. The answer is on its way.', 'slow-7'],
    ]);
    expect(patches).toHaveLength(1);
  });

  it.each([
    ['a quick answer', 19_000, {}, {}],
    ['a chat that got it in the last ten minutes', 60_000, { notices: { slow: new FakeClock().now() } }, {}],
    ['settings without it', 60_000, {}, { slow: false }],
  ])('says nothing for %s', async (_, ms, state, notices) => {
    const { run, said, patches } = setup(state, notices);
    expect(await run(ms)).toBe(ANSWER);
    expect([said, patches]).toEqual([[], []]);
  });

  it('keeps a failure away from the turn', async () => {
    const { run, faults, log } = setup();
    faults.push(new Error('no database'));
    expect(await run(60_000)).toBe(ANSWER);
    expect(log.lines).toMatchObject([{ level: 'warn', message: 'notice of a slow answer not sent' }]);
  });

  it('says nothing once the chat has a part of the answer', async () => {
    const { run, said } = setup({}, {}, () => true);
    await run(30_000);
    expect(said).toEqual([]);
  });
});
