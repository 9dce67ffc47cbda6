import { describe, expect, it } from 'vitest';
import { MessageWatch, waitForMessage } from '../../../../router/src/core/messages/message-watch.ts';
import { aMessage, aPerson } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryMessageLog } from '../../../doubles/memory-message-log.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

async function setup() {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const messageLog = new MemoryMessageLog(state);
  const inbox = new MemoryInbox(state);
  const person = aPerson();
  const say = async (text: string, given: Partial<Parameters<typeof aMessage>[2]> = {}, by = person) =>
    inbox.add(aMessage('main', by, { text, ...given }), 'n1');
  const { chatId } = await say('before');
  const deps = { messageLog, clock, watch: new MessageWatch({ messageLog, clock, log: quietLog }) };
  const wait = (query: { after?: string; waitMs?: number } = {}, signal = new AbortController().signal) =>
    waitForMessage(deps, { chatId, waitMs: 60_000, ...query }, signal);
  return { clock, say, wait };
}

describe('waitForMessage', () => {
  it('returns what comes in the chat from now on, oldest first', async () => {
    const { clock, say, wait } = await setup();
    const waiting = wait();
    await clock.untilSleeping();
    await say('elsewhere', {}, aPerson());
    await say('one');
    await say('two');
    await clock.advanceMs(1_000);
    const { messages, after } = await waiting;
    expect(messages.map(({ text }) => text)).toEqual(['one', 'two']);
    expect(after).toBe(messages[1]?.id);
  });

  it('returns at once what came after the given message, in pages without gaps', async () => {
    const { say, wait } = await setup();
    for (let index = 1; index <= 250; index++) await say(`m${index}`);
    const seen: string[] = [];
    let after = '0';
    for (let page = 0; page < 3; page++) {
      const found = await wait({ after, waitMs: 0 });
      seen.push(...found.messages.map(({ text }) => text));
      after = found.after;
    }
    expect(seen).toEqual(['before', ...Array.from({ length: 250 }, (_, index) => `m${index + 1}`)]);
    expect(await wait({ after, waitMs: 0 })).toEqual({ messages: [], after });
  });

  it('does not return messages of the owner and continues after them', async () => {
    const { clock, say, wait } = await setup();
    const waiting = wait({ waitMs: 5_000 });
    await clock.untilSleeping();
    const own = await say('', { ignoredReason: 'own-message' });
    await clock.advanceMs(5_000);
    expect(await waiting).toEqual({ messages: [], after: own.messageId });
  });

  it('ends with the reason of the signal', async () => {
    const { clock, wait } = await setup();
    const gone = new AbortController();
    const waiting = wait({}, gone.signal);
    await clock.untilSleeping();
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(clock.sleeping).toBe(0);
  });
});
