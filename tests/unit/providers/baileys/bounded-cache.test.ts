import { describe, expect, it } from 'vitest';
import { createBoundedCache } from '../../../../router/src/providers/baileys/bounded-cache.ts';

describe('a bounded cache', () => {
  it('drops the entry that was not used for the longest time when it is full', () => {
    const cache = createBoundedCache({ max: 2, ttlMs: 60_000 });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 3]);
  });

  it('keeps falsy values, and forgets what is deleted or flushed', () => {
    const cache = createBoundedCache({ max: 10, ttlMs: 60_000 });
    for (const key of ['a', 'b', 'c']) cache.set(key, 0);
    expect(cache.get('a')).toBe(0);
    cache.del('a');
    expect(cache.get('a')).toBeUndefined();
    expect(cache.get('b')).toBe(0);
    cache.flushAll();
    expect(cache.get('b')).toBeUndefined();
  });
});
