import { describe, expect, it } from 'vitest';
import { runCrashes } from '../crash/crash-run.ts';
import { summary } from '../crash/summary.ts';
import { createTestDatabase } from '../support/database.ts';

/** Fixed, so that a failure can be run again: `npm run test:crash -- --seed 2026`. */
const SEED = 2026;

describe('wa2ai killed 25 times while people write 1,000 messages', () => {
  it('answers each once, in the order of its chat', { timeout: 600_000 }, async () => {
    const database = await createTestDatabase();
    try {
      const report = await runCrashes({ databaseUrl: database.url, messages: 1_000, kills: 25, seed: SEED });
      console.log(summary(report));
      expect(report.journeys).toBe('');
      expect(report.verdict).toMatchObject({ isGood: true, messages: 1_017 });
      expect(report.kills).toBeGreaterThanOrEqual(25);
    } finally {
      await database.drop();
    }
  });
});
