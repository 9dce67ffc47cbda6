import { describe, expect, it } from 'vitest';
import { actionNames, actionOf } from '../../../router/src/features/npc/npc-tasks.ts';
import { STANDARD_CAPABILITIES } from '../../../router/src/infra/agents/npc/input/capabilities.ts';

const names = (type: string, params: Record<string, unknown> = {}) =>
  actionOf(type, params)?.params.map(({ name }) => name);

describe('actionOf', () => {
  it.each(STANDARD_CAPABILITIES)(
    'without an action is the task of the specification: $type',
    ({ type, params }) => {
      expect(names(type)).toEqual(expect.arrayContaining(params.map(({ name }) => name)));
    },
  );

  it('finds further actions, and no unknown one', () => {
    expect(names('trade', { action: 'accept' })).toEqual(['offerId', 'peer']);
    expect(names('memory', { action: 'recall' })).toEqual(['query', 'limit', 'peer']);
    expect(names('trade', { action: 'steal' })).toBeUndefined();
    expect(actionNames('trade')).toEqual(['accept', 'decline', 'list']);
  });

  it('leaves the action of social and of custom tasks to the caller', () => {
    expect(names('social', { action: 'greet' })).toContain('message');
    expect(names('custom:crafting', { action: 'make' })).toEqual(['peer']);
  });
});
