import { describe, expect, it } from 'vitest';
import { FailedKeys } from '../../../../router/src/core/access/failed-attempts.ts';

function setup() {
  let nowMs = 0;
  const failures = new FailedKeys(() => nowMs);
  const fail = (address: string, times: number) => {
    for (let n = 0; n < times; n++) failures.count(address);
  };
  return { failures, fail, pass: (ms: number) => (nowMs += ms) };
}

describe('FailedKeys', () => {
  it('delays after the third failure, twice as long after each, up to four seconds', () => {
    const { failures } = setup();
    const delays = Array.from({ length: 10 }, () => {
      const before = failures.delayMs('10.0.0.1');
      failures.count('10.0.0.1');
      return before;
    });
    expect(delays).toEqual([0, 0, 0, 250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
  });

  it('does not overflow after thousands of failures', () => {
    const { failures, fail } = setup();
    fail('10.0.0.1', 5_000);
    expect(failures.delayMs('10.0.0.1')).toBe(4_000);
  });

  it('counts each address alone, and says the number', () => {
    const { failures, fail } = setup();
    fail('10.0.0.1', 9);
    expect(failures.delayMs('10.0.0.2')).toBe(0);
    expect(failures.count('10.0.0.2')).toBe(1);
    expect(failures.count('10.0.0.2')).toBe(2);
  });

  it('forgets an address ten minutes after its last failure', () => {
    const { failures, fail, pass } = setup();
    fail('10.0.0.1', 9);
    pass(599_999);
    expect(failures.delayMs('10.0.0.1')).toBe(4_000);
    pass(1);
    expect(failures.delayMs('10.0.0.1')).toBe(0);
    expect(failures.count('10.0.0.1')).toBe(1);
  });

  it.each([
    ['2001:db8:1:2::5', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8::1', '2001:db8:0:0:1:2:3:4'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
  ])('counts %s and %s as one address', (one, other) => {
    const { failures, fail } = setup();
    fail(one, 4);
    expect(failures.delayMs(other)).toBe(500);
  });

  it.each([
    ['2001:db8:1:2::5', '2001:db8:1:3::5'],
    ['::1', '1::1'],
    ['::ffff:10.0.0.1', '::ffff:10.0.0.2'],
  ])('tells %s from %s', (one, other) => {
    const { failures, fail } = setup();
    fail(one, 9);
    expect(failures.delayMs(other)).toBe(0);
  });

  it('remembers the ten thousand addresses that failed last', () => {
    const { failures, fail } = setup();
    fail('first', 9);
    for (let n = 0; n < 9_999; n++) failures.count(`10.0.${n}`);
    expect(failures.delayMs('first')).toBe(4_000);
    failures.count('one more');
    expect(failures.delayMs('first')).toBe(0);
  });
});
