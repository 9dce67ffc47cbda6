import { describe, expect, it } from 'vitest';
import {
  capabilityOf,
  checkedParams,
  NpcInputError,
} from '../../../../../../router/src/infra/agents/npc/input/capabilities.ts';

const opponent = '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d';
const check = (type: string, given: Record<string, unknown>) => checkedParams(capabilityOf(type), given);

describe('checkedParams', () => {
  it('leaves an empty optional parameter out', () => {
    expect(check('duel', { opponent, wager: '1', tokenAddress: '' })).toEqual({ opponent, wager: '1' });
  });

  it.each([
    ['duel', { wager: '1' }, 'opponent is missing: an Ethereum address: 0x and 40 hex digits.'],
    ['duel', { opponent: '0x12', wager: '1' }, 'opponent must be an Ethereum address: 0x and 40 hex digits.'],
    ['duel', { opponent, wager: '1.5' }, 'wager must be an amount in wei, a whole number such as 1000.'],
    ['duel', { opponent, wager: '-1' }, 'wager must be an amount in wei, a whole number such as 1000.'],
    [
      'duel',
      { opponent, wager: (2n ** 256n).toString() },
      'wager must be an amount in wei, a whole number such as 1000.',
    ],
    ['duel', { opponent, wager: 1e21 }, 'wager must be an amount in wei, a whole number such as 1000.'],
    [
      'quest',
      { questId: 'q', difficulty: 'brutal', reward: '1', timeLimit: 1 },
      'difficulty must be one of easy, medium, hard, legendary.',
    ],
    [
      'quest',
      { questId: 'q', difficulty: 'easy', reward: '1', timeLimit: 0 },
      'timeLimit must be a whole number of at least 1.',
    ],
    ['emotion', { trigger: 'x', intensity: 101 }, 'intensity must be a number from 0 to 100.'],
    [
      'memory',
      { memoryType: 'event', content: [1] },
      'content must be a text, or an object such as {"place":"gate"}.',
    ],
  ])('says what is wrong with %s %j', (type, given, sentence) => {
    const attempt = () => check(type, given as Record<string, unknown>);
    expect(attempt).toThrow(NpcInputError);
    expect(attempt).toThrow(sentence);
  });
});
