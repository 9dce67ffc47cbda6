import { describe, expect, it } from 'vitest';
import type { PastTurn } from '../../../../router/src/core/ports/message-log.ts';
import { loadHistory } from '../../../../router/src/core/turns/take-turn.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';

const turn = { chatId: '7' as never, messageId: '9', sender: '1' };
const past = (text: string, ...replies: string[]): PastTurn => ({
  sender: '1',
  kind: 'text',
  text,
  replies: replies.map((reply) => ({ text: reply })),
});

async function load(turns: PastTurn[], maxChars: number, startMs?: number, chatIds?: string[]) {
  const asked: unknown[] = [];
  const pastTurns = async (...given: unknown[]) => {
    asked.push(given);
    return turns;
  };
  const session =
    startMs === undefined ? undefined : { userId: '1', id: '1_1_2', number: 2, startMs, chatIds };
  const message = { session } as PendingTurn['message'];
  return { found: await loadHistory({ pastTurns }, { ...turn, message }, { turns: 5, maxChars }), asked };
}

describe('loadHistory', () => {
  it('returns the turns before the message, oldest first', async () => {
    const { found, asked } = await load([past('newer', 'b'), past('older', 'a')], 100);
    expect(found.map(({ text }) => text)).toEqual(['older', 'newer']);
    expect(asked).toEqual([['7', '9', 5, undefined, undefined]]);
  });

  it('reads no turn of an earlier session', async () => {
    expect((await load([], 100, 77)).asked).toEqual([['7', '9', 5, 77, undefined]]);
  });

  it('reads the turns of a person in all chats where they have one session', async () => {
    const person = { sender: '1', chatIds: ['7', '8'] };
    expect((await load([], 100, 77, ['7', '8'])).asked).toEqual([['7', '9', 5, 77, person]]);
  });

  it('returns as many of the newest turns as fit, replies included', async () => {
    const turns = [past('aaaa', 'bb', 'cc'), past('d', 'e'), past('f', 'g')];
    const texts = async (maxChars: number) => (await load(turns, maxChars)).found.map(({ text }) => text);
    expect(await texts(12)).toEqual(['f', 'd', 'aaaa']);
    expect(await texts(11)).toEqual(['d', 'aaaa']);
    expect(await texts(9)).toEqual(['aaaa']);
    expect(await texts(7)).toEqual([]);
  });
});
