import { describe, expect, it } from 'vitest';
import { storedState, withEntry } from '../../../../router/src/core/policies/chat-state.ts';

describe('storedState', () => {
  it.each([
    [null, {}],
    [{ notices: { failed: 5 }, newer: 1 }, { notices: { failed: 5 } }],
    [{ notices: 'broken' }, {}],
  ])('reads %j', (stored, state) => {
    expect(storedState(stored)).toEqual(state);
  });
});

describe('withEntry', () => {
  it('adds or moves an entry to the end, and forgets the oldest of too many', () => {
    expect(Object.keys(withEntry({ a: 1, b: 2 }, 'a', 3))).toEqual(['b', 'a']);
    let many: Record<string, number> = {};
    for (let index = 0; index < 510; index++) many = withEntry(many, `p${index}`, index);
    expect(Object.keys(many)).toHaveLength(500);
    expect(many.p9).toBeUndefined();
    expect(many.p509).toBe(509);
  });
});
