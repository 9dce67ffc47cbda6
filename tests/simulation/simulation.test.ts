import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.ts';

/** More of them, and others: npm run test:simulation. */
const RUNS = 80;

describe('several nodes under faults', () => {
  it(`keep every promise in ${RUNS} simulations`, async () => {
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const { complaints, messages, story } = await simulate({ seed });
      expect(complaints.length === 0 ? '' : story()).toBe('');
      expect(messages).toBeGreaterThan(0);
    }
  });
});
