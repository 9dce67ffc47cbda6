import { describe, expect, it } from 'vitest';
import { type CheckResult, checkText } from '../../../../router/src/infra/agents/agent-tools.ts';

const passed: CheckResult = { check: 'health', result: 'pass', found: 'status 200', ms: 7 };
const warned: CheckResult = { check: 'sessions', result: 'warn', found: 'cannot be read', ms: 1_234 };
const failed: CheckResult = { check: 'answers', result: 'fail', found: 'status 500', ms: 30 };

function textOf(results: CheckResult[]): string[] {
  const isConforming = results.every(({ result }) => result !== 'fail');
  return checkText({ url: 'http://agent', isConforming, results }).split('\n');
}

describe('checkText', () => {
  it('aligns the columns of all checks', () => {
    const [first = '', second = ''] = textOf([passed, warned]);
    expect(first).toBe('PASS  health         7 ms  status 200');
    expect(second).toBe('WARN  sessions    1234 ms  cannot be read');
    expect(first.indexOf('ms')).toBe(second.indexOf('ms'));
  });

  it('ends with the verdict, and a warning is no failure', () => {
    expect(textOf([passed, warned]).at(-1)).toBe('The agent conforms.');
    expect(textOf([passed, failed, warned]).at(-1)).toBe('1 of 3 checks failed.');
  });
});
