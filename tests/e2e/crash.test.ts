import { describe, expect, it } from 'vitest';
import { runCrashes } from '../crash/crash-run.ts';
import { summary } from '../crash/summary.ts';
import { createTestDatabase } from '../support/database.ts';

/** Fixed, so that a failure can be run again: `npm run test:crash -- --seed 2026`. */
const SEED = 2026;
/** The form for every test run; `npm run test:crash` kills 25 times over 1,000 messages, with `--long` 200 over 10,000. */
const MESSAGES = 150;
const KILLS = 6;

describe(`wa2ai killed ${KILLS} times while people write ${MESSAGES} messages`, () => {
  it.each([
    ['answers each once, in the order of its chat', false],
    [
      'answers each once with all policies on, lines in a row together, strangers when they are approved',
      true,
    ],
  ])('%s', { timeout: 600_000 }, async (_, hasPolicies) => {
    const database = await createTestDatabase();
    try {
      const report = await runCrashes({
        databaseUrl: database.url,
        messages: MESSAGES,
        kills: KILLS,
        seed: SEED,
        hasPolicies,
      });
      console.log(summary(report));
      expect(report.traces).toBe('');
      expect(report.isPassed).toBe(true);
      expect(report.check.messages).toBeGreaterThanOrEqual(MESSAGES);
      expect(report.kills).toBeGreaterThanOrEqual(KILLS);
    } finally {
      await database.drop();
    }
  });
});
