import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  autoReplyLoopPolicy,
  findLoop,
  loopOf,
} from '../../../../router/src/core/policies/auto-reply-loop.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { EarlierTurn } from '../../../../router/src/core/ports/message-log.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { quietLog } from '../../../support/quiet-log.ts';

type AutoReplyLoopSettings = Parameters<typeof autoReplyLoopPolicy>[0]['autoReplyLoop'];

const settings: AutoReplyLoopSettings = { turns: 10, replyMs: 1_500 };

interface Line {
  /** Time since the last reply of wa2ai. */
  afterReplyMs?: number;
  /** Time since the previous message, answered or not. */
  afterLineMs?: number;
  text: string;
  sender?: string;
}

/** Runs messages through a chat whose agent answers `answerMs` after each; returns which were ignored as a loop. */
function run(lines: Line[], options: { answerMs?: number; answer?: (text: string) => string } = {}) {
  const { answerMs = 300, answer = (text: string) => `Echo: ${text}` } = options;
  const answered: EarlierTurn[] = [];
  const dropped: number[] = [];
  let replyMs = 0;
  let receivedAtMs = 0;
  for (const [index, { afterReplyMs = 0, afterLineMs, text, sender = 'ana' }] of lines.entries()) {
    receivedAtMs = afterLineMs === undefined ? replyMs + afterReplyMs : receivedAtMs + afterLineMs;
    if (loopOf({ text, sender, receivedAtMs }, answered, settings).isLoop) {
      dropped.push(index);
      continue;
    }
    replyMs = Math.max(receivedAtMs, replyMs) + answerMs;
    answered.unshift({ sender, text, receivedAtMs, repliedAtMs: replyMs, replyText: answer(text) });
  }
  return { dropped, answered };
}

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

describe('two programs that answer each other', () => {
  it.each([
    ['repeat themselves', () => 'ok'],
    ['say our reply back', (_n: number, last: string) => last],
    ['write more than can be typed', (n: number) => `You said something that is new to me, number ${n}.`],
  ])('are stopped after ten turns when they %s', (_name, say) => {
    let last = 'hi';
    const lines = times(30, (n) => {
      const text = say(n, last);
      last = `Echo: ${text}`;
      return { afterReplyMs: 40, text };
    });
    const { answered, dropped } = run(lines);
    expect(answered).toHaveLength(11);
    expect(dropped[0]).toBe(11);
  });

  it('are stopped later when they answer slowly at length', () => {
    const lines = times(60, (n) => ({ afterReplyMs: 6_000, text: `${n} ${'lorem ipsum '.repeat(20)}` }));
    expect(run(lines, { answerMs: 5_000 }).dropped[0]).toBe(31);
  });

  it('are stopped too when they write several messages to each of ours', () => {
    const lines = times(60, (n) => ({
      ...(n % 2 === 0 ? { afterReplyMs: 40 } : { afterLineMs: 60 }),
      text: 'Sorry, what did you say?',
    }));
    const { answered, dropped } = run(lines);
    expect(answered.length).toBeLessThan(25);
    expect(dropped.at(-1)).toBe(59);
  });

  it('are answered again after one of them waits as a person would', () => {
    const lines: Line[] = times(20, () => ({ afterReplyMs: 40, text: 'ok' }));
    lines.push({ afterReplyMs: 60_000, text: 'ok' });
    expect(run(lines).dropped).toEqual(times(9, (n) => 11 + n));
  });

  it('are distinguished from other members of a group', () => {
    const lines = times(60, (n) => ({ afterReplyMs: 200, text: 'ok', sender: `member ${n % 5}` }));
    expect(run(lines).dropped).toEqual([]);
  });
});

