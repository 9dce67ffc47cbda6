import { describe, expect, it } from 'vitest';
import { SendRateLimiter } from '../../../../router/src/core/delivery/limit-send-rate.ts';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { governorOf } from '../../../../router/src/core/policies/governor.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

function setup(stored: object = { messages: { perSecond: 10, burst: 5 } }) {
  const clock = new FakeClock();
  const ending = new AbortController();
  const typing: Array<[string, boolean]> = [];
  const sent: string[] = [];
  const refused: string[] = [];
  let settings = async () => governorOf(stored);
  const sendRate = new SendRateLimiter({
    settings: () => settings(),
    setTyping: async (to, isTyping) => void typing.push([to, isTyping]),
    clock,
    random: () => 0,
  });
  const replyOf = (id: string, isReply: boolean, text = '') => ({
    outboxId: id,
    chatId: id,
    ...(isReply && { messageId: id }),
    message: { accountId: 'a', to: `${id}@lid`, waMessageId: id, text },
  });
  const send = (id: string, isReply = true, isCurrent = () => true) => {
    void sendRate
      .admit(replyOf(id, isReply), isCurrent, ending.signal)
      .then((isAdmitted) => (isAdmitted ? sent : refused).push(id));
  };
  const fail = (error: Error) => {
    settings = () => Promise.reject(error);
  };
  return { clock, ending, typing, sent, refused, sendRate, replyOf, send, fail };
}

describe('SendRateLimiter', () => {
  it('starts no timer while there are tokens', async () => {
    const { clock, sent, sendRate, send } = setup();
    for (let n = 0; n < 5; n++) send(`r${n}`);
    await settle();
    expect(sent).toHaveLength(5);
    expect(clock.sleeping).toBe(0);
    expect(sendRate.isFree).toBe(false);
    await clock.advanceMs(100);
    expect(sendRate.isFree).toBe(true);
  });

  it('lets a burst of 500 leave at its rate, in order, and answers before other messages', async () => {
    const { clock, sent, send } = setup();
    for (let n = 0; n < 250; n++) {
      send(`m${n}`, false);
      send(`r${n}`);
    }
    await settle();
    expect(sent).toEqual(['m0', 'r0', 'm1', 'r1', 'm2']);
    await clock.advanceMs(1_000);
    expect(sent.slice(5)).toEqual(Array.from({ length: 10 }, (_, n) => `r${n + 2}`));
    await clock.advanceMs(48_500);
    expect(sent).toHaveLength(500);
    expect(sent.filter((id) => id.startsWith('r'))).toEqual(Array.from({ length: 250 }, (_, n) => `r${n}`));
    expect(sent.slice(-247)).toEqual(Array.from({ length: 247 }, (_, n) => `m${n + 3}`));
    expect(clock.sleeping).toBe(0);
  });

  it('keeps back what waits when the account is released, and what was for an earlier connection', async () => {
    const { clock, ending, sent, refused, send } = setup({ messages: { perSecond: 1, burst: 1 } });
    let isCurrent = true;
    send('first');
    send('old', true, () => isCurrent);
    send('second');
    send('third');
    await settle();
    isCurrent = false;
    await clock.advanceMs(1_000);
    expect([sent, refused]).toEqual([['first', 'second'], ['old']]);
    ending.abort();
    await settle();
    expect(refused).toEqual(['old', 'third']);
    expect(clock.sleeping).toBe(0);
  });

  it('keeps its settings while they cannot be read', async () => {
    const { sent, send, fail } = setup({ messages: { perSecond: 1, burst: 1 } });
    send('first');
    await settle();
    fail(new StorageUnavailableError({ sentence: 'no answer' }));
    send('second');
    await settle();
    expect(sent).toEqual(['first']);
  });

  it('shows "typing..." as long as a person would type, and nothing by default', async () => {
    const { clock, ending, typing, sendRate, replyOf } = setup({
      typing: { charsPerSecond: 10, maxMs: 2_000 },
    });
    const reply = replyOf('r', true, 'x'.repeat(15));
    await sendRate.type(reply, ending.signal);
    expect(typing).toEqual([]);
    await sendRate.admit(reply, () => true, ending.signal);
    let isOver = false;
    void sendRate.type(reply, ending.signal).then(() => {
      isOver = true;
    });
    await clock.advanceMs(1_499);
    expect([typing, isOver]).toEqual([[['r@lid', true]], false]);
    await clock.advanceMs(1);
    expect(isOver).toBe(true);
    const aborted = sendRate.type(reply, ending.signal);
    ending.abort();
    await aborted;
  });
});
