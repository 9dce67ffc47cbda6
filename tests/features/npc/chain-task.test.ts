import { describe, expect, it } from 'vitest';
import { chainCallOf, isChainTask } from '../../../router/src/features/npc/perform-chain-task.ts';

const TOKEN = `0x${'AB'.repeat(20)}`;
const settings = { tokens: [TOKEN, `0x${'1'.repeat(40)}`], limits: { wager: '100', reward: '50' } };
const duel = { opponent: `0x${'Cd'.repeat(20)}`, wager: '100' };
const quest = { questId: 'a "b" ñ', difficulty: 'hard', reward: '50', timeLimit: 60 };
const refusal = (type: string, params: Record<string, unknown>, given = settings) => {
  try {
    chainCallOf({ type, params }, given);
  } catch (error) {
    return (error as { body: { code: number; data: { field: string } } }).body;
  }
  return undefined;
};

describe('chainCallOf', () => {
  it('pays a duel with the first token unless the task names another one', () => {
    expect(chainCallOf({ type: 'duel', params: duel }, settings)).toEqual({
      kind: 'duel',
      opponent: `0x${'cd'.repeat(20)}`,
      wager: 100n,
      token: TOKEN.toLowerCase(),
    });
    const tokenAddress = `0x${'1'.repeat(40)}`;
    const other = { type: 'duel', params: { ...duel, tokenAddress } };
    expect(chainCallOf(other, settings)).toMatchObject({ token: tokenAddress });
  });

  it('describes a quest in its metadata', () => {
    const call = chainCallOf({ type: 'quest', params: quest }, settings);
    expect(call).toMatchObject({ kind: 'quest', reward: 50n, token: TOKEN.toLowerCase() });
    const [head, data = ''] = String('metadataUri' in call ? call.metadataUri : '').split(',', 2);
    expect(head).toBe('data:application/json');
    expect(JSON.parse(decodeURIComponent(data))).toEqual({
      questId: quest.questId,
      difficulty: 'hard',
      timeLimit: 60,
    });
  });

  it.each([
    ['duel', { ...duel, wager: '101' }, 'wager'],
    ['duel', { ...duel, wager: String(2n ** 256n - 1n) }, 'wager'],
    ['duel', { ...duel, tokenAddress: `0x${'2'.repeat(40)}` }, 'tokenAddress'],
    ['duel', { ...duel, opponent: `0x${'0'.repeat(40)}` }, 'opponent'],
    ['quest', { ...quest, reward: '51' }, 'reward'],
  ])('refuses a %s with %o', (type, params, field) => {
    expect(refusal(type, params)).toMatchObject({ code: -32602, data: { field } });
  });

  it('refuses every amount without a limit', () => {
    expect(refusal('duel', { ...duel, wager: '1' }, { ...settings, limits: {} } as never)).toMatchObject({
      data: { field: 'wager' },
    });
  });
});

describe('isChainTask', () => {
  it('is a duel or a quest without an action', () => {
    expect(isChainTask({ type: 'duel', params: duel })).toBe(true);
    expect(isChainTask({ type: 'quest', params: { action: 'list' } })).toBe(false);
    expect(isChainTask({ type: 'trade', params: {} })).toBe(false);
  });
});
