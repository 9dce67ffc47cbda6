import { describe, expect, it } from 'vitest';
import { AgentTimeoutError } from '../../../../router/src/core/errors.ts';
import { type CheckResult, CheckRun, checkText } from '../../../../router/src/infra/agents/agent-tools.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const passed: CheckResult = { check: 'health', result: 'pass', found: 'status 200', ms: 7 };
const warned: CheckResult = { check: 'sessions', result: 'warn', found: 'cannot be read', ms: 1_234 };
const failed: CheckResult = { check: 'answers', result: 'fail', found: 'status 500', ms: 30 };

function textOf(results: CheckResult[]): string[] {
  const isConforming = results.every(({ result }) => result !== 'fail');
  return checkText({ url: 'http://agent', isConforming, results }).split('\n');
}

describe('checkText', () => {
  it('ends with the verdict, and a warning is no failure', () => {
    expect(textOf([passed, warned]).at(-1)).toBe('The agent conforms.');
    expect(textOf([passed, failed, warned]).at(-1)).toBe('1 of 3 checks failed.');
  });
});

describe('CheckRun', () => {
  it('collects the results with their times, and an error of wa2ai as a failure', async () => {
    const clock = new FakeClock();
    const checks = new CheckRun('http://agent', clock);
    expect(await checks.run('one', async () => ['warn', 'odd'])).toBe('warn');
    const second = checks.run('two', async () => {
      await clock.advanceMs(40);
      throw new AgentTimeoutError({ sentence: 'too late' });
    });
    expect(await second).toBe('fail');
    expect(checks.report()).toEqual({
      url: 'http://agent',
      isConforming: false,
      results: [
        { check: 'one', result: 'warn', found: 'odd', ms: 0 },
        { check: 'two', result: 'fail', found: 'too late', ms: 40 },
      ],
    });
  });

  it('rejects with a defect', async () => {
    const checks = new CheckRun('http://agent', new FakeClock());
    await expect(checks.run('one', () => Promise.reject(new TypeError('defect')))).rejects.toThrow(TypeError);
  });

  it.each([
    [39, 'warn'],
    [40, 'pass'],
  ])('judges the slowest of 40 ms by the limit %i as %s', async (limitMs, result) => {
    const clock = new FakeClock();
    const checks = new CheckRun('http://agent', clock);
    await checks.run('one', async () => {
      await clock.advanceMs(40);
      return ['pass', ''];
    });
    checks.runTimes(limitMs);
    expect(checks.report().results[1]).toMatchObject({ result, found: 'the slowest took 40 ms' });
    expect(checks.report().isConforming).toBe(true);
  });
});
