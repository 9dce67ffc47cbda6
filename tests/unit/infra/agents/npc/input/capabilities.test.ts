import { describe, expect, it } from 'vitest';
import {
  capabilityOf,
  checkedParams,
  commandOf,
  STANDARD_CAPABILITIES,
} from '../../../../../../router/src/infra/agents/npc/input/capabilities.ts';

describe('the capabilities', () => {
  it('are the six of the specification, with its parameters', () => {
    expect(STANDARD_CAPABILITIES.map(({ type, params }) => [type, params.map(({ name }) => name)])).toEqual([
      ['duel', ['opponent', 'wager', 'tokenAddress']],
      ['quest', ['questId', 'difficulty', 'reward', 'timeLimit']],
      ['trade', ['item', 'quantity', 'price', 'currency']],
      ['social', ['action', 'message', 'emotion']],
      ['emotion', ['trigger', 'intensity', 'context']],
      ['memory', ['memoryType', 'content', 'importance']],
    ]);
  });

  it.each(STANDARD_CAPABILITIES)('$type accepts its own examples', (capability) => {
    const given = capability.params.map(({ name, type, example }) => [
      name,
      type === 'object' && example.startsWith('{') ? JSON.parse(example) : example,
    ]);
    expect(Object.keys(checkedParams(capability, Object.fromEntries(given)))).toEqual(
      capability.params.map(({ name }) => name),
    );
  });

  it('include custom ones, without parameters', () => {
    expect(capabilityOf('custom:crafting')).toMatchObject({ type: 'custom:crafting', params: [] });
    expect(commandOf('custom:crafting')).toBe('crafting');
  });
});
