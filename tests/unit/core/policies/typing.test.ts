import { describe, expect, it } from 'vitest';
import { typingPolicy, whileTyping } from '../../../../router/src/core/policies/presence.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('whileTyping', () => {
  it('shows nothing for an agent that answers at once', async () => {
    const shown: boolean[] = [];
    const clock = new FakeClock();
    await whileTyping(
      clock,
      async (on) => void shown.push(on),
      async () => 'fast',
    );
    await clock.advanceMs(60_000);
    expect(shown).toEqual([]);
  });

  it('shows typing, repeats it before it expires, and ends it with the work', async () => {
    const shown: boolean[] = [];
    const clock = new FakeClock();
    const work = deferred<string>();
    const typed = whileTyping(
      clock,
      async (on) => void shown.push(on),
      () => work.promise,
    );
    await clock.advanceMs(400);
    expect(shown).toEqual([true]);
    await clock.advanceMs(15_000);
    expect(shown).toEqual([true, true]);
    work.resolve('slow');
    expect(await typed).toBe('slow');
    await settle();
    expect(shown).toEqual([true, true, false]);
    expect(clock.sleeping).toBe(0);
  });

  it('does not fail the work when the indicator fails', async () => {
    const clock = new FakeClock();
    const work = deferred<string>();
    const typed = whileTyping(
      clock,
      () => Promise.reject(new Error('not connected')),
      () => work.promise,
    );
    await clock.advanceMs(500);
    work.resolve('answer');
    expect(await typed).toBe('answer');
  });
});

describe('typingPolicy', () => {
  it.each([
    [true, [true]],
    [false, []],
  ])('with the setting %s', async (typing, expected) => {
    const clock = new FakeClock();
    const shown: boolean[] = [];
    const { during } = typingPolicy({
      clock,
      accounts: { provider: () => ({ setTyping: async (_to, isTyping) => void shown.push(isTyping) }) },
      bus: { publish: () => undefined },
    });
    const view = {
      turn: { accountId: 'main', replyTo: '1@lid' } as PendingTurn,
      route: { id: 'r', channelId: '*' },
      conversation: chatSettingsOf(undefined, { presence: { typing } }),
      language: 'en' as const,
      nowMs: 0,
      state: {},
    };
    const work = deferred<{ kind: 'answer' }>();
    const ran = during?.(
      view,
      () => work.promise,
      () => undefined,
    );
    await clock.advanceMs(400);
    expect(shown).toEqual(expected);
    work.resolve({ kind: 'answer' });
    expect(await ran).toEqual({ kind: 'answer' });
  });
});
