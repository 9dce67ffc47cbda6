import { describe, expect, it } from 'vitest';
import type { PastTurn } from '../../../../router/src/core/ports/chat-history.ts';
import { loadHistory } from '../../../../router/src/core/turns/load-history.ts';

const turn = { chatId: '7' as never, messageId: '9' };
const past = (text: string, ...replies: string[]): PastTurn => ({
  sender: '1',
  kind: 'text',
  text,
  replies: replies.map((reply) => ({ text: reply })),
});

async function load(turns: PastTurn[], maxChars: number) {
  const asked: unknown[] = [];
  const pastTurns = async (...given: [string, string, number]) => {
    asked.push(given);
    return turns;
  };
  return { found: await loadHistory({ pastTurns }, turn, { turns: 5, maxChars }), asked };
}

describe('loadHistory', () => {
  it('returns the turns before the message, oldest first', async () => {
    const { found, asked } = await load([past('newer', 'b'), past('older', 'a')], 100);
    expect(found.map(({ text }) => text)).toEqual(['older', 'newer']);
    expect(asked).toEqual([['7', '9', 5]]);
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
