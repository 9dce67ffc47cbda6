import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emotionsAt } from '../../../router/src/features/npc/memories.ts';

const HALF_LIFE_MS = 3_600_000;

const T = Date.UTC(2026, 0, 1);

describe('emotionsAt', () => {
  it('adds events with the same trigger, up to 100, and shows the strongest first', () => {
    const events = [
      { trigger: 'gift', intensity: 70, atMs: T },
      { trigger: 'insult', intensity: 20, atMs: T },
      { trigger: 'gift', intensity: 60, atMs: T },
    ];
    expect(emotionsAt(events, T)).toEqual([
      { trigger: 'gift', intensity: 100 },
      { trigger: 'insult', intensity: 20 },
    ]);
  });

  it('halves an emotion with each half-life, also between two events, until nothing is felt', () => {
    const one = [{ trigger: 'gift', intensity: 80, atMs: T }];
    expect(emotionsAt(one, T + HALF_LIFE_MS)).toEqual([{ trigger: 'gift', intensity: 40 }]);
    const two = [...one, { trigger: 'gift', intensity: 10, atMs: T + HALF_LIFE_MS }];
    expect(emotionsAt(two, T + 2 * HALF_LIFE_MS)).toEqual([{ trigger: 'gift', intensity: 25 }]);
    expect(emotionsAt(two, T + 20 * HALF_LIFE_MS)).toEqual([]);
  });

  it('stays between 1 and 100 for any events, in any order, and with any clock', () => {
    const event = fc.record({
      trigger: fc.constantFrom('a', 'b'),
      intensity: fc.double({ min: 0, max: 100, noNaN: true }),
      atMs: fc.integer({ min: 0, max: 100 * HALF_LIFE_MS }),
    });
    fc.assert(
      fc.property(
        fc.array(event),
        fc.integer({ min: -HALF_LIFE_MS, max: 200 * HALF_LIFE_MS }),
        (events, now) => {
          const felt = emotionsAt(events, now);
          expect(felt.every(({ intensity }) => intensity >= 1 && intensity <= 100)).toBe(true);
          expect(emotionsAt([...events].reverse(), now).length).toBe(felt.length);
        },
      ),
    );
  });
});
