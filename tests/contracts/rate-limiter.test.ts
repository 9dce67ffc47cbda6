import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RateLimiter } from '../../router/src/core/ports/access.ts';
import type { KeyLimits } from '../../router/src/core/ports/api-key-store.ts';
import { PostgresRateLimiter } from '../../router/src/infra/db/stores/postgres-rate-limiter.ts';
import { MemoryRateLimiter } from '../doubles/memory-rate-limiter.ts';
import { testDatabase } from '../support/database.ts';

const database = testDatabase();

/** Limiters that count together, as those of two nodes. */
const adapters: Array<[string, () => [RateLimiter, RateLimiter]]> = [
  [
    'memory',
    () => {
      const limiter = new MemoryRateLimiter(() => Date.now());
      return [limiter, limiter];
    },
  ],
  ['PostgreSQL', () => [new PostgresRateLimiter(database.open()), new PostgresRateLimiter(database.open())]],
];

describe.each(adapters)('rate limiter in %s', (_name, open) => {
  let here: RateLimiter;
  let there: RateLimiter;
  let keyId: string;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1) });
    [here, there] = open();
    keyId = randomBytes(6).toString('hex');
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
  /** Counts requests one after another. @returns how many were allowed */
  const allowed = async (count: number, limits: KeyLimits, limiter = here) => {
    let number = 0;
    for (let n = 0; n < count; n++) if ((await limiter.count(keyId, limits)).isAllowed) number += 1;
    return number;
  };

  it('says what remains, and until when', async () => {
    const limits = { perMinute: 3, perSecond: 2 };
    expect(await here.count(keyId, limits)).toEqual({
      isAllowed: true,
      windows: [
        { name: 'second', remaining: 1, resetMs: 1_000 },
        { name: 'minute', remaining: 2, resetMs: 60_000 },
      ],
    });
    pass(400);
    expect(await there.count(keyId, limits)).toMatchObject({
      windows: [
        { remaining: 0, resetMs: 600 },
        { remaining: 1, resetMs: 59_600 },
      ],
    });
  });

  it('refuses the request after the last one of a second, on both nodes, until it has passed', async () => {
    const limits = { perMinute: 100, perSecond: 3 };
    expect(await allowed(3, limits)).toBe(3);
    pass(250);
    for (const limiter of [here, there]) {
      expect(await limiter.count(keyId, limits)).toEqual({
        isAllowed: false,
        windows: [{ name: 'second', remaining: 0, resetMs: 750 }],
      });
    }
    pass(751);
    expect(await allowed(4, limits, there)).toBe(3);
  });

  it('does not count in the minute what is over the limit of a second', async () => {
    const limits = { perMinute: 5, perSecond: 2 };
    expect(await allowed(50, limits)).toBe(2);
    pass(1_001);
    expect(await allowed(50, limits, there)).toBe(2);
    pass(1_001);
    expect(await allowed(50, limits)).toBe(1);
    pass(1_001);
    const result = await here.count(keyId, limits);
    expect(result).toMatchObject({ isAllowed: false, windows: [{}, { name: 'minute', remaining: 0 }] });
    pass(60_000);
    expect(await allowed(1, limits)).toBe(1);
  });

  it('counts keys one by one', async () => {
    const limits = { perMinute: 1, perSecond: 1 };
    expect(await allowed(2, limits)).toBe(1);
    keyId = `${keyId}-other`;
    expect(await allowed(2, limits)).toBe(1);
  });

  it('counts requests of both nodes at the same time exactly', async () => {
    const limits = { perMinute: 40, perSecond: 1_000 };
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? here : there).count(keyId, limits)),
    );
    expect(results.filter(({ isAllowed }) => isAllowed)).toHaveLength(40);
  });
});

describe('rate limiter in PostgreSQL', () => {
  it('needs two statements for a request, and none once a window is full', async () => {
    const postgres = database.open();
    const run = vi.spyOn(postgres, 'run');
    const limiter = new PostgresRateLimiter(postgres);
    const limits = { perMinute: 100, perSecond: 2 };
    const keyId = randomBytes(6).toString('hex');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1) });
    for (let n = 0; n < 20; n++) await limiter.count(keyId, limits);
    vi.useRealTimers();
    expect(run).toHaveBeenCalledTimes(4);
  });

  it('throws when it cannot count', async () => {
    const broken = { run: () => Promise.reject(Object.assign(new Error('gone'), { code: '57P01' })) };
    const counted = new PostgresRateLimiter(broken).count('k', { perMinute: 1, perSecond: 1 });
    await expect(counted).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });
});
