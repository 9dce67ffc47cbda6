import { describe, expect, it } from 'vitest';
import type { BUILT_IN } from '../../../../router/src/core/policies/conversation-fields.ts';
import { presencePolicy } from '../../../../router/src/core/policies/presence.ts';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const turn = {
  accountId: 'main',
  replyTo: '1@lid',
  message: { id: 'W1', from: '49@s.whatsapp.net', fromLid: '1@lid' },
} as PendingTurn;
const key = { chat: '1@lid', waMessageId: 'W1', from: '49@s.whatsapp.net', fromLid: '1@lid' };

/** A turn whose agent works until `end` settles; what the provider, or the bus without one, was given. */
function setup(
  presence: Partial<(typeof BUILT_IN)['presence']>,
  { isHere = true, fails = false, more = {} } = {},
) {
  const shown: unknown[] = [];
  const connection = { isOpen: true };
  const show = async (...given: unknown[]) => {
    if (fails) throw new Error('not connected');
    shown.push(given);
  };
  const clock = new FakeClock();
  const provider = {
    markRead: show,
    react: async (...given: unknown[]) => {
      if (connection.isOpen) await show(...given);
      return connection.isOpen;
    },
  };
  const policy = presencePolicy({
    clock,
    accounts: { provider: () => (isHere ? provider : undefined) },
    bus: { publish: (message) => void shown.push(message) },
  });
  const view = {
    turn: { ...turn, ...more },
    route: { id: 'r', channelId: '*' },
    conversation: chatSettingsOf(undefined, { presence }),
    language: 'en' as const,
    nowMs: 0,
    state: {},
  };
  const run = async (work: () => Promise<{ kind: 'answer' | 'failed' }>) => {
    policy.started?.(view);
    return policy.during?.(view, work, () => undefined);
  };
  return { shown, run, clock, connection };
}

describe('the reaction after the work', () => {
  it.each([
    ['is nothing without reactions', {}, [undefined, undefined, undefined]],
    ['removes that of the work', { working: '👀' }, ['', '', '']],
    ['replaces it', { working: '👀', done: '✅', failed: '❌' }, ['✅', '❌', '']],
    ['appears at the end alone', { done: '✅' }, ['✅', undefined, undefined]],
  ])('%s', async (_, reactions, expected) => {
    const afterWork = async (work: () => Promise<{ kind: 'answer' | 'failed' }>) => {
      const { shown, run } = setup({ readReceipts: 'never', reactions });
      await run(work).catch(() => undefined);
      await settle();
      const emoji = (shown as Array<[unknown, string]>).map(([, shownEmoji]) => shownEmoji);
      return emoji.slice('working' in reactions ? 1 : 0)[0];
    };
    const ends = [
      await afterWork(async () => ({ kind: 'answer' })),
      await afterWork(async () => ({ kind: 'failed' })),
      await afterWork(() => Promise.reject(new Error('interrupted'))),
    ];
    expect(ends).toEqual(expected);
  });
});

describe('presencePolicy', () => {
  it('marks every message of a turn as read, by the ids of their bubbles', async () => {
    const more = { bubbleId: 'W0', merged: [{ messageId: '1', bubbleId: 'W-1' }] };
    const { shown, run } = setup({}, { more });
    await run(async () => ({ kind: 'answer' }));
    expect(shown).toEqual([[{ ...key, waMessageId: 'W-1' }], [{ ...key, waMessageId: 'W0' }]]);
  });

  it('marks the message as read when the turn begins, unless the settings say never', async () => {
    const { shown, run } = setup({});
    await run(async () => ({ kind: 'answer' }));
    expect(shown).toEqual([[key]]);
    const never = setup({ readReceipts: 'never' });
    await never.run(async () => ({ kind: 'answer' }));
    expect(never.shown).toEqual([]);
  });

  it.each([
    ['answer', '✅'],
    ['failed', '❌'],
  ] as const)('shows the reaction of the work, then that of its end (%s)', async (kind, after) => {
    const reactions = { working: '👀', done: '✅', failed: '❌' };
    const { shown, run } = setup({ readReceipts: 'never', reactions });
    expect(await run(async () => ({ kind }))).toEqual({ kind });
    await settle();
    expect(shown).toEqual([
      [key, '👀'],
      [key, after],
    ]);
  });

  it('removes the reaction of work that was interrupted, and passes the error on', async () => {
    const { shown, run } = setup({ readReceipts: 'never', reactions: { working: '👀', failed: '❌' } });
    await expect(run(() => Promise.reject(new Error('stopped')))).rejects.toThrow('stopped');
    await settle();
    expect(shown.at(-1)).toEqual([key, '']);
  });

  it('never fails the turn, and does not wait for WhatsApp', async () => {
    const { run } = setup({ reactions: { working: '👀' } }, { fails: true });
    expect(await run(async () => ({ kind: 'answer' }))).toEqual({ kind: 'answer' });
    await settle();
  });

  it('sends the last reaction alone when the account is connected later, as after a restart', async () => {
    const { run, shown, clock, connection } = setup({
      readReceipts: 'never',
      reactions: { working: '👀', done: '✅' },
    });
    connection.isOpen = false;
    await run(async () => ({ kind: 'answer' }));
    await clock.advanceMs(2_000);
    connection.isOpen = true;
    await clock.advanceMs(10_000);
    expect(shown).toEqual([[key, '✅']]);
    expect(clock.sleeping).toBe(0);
  });

  it('asks the node of the account when this one does not have it', async () => {
    const { shown, run } = setup({ reactions: { done: '✅' } }, { isHere: false });
    await run(async () => ({ kind: 'answer' }));
    await settle();
    expect(shown).toEqual([
      { kind: 'presence', accountId: 'main', key },
      { kind: 'presence', accountId: 'main', key, emoji: '✅' },
    ]);
  });
});
