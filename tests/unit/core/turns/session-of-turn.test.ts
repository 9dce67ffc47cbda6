import { expect, it } from 'vitest';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import { sessionOfTurn } from '../../../../router/src/core/turns/answer-of-turn.ts';
import { RunningTurn } from '../../../../router/src/core/turns/running-turn.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { MemoryChatStore } from '../../../doubles/memory-chat-store.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';

const MINUTE = 60_000;

function setup(session: object) {
  let nowMs = Date.UTC(2026, 0, 1);
  const state = new MemoryState(() => nowMs);
  const chatStore = new MemoryChatStore(state);
  let messages = 0;
  /** The talk of a turn in a chat: the person's own, or a group. */
  const talkIn = (chatId: '1' | '2') => {
    messages += 1;
    const from = '5491@s.whatsapp.net';
    const message = { from, channelId: chatId === '1' ? '5491' : '1203@g.us', isGroup: chatId === '2' };
    const turn = { messageId: String(messages), chatId, accountId: 'a', message, sender: '77' };
    return new RunningTurn(
      {
        turn: turn as unknown as PendingTurn,
        route: { id: 'r', channelId: '*' },
        conversation: chatSettingsOf(undefined, { session }),
        language: 'en',
        nowMs,
      },
      [],
    );
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { chatStore, state, talkIn, pass };
}

it('has a session for each chat, and stores a new one with the end of the turn', async () => {
  const { chatStore, talkIn } = setup({});
  const talk = talkIn('2');
  expect(await sessionOfTurn({ chatStore }, talk)).toMatchObject({ id: '5491_1203', number: 1 });
  expect(talk.state).toEqual({});
  expect(await sessionOfTurn({ chatStore }, talk, true)).toMatchObject({ id: '5491_1203_2' });
  expect(talk.state).toMatchObject({ sessions: { '77': { number: 2 } } });
});

it('has one session of a person in all chats; a new one begins in all, once for a message that is repeated', async () => {
  const { chatStore, talkIn } = setup({ scope: 'person' });
  expect(await sessionOfTurn({ chatStore }, talkIn('1'))).toEqual({
    userId: '5491',
    id: '5491_5491',
    number: 1,
    startMs: 0,
    chatIds: ['1'],
  });
  const asks = talkIn('2');
  for (let run = 0; run < 2; run++) {
    const session = await sessionOfTurn({ chatStore }, asks, true);
    expect(session).toMatchObject({ id: '5491_5491_2', number: 2, chatIds: ['1', '2'] });
  }
  expect(asks.state).toEqual({});
  expect(await sessionOfTurn({ chatStore }, talkIn('1'))).toMatchObject({ id: '5491_5491_2' });
});

it('begins another session when the person wrote in no chat for the idle time', async () => {
  const { chatStore, talkIn, pass } = setup({ scope: 'person', idleMinutes: 30 });
  const numberIn = async (chatId: '1' | '2') => (await sessionOfTurn({ chatStore }, talkIn(chatId))).number;
  expect(await numberIn('1')).toBe(1);
  pass(20 * MINUTE);
  expect(await numberIn('2')).toBe(1);
  pass(20 * MINUTE);
  expect(await numberIn('1')).toBe(1);
  pass(31 * MINUTE);
  expect(await numberIn('2')).toBe(2);
  expect(await numberIn('1')).toBe(2);
});

it('has an own session in a locked chat, of which other chats know nothing', async () => {
  const { chatStore, state, talkIn } = setup({ scope: 'person' });
  await chatStore.lock('a', { kind: 'person', phone: '5491', lid: '77' }, true);
  expect([...state.chats.keys()]).toEqual([1]);
  const locked = talkIn('1');
  expect(await sessionOfTurn({ chatStore }, locked, true)).toEqual({
    userId: '5491',
    id: '5491_5491_2',
    number: 2,
    startMs: expect.any(Number),
  });
  expect(locked.state).toMatchObject({ sessions: { chat: { number: 2 } } });
  expect(await sessionOfTurn({ chatStore }, talkIn('2'))).toMatchObject({ number: 1, chatIds: ['2'] });
});
