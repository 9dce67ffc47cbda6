import { DEFAULT_CONNECTION_CONFIG } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { ageDaysOf, ageProblem, BUILT_IN } from '../../../router/src/core/client-version.ts';

const DAY_MS = 86_400_000;

describe('the version that is built in', () => {
  it('is the one of the installed Baileys: with a new Baileys its day of build changes too', () => {
    expect(BUILT_IN.version).toBe(DEFAULT_CONNECTION_CONFIG.version.join('.'));
  });
});

describe('the age of a version', () => {
  const version = { version: '2.3000.1', source: 'look-up' as const, sinceMs: Date.UTC(2026, 0, 1) };

  it('is in whole days, and 0 when the clock is behind', () => {
    expect(ageDaysOf(version, version.sinceMs + 3 * DAY_MS - 1)).toBe(2);
    expect(ageDaysOf(version, version.sinceMs - DAY_MS)).toBe(0);
  });

  it('is a problem from day 90 on', () => {
    expect(ageProblem(version, version.sinceMs + 90 * DAY_MS - 1)).toBeUndefined();
    expect(ageProblem(version, version.sinceMs + 90 * DAY_MS)?.sentence).toMatch(/2\.3000\.1 is 90 days old/);
  });
});
