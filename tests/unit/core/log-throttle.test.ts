import { describe, expect, it } from 'vitest';
import { LogThrottle } from '../../../router/src/core/logger.ts';

describe('LogThrottle', () => {
  it('logs occurrences 1, 2, 4, 8 of an event, and counts from 1 again after a minute without it', () => {
    let nowMs = 0;
    const throttle = new LogThrottle(() => nowMs);
    const logged = Array.from({ length: 9 }, () => throttle.count('database not reachable'));
    expect(logged).toEqual([1, 2, undefined, 4, undefined, undefined, undefined, 8, undefined]);
    nowMs = 59_999;
    expect(throttle.count('database not reachable')).toBeUndefined();
    nowMs += 60_000;
    expect(throttle.count('database not reachable')).toBe(1);
  });

  it('counts events separately', () => {
    const throttle = new LogThrottle();
    for (let occurrence = 1; occurrence <= 3; occurrence++) throttle.count('first');
    expect(throttle.count('second')).toBe(1);
  });

  it('forgets the event that occurred longest ago when there are more than 500', () => {
    const throttle = new LogThrottle();
    throttle.count('old');
    throttle.count('used again');
    for (let index = 0; index < 498; index++) throttle.count(`event ${index}`);
    expect(throttle.count('used again')).toBe(2);
    throttle.count('one more');
    expect(throttle.count('used again')).toBeUndefined();
    expect(throttle.count('old')).toBe(1);
  });
});