describe('a person', () => {
  it('is never taken for a program, however fast they type, read and send', () => {
    const line = fc
      .record({ charsPerSecond: fc.integer({ min: 1, max: 12 }), chars: fc.integer({ min: 1, max: 400 }) })
      .map(({ charsPerSecond, chars }) => ({
        afterReplyMs: (chars / charsPerSecond) * 1_000,
        chars,
      }));
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 30, maxLength: 80 }),
        fc.integer({ min: 1, max: 9_000 }),
        (typed, answerMs) => {
          const lines = typed.map(({ afterReplyMs, chars }, n) => ({
            afterReplyMs,
            text: `${n}`.padEnd(chars, 'x'),
          }));
          expect(run(lines, { answerMs }).dropped).toEqual([]);
        },
      ),
    );
  });

  it('can send many lines at once without waiting for an answer', () => {
    const earlier = times(30, (n) => ({
      sender: 'ana',
      text: 'ok',
      receivedAtMs: 1_000 + n,
      repliedAtMs: 2_000 + n * 500,
      replyText: 'yes',
    })).reverse();
    expect(loopOf({ sender: 'ana', text: 'ok', receivedAtMs: 1_050 }, earlier, settings).isLoop).toBe(false);
  });

  it('can request the next item repeatedly, a second and a half apart', () => {
    const lines = times(60, () => ({ afterReplyMs: 1_501, text: 'next' }));
    expect(run(lines, { answer: () => 'Here you are.' }).dropped).toEqual([]);
  });
});

describe('findLoop', () => {
  const history = {
    reads: 0,
    async answeredTurns() {
      this.reads += 1;
      return [];
    },
  };
  const now = { chatId: '1', text: 'x', sender: 'ana', receivedAtMs: 100_000 };

  it('reads nothing for a message that did not come soon after a reply, and when it is switched off', async () => {
    await findLoop({ history, settings }, now);
    await findLoop({ history, settings }, { ...now, repliedAtMs: 80_000 });
    await findLoop({ history, settings: { ...settings, turns: 0 } }, { ...now, repliedAtMs: 99_999 });
    expect(history.reads).toBe(0);
    await findLoop({ history, settings }, { ...now, repliedAtMs: 99_000 });
    expect(history.reads).toBe(1);
  });
});

describe('autoReplyLoopPolicy', () => {
  const earlier = times(12, (n) => ({
    sender: 'ana',
    text: 'ok',
    receivedAtMs: 1_000 + n * 100,
    repliedAtMs: 1_050 + n * 100,
    replyText: 'yes',
  })).reverse();
  const policy = autoReplyLoopPolicy({
    history: { answeredTurns: async () => earlier },
    autoReplyLoop: settings,
  });
  const decide = (change: Partial<PendingTurn>) => {
    const message = { id: 'W', from: 'f', channelId: 'c', text: 'ok', timestamp: new Date(0) };
    const turn = {
      message,
      sender: 'ana',
      receivedAtMs: 2_200,
      repliedAtMs: 2_150,
      ...change,
    } as PendingTurn;
    const view = {
      route: { id: 'r', channelId: '*' },
      conversation: chatSettingsOf(undefined, {}),
      nowMs: 0,
    };
    return policy.before?.({ ...view, turn, language: 'en' }, quietLog);
  };

  it('pauses the chat of a loop', async () => {
    expect(await decide({})).toMatchObject({ kind: 'end', reason: 'auto-reply-loop', loop: 'stopped' });
  });

  it('ends that pause with a message that a person types', async () => {
    const typed = { receivedAtMs: 90_000 };
    expect(await decide({ ...typed, isInLoop: true })).toEqual({ kind: 'continue', loop: 'over' });
    expect(await decide(typed)).toEqual({ kind: 'continue' });
  });

  it('does not count turns from before an operator resumed the chat', async () => {
    expect(await decide({ chatState: { loopFromMs: 2_200 } })).toEqual({ kind: 'continue' });
    expect(await decide({ chatState: { loopFromMs: 1_000 } })).toMatchObject({ kind: 'end' });
  });
});
