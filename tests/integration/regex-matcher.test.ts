import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAX_MATCHED_CHARS, RegexMatcher } from '../../router/src/infra/matching/regex-matcher.ts';

/** Patterns that backtrack without end, each with 64 KB that make it do so. */
const HOSTILE: Array<[string, string]> = [
  ['^(a+)+$', `${'a'.repeat(65_535)}!`],
  ['^(a|aa)+$', `${'a'.repeat(65_535)}!`],
  ['(x+x+)+y', 'x'.repeat(65_536)],
  ['^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}$', 'a'.repeat(65_536)],
  ['^(\\w+\\s?)*$', `${'word '.repeat(13_000)}!`],
  ['(.*)*,$', 'a'.repeat(65_536)],
];
/** Budgets that let a test of hostile patterns end soon. */
const IMPATIENT = { budgetMs: 10, patientBudgetMs: 40 };
const evil = HOSTILE[0] as [string, string];

const opened: RegexMatcher[] = [];
function aMatcher(options?: ConstructorParameters<typeof RegexMatcher>[0]): RegexMatcher {
  const matcher = new RegexMatcher(options);
  opened.push(matcher);
  return matcher;
}
afterEach(async () => {
  await Promise.all(opened.splice(0).map((matcher) => matcher.close()));
});

describe('RegexMatcher', () => {
  it('matches as new RegExp does, without flags', async () => {
    const matcher = aMatcher();
    expect(await matcher.test('^hola', 'hola mundo')).toBe('match');
    expect(await matcher.test('^hola', 'Hola mundo')).toBe('no-match');
    expect(await matcher.test('(?<day>\\d+)\\s+\\k<day>', 'on 12 12')).toBe('match');
    expect(await matcher.test('mundo$', 'hola mundo')).toBe('match');
    expect(await matcher.test('', '')).toBe('match');
  });

  it('gives the same answer each time a pattern is asked', async () => {
    const matcher = aMatcher();
    const answers = await Promise.all(Array.from({ length: 50 }, () => matcher.test('a', 'banana')));
    expect(new Set(answers)).toEqual(new Set(['match']));
  });

  it('answers invalid for what is no pattern, and goes on', async () => {
    const matcher = aMatcher();
    expect(await matcher.test('(', 'x')).toBe('invalid');
    expect(await matcher.test('[z-a]', 'x')).toBe('invalid');
    expect(await matcher.test('x', 'x')).toBe('match');
  });

  it.each(HOSTILE)('gives %s up, and keeps the event loop free meanwhile', async (pattern, text) => {
    const matcher = aMatcher(IMPATIENT);
    const hostile = matcher.test(pattern, text);
    let isDone = false;
    void hostile.then(() => {
      isDone = true;
    });
    // The loop turns while the pattern runs: with the match on this thread, no turn would come before its end.
    let turns = 0;
    while (!isDone && turns < 1_000_000) {
      turns += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await hostile).toBe('timeout');
    expect(turns).toBeGreaterThan(10);
  });

  it('answers other chats while hostile patterns are running', async () => {
    const matcher = aMatcher(IMPATIENT);
    expect(await matcher.test('^hola', 'hola')).toBe('match');
    const ended: string[] = [];
    const hostile = HOSTILE.map(([pattern, text]) =>
      matcher.test(pattern, text).then((result) => ended.push(result)),
    );
    for (let chat = 0; chat < 200; chat++) {
      expect(await matcher.test('^hola', `hola ${chat}`)).toBe('match');
    }
    // 200 tests, one after the other, were through before the hostile ones that stood in line before them.
    expect(ended.length).toBeLessThan(HOSTILE.length);
    await Promise.all(hostile);
    expect(ended).toEqual(HOSTILE.map(() => 'timeout'));
  });

  it('stops trying a pattern that only ever ran out of time, for texts of that length', async () => {
    const matcher = aMatcher({ ...IMPATIENT, quarantineMs: 60_000 });
    const [pattern, text] = evil;
    for (let close = 0; close < 3; close++) expect(await matcher.test(pattern, text)).toBe('timeout');

    const probe = matcher.test('^hola', 'hola');
    const first = await Promise.race([
      matcher.test(pattern, text).then((result) => `hostile ${result}`),
      probe.then(() => 'probe'),
    ]);
    expect(first).toBe('hostile timeout');
    expect(await probe).toBe('match');
  });

  it('goes on matching shorter texts with a pattern that a hostile text made slow', async () => {
    const matcher = aMatcher({ ...IMPATIENT, quarantineMs: 60_000 });
    const [pattern, text] = evil;
    for (let close = 0; close < 4; close++) expect(await matcher.test(pattern, text)).toBe('timeout');
    expect(await matcher.test(pattern, 'aaaa')).toBe('match');
    expect(await matcher.test(pattern, 'hello there')).toBe('no-match');
  });

  it('tries a pattern again after its quarantine', async () => {
    const matcher = aMatcher({ ...IMPATIENT, quarantineMs: 0 });
    const [pattern, text] = evil;
    for (let close = 0; close < 3; close++) expect(await matcher.test(pattern, text)).toBe('timeout');
    expect(await matcher.test(pattern, 'a'.repeat(65_536))).toBe('match');
  });

  it('does not look past 65,536 characters', async () => {
    const matcher = aMatcher();
    const text = `${'.'.repeat(MAX_MATCHED_CHARS - 1)}ab`;
    expect(await matcher.test('a', text)).toBe('match');
    expect(await matcher.test('b', text)).toBe('no-match');
  });

  it('survives a text that exhausts the backtracking of the engine', async () => {
    const matcher = aMatcher();
    expect(['no-match', 'timeout']).toContain(await matcher.test('(?:.|\\s)*?$(?!)', 'a\n'.repeat(32_768)));
    expect(await matcher.test('x', 'x')).toBe('match');
  });

  it('does not hold the process while it is idle', async () => {
    const holders = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    const before = holders();
    const matcher = aMatcher();
    const running = matcher.test('x', 'x');
    expect(holders()).toBeGreaterThan(before);
    await running;
    await vi.waitFor(() => expect(holders()).toBe(before), { timeout: 4_000 });
  });

  it('rejects what is asked after it closed, and ends what is under way', async () => {
    const matcher = aMatcher();
    await matcher.test('x', 'x');
    const running = matcher.test(...evil);
    const queued = matcher.test('^(b+)+$', `${'b'.repeat(1_000)}!`);
    const failures = Promise.allSettled([running, queued]);
    await matcher.close();
    for (const outcome of await failures) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'MATCHER_CLOSED' } });
    }
    await expect(matcher.test('x', 'x')).rejects.toMatchObject({ disposition: 'retry' });
  });
});
