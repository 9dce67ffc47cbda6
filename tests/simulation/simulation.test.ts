import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.ts';

/** More of them, and others: npm run test:simulation. */
const RUNS = 40;

describe('several nodes under faults', () => {
  it(`keep every promise in ${RUNS} simulations`, async () => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const { violations, messages, trace } = await simulate({ seed });
      expect(violations.length === 0 ? '' : trace()).toBe('');
      expect(messages).toBeGreaterThan(0);
    }
  });
});
