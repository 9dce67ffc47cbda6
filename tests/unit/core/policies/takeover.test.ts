import { describe, expect, it } from 'vitest';
import { hasPauseContext, ownerEffectOf } from '../../../../router/src/core/policies/access.ts';

const takeover = (minutes: number) => ({ takeover: { minutes, contextMessages: 20 } });

describe('ownerEffectOf', () => {
  it.each([
    ['I answer by hand', 30, { kind: 'takeover', forMs: 1_800_000 }],
    ['', 30, { kind: 'takeover', forMs: 1_800_000 }],
    ['I answer by hand', 0, undefined],
    ['#pause', 30, { kind: 'pause' }],
    ['#pause', 0, { kind: 'pause' }],
    [' #PAUSE  45 ', 30, { kind: 'pause', forMs: 2_700_000 }],
    ['#pause 0', 30, { kind: 'pause' }],
    ['#resume', 0, { kind: 'resume' }],
    ['#resume 5', 30, { kind: 'resume' }],
    ['#pause please', 30, { kind: 'takeover', forMs: 1_800_000 }],
    ['#resumes', 0, undefined],
  ] as const)('reads "%s" with %d minutes', (text, minutes, effect) => {
    expect(ownerEffectOf(text, takeover(minutes))).toEqual(effect);
  });
});

describe('hasPauseContext', () => {
  it.each([
    [undefined, false],
    [{}, false],
    [{ contextMs: 1 }, true],
    [{ contextMs: 2, contextTakenMs: 1 }, true],
    [{ contextMs: 2, contextTakenMs: 2 }, false],
  ])('of %j is %s', (state, has) => {
    expect(hasPauseContext(state)).toBe(has);
  });
});
