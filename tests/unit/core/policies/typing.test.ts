import { describe, expect, it } from 'vitest';
import { typingPolicy } from '../../../../router/src/core/policies/presence.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { turnView } from '../../../support/policies.ts';

function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Shows or hides "typing..." by `setTyping` while `work` runs. */
function whileTyping<T extends { kind: 'answer' }>(
  clock: FakeClock,
  setTyping: (isTyping: boolean) => Promise<void>,
  work: () => Promise<T>,
) {
  const { during } = typingPolicy({
    clock,
    accounts: { provider: () => ({ setTyping: (_to, isTyping) => setTyping(isTyping) }) },
    bus: { publish: () => undefined },
  });
  const turn = { accountId: 'main', replyTo: '1@lid' };
  return during?.({ ...turnView(turn, { presence: { typing: true } }), state: {} }, work, () => undefined);
}

describe('typing...', () => {
  it('shows nothing for an agent that answers at once', async () => {
    const shown: boolean[] = [];
    const clock = new FakeClock();
    await whileTyping(
      clock,
      async (on) => void shown.push(on),
      async () => ({ kind: 'answer' }),
    );
    await clock.advanceMs(60_000);
    expect(shown).toEqual([]);
  });

  it('shows typing, repeats it before it expires, and ends it with the work', async () => {
    const shown: boolean[] = [];
    const clock = new FakeClock();
    const work = deferred<{ kind: 'answer' }>();
    const typed = whileTyping(
      clock,
      async (on) => void shown.push(on),
      () => work.promise,
    );
    await clock.advanceMs(400);
    expect(shown).toEqual([true]);
    await clock.advanceMs(15_000);
    expect(shown).toEqual([true, true]);
    work.resolve({ kind: 'answer' });
    expect(await typed).toEqual({ kind: 'answer' });
    await settle();
    expect(shown).toEqual([true, true, false]);
    expect(clock.sleeping).toBe(0);
  });

  it('does not fail the work when the indicator fails', async () => {
    const clock = new FakeClock();
    const work = deferred<{ kind: 'answer' }>();
    const typed = whileTyping(
      clock,
      () => Promise.reject(new Error('not connected')),
      () => work.promise,
    );
    await clock.advanceMs(500);
    work.resolve({ kind: 'answer' });
    expect(await typed).toEqual({ kind: 'answer' });
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
