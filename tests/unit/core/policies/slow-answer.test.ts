import { describe, expect, it } from 'vitest';
import { slowAnswerPolicy } from '../../../../router/src/core/policies/presence.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const ANSWER = { kind: 'answer' as const };

function setup(
  notices = {},
  more: { hasSentParts?(): boolean; isUnreachable?(): boolean; isApproving?: true } = {},
) {
  const clock = new FakeClock();
  const log = recordingLog();
  const said: unknown[] = [];
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
    turn: { messageId: '7', accountId: 'main', replyTo: '1@lid', ...more } as PendingTurn,
    route: { id: 'r', channelId: '*' },
    conversation: chatSettingsOf(undefined, { notices }),
    language: 'en' as const,
    nowMs: 0,
    state: {},
    ...more,
  };
  /** Runs work that takes so long. */
  const run = async (ms: number, messageId = '7') => {
    const work = () => clock.advanceMs(ms).then(() => ANSWER);
    return policy.during?.({ ...view, turn: { ...view.turn, messageId } }, work, () => undefined);
  };
  return { run, said, faults, log };
}

describe('slowAnswerPolicy', () => {
  it('says once that the answer is on its way, under a key of the message', async () => {
    const { run, said } = setup();
    expect(await run(60_000)).toBe(ANSWER);
    expect(said).toEqual([
      [{ accountId: 'main', to: '1@lid' }, 'This takes a little longer. The answer is on its way.', 'slow-7'],
    ]);
  });

  it('says it for each question, also twice in ten minutes', async () => {
    const { run, said } = setup();
    await run(60_000);
    await run(60_000, '8');
    expect(said).toMatchObject(['7', '8'].map((id) => [{}, expect.any(String), `slow-${id}`]));
  });

  it('says that there is no answer when the agent cannot be reached, whatever the settings say of a slow one', async () => {
    for (const notices of [{}, { slow: 'On its way!' }]) {
      const { run, said } = setup(notices, { isUnreachable: () => true });
      await run(60_000);
      expect(said).toMatchObject([
        [{}, 'I get no answer right now. I keep trying, and write to you as soon as I have one.', 'slow-7'],
      ]);
    }
    const { run, said } = setup({ slow: 'On its way!' }, { isUnreachable: () => false });
    await run(60_000);
    expect(said).toMatchObject([[{}, 'On its way!', 'slow-7']]);
  });

  it.each([
    ['a quick answer', 19_000, {}, {}],
    ['settings without it', 60_000, { slow: false }, {}],
    ['an answer that the owner approves first', 60_000, {}, { isApproving: true as const }],
  ])('says nothing for %s', async (_, ms, notices, more) => {
    const { run, said } = setup(notices, more);
    expect(await run(ms)).toBe(ANSWER);
    expect(said).toEqual([]);
  });

  it('keeps a failure away from the turn', async () => {
    const { run, faults, log } = setup();
    faults.push(new Error('no database'));
    expect(await run(60_000)).toBe(ANSWER);
    expect(log.lines).toMatchObject([{ level: 'warn', message: 'notice of a slow answer not sent' }]);
  });

  it('says nothing once the chat has a part of the answer', async () => {
    const { run, said } = setup({}, { hasSentParts: () => true });
    await run(30_000);
    expect(said).toEqual([]);
  });
});
