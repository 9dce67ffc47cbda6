import { Piscina } from 'piscina';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAX_MATCHED_CHARS, RegexMatcher } from '../../router/src/infra/matching/regex-matcher.ts';

/** Patterns with catastrophic backtracking, each with a text of 64 KB that triggers it. */
const HOSTILE: Array<[string, string]> = [
  ['^(a+)+$', `${'a'.repeat(65_535)}!`],
  ['^(a|aa)+$', `${'a'.repeat(65_535)}!`],
  ['(x+x+)+y', 'x'.repeat(65_536)],
  ['^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}$', 'a'.repeat(65_536)],
  ['^(\\w+\\s?)*$', `${'word '.repeat(13_000)}!`],
  ['(.*)*,$', 'a'.repeat(65_536)],
];
/** Short time limits for tests of hostile patterns. */
const IMPATIENT = { budgetMs: 10, secondBudgetMs: 40 };
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

  it('matches a letter with its accent, however a phone writes it', async () => {
    const matcher = aMatcher();
    expect(await matcher.test('caf\u00e9', 'un cafe\u0301')).toBe('match');
    expect(await matcher.test('cafe\u0301', 'un caf\u00e9')).toBe('match');
  });

  it('gives the same result each time', async () => {
    const matcher = aMatcher();
    const answers = await Promise.all(Array.from({ length: 50 }, () => matcher.test('a', 'banana')));
    expect(new Set(answers)).toEqual(new Set(['match']));
  });

  it('reports an invalid pattern and keeps working', async () => {
    const matcher = aMatcher();
    expect(await matcher.test('(', 'x')).toBe('invalid');
    expect(await matcher.test('[z-a]', 'x')).toBe('invalid');
    expect(await matcher.test('x', 'x')).toBe('match');
  });

  it.each(HOSTILE)('times out on %s without blocking the event loop', async (pattern, text) => {
    const matcher = aMatcher(IMPATIENT);
    const hostile = matcher.test(pattern, text);
    let isDone = false;
    void hostile.then(() => {
      isDone = true;
    });
    // The event loop runs while the pattern runs. A match on this thread would block it.
    let turns = 0;
    while (!isDone && turns < 1_000_000) {
      turns += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await hostile).toBe('timeout');
    expect(turns).toBeGreaterThan(10);
  });

  it('answers other chats while hostile patterns run', async () => {
    const matcher = aMatcher(IMPATIENT);
    expect(await matcher.test('^hola', 'hola')).toBe('match');
    const ended: string[] = [];
    const hostile = HOSTILE.map(([pattern, text]) =>
      matcher.test(pattern, text).then((result) => ended.push(result)),
    );
    for (let chat = 0; chat < 20; chat++) {
      expect(await matcher.test('^hola', `hola ${chat}`)).toBe('match');
    }
    // 20 tests in sequence ended before the hostile ones that were queued before them
    expect(ended.length).toBeLessThan(HOSTILE.length);
    await Promise.all(hostile);
    expect(ended).toEqual(HOSTILE.map(() => 'timeout'));
  });

  it('runs each of 10 hostile patterns three times when 20 people send hostile texts at once', async () => {
    const runs = vi.spyOn(Piscina.prototype, 'run');
    const matcher = aMatcher(IMPATIENT);
    const [pattern, text] = evil;
    const patterns = Array.from({ length: 10 }, (_, index) => `${pattern}|never${index}`);
    const flood = patterns.flatMap((hostile) =>
      Array.from({ length: 20 }, () => matcher.test(hostile, text)),
    );
    const newcomer = matcher.test('^new', 'newcomer');
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['timeout']));
    expect(await newcomer).toBe('match');
    // two runs per test; the other 17 tests of a pattern end without a run
    const hostileRuns = runs.mock.calls.filter(([task]) => patterns.includes(task.pattern));
    expect(hostileRuns).toHaveLength(10 * 3 * 2);
    runs.mockRestore();
  });

  it('does not run a pattern that timed out three times on texts of that length', async () => {
    const matcher = aMatcher({ ...IMPATIENT, quarantineMs: 60_000 });
    const [pattern, text] = evil;
    for (let attempt = 0; attempt < 3; attempt++) expect(await matcher.test(pattern, text)).toBe('timeout');

    const probe = matcher.test('^hola', 'hola');
    const first = await Promise.race([
      matcher.test(pattern, text).then((result) => `hostile ${result}`),
      probe.then(() => 'probe'),
    ]);
    expect(first).toBe('hostile timeout');
    expect(await probe).toBe('match');
  });

  it('still matches shorter texts with a pattern that a hostile text put in quarantine', async () => {
    const matcher = aMatcher({ ...IMPATIENT, quarantineMs: 60_000 });
    const [pattern, text] = evil;
    for (let attempt = 0; attempt < 4; attempt++) expect(await matcher.test(pattern, text)).toBe('timeout');
    expect(await matcher.test(pattern, 'aaaa')).toBe('match');
    expect(await matcher.test(pattern, 'hello there')).toBe('no-match');
  });

  it('runs a pattern again after its quarantine', async () => {
    const matcher = aMatcher({ ...IMPATIENT, quarantineMs: 0 });
    const [pattern, text] = evil;
    for (let attempt = 0; attempt < 3; attempt++) expect(await matcher.test(pattern, text)).toBe('timeout');
    expect(await matcher.test(pattern, 'a'.repeat(65_536))).toBe('match');
  });

  it('ignores text beyond 65,536 characters', async () => {
    const matcher = aMatcher();
    const text = `${'.'.repeat(MAX_MATCHED_CHARS - 1)}ab`;
    expect(await matcher.test('a', text)).toBe('match');
    expect(await matcher.test('b', text)).toBe('no-match');
  });

  it('survives a text that exhausts the backtracking limit of the engine', async () => {
    const matcher = aMatcher();
    expect(['no-match', 'timeout']).toContain(await matcher.test('(?:.|\\s)*?$(?!)', 'a\n'.repeat(32_768)));
    expect(await matcher.test('x', 'x')).toBe('match');
  });

  it('does not keep the process alive while it is idle', async () => {
    const openPorts = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    const before = openPorts();
    const matcher = aMatcher();
    const running = matcher.test(...evil);
    await expect.poll(openPorts, { interval: 1 }).toBeGreaterThan(before);
    await running;
    await expect.poll(openPorts).toBe(before);
  });

  it('rejects running, waiting and later tests when it is closed', async () => {
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
