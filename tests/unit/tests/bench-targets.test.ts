import { describe, expect, it } from 'vitest';
import { allocatedKb } from '../../bench/counted.ts';
import { chart } from '../../bench/report.ts';
import { judge, limitText, TARGETS } from '../../bench/targets.ts';

describe('judge', () => {
  it.each([
    { wa2ai: 14, reference: 10, isMet: true },
    { wa2ai: 15, reference: 10, isMet: false },
    { wa2ai: 1.4, reference: 1, isMet: true },
  ])('compares $wa2ai with the reference $reference as a ratio', ({ wa2ai, reference, isMet }) => {
    const [verdict] = judge({ p50: { wa2ai, reference } });
    expect(verdict).toMatchObject({ name: 'p50', isMet, ratio: wa2ai / reference });
  });

  it('wants at least the reference where more is better', () => {
    const verdicts = [99, 100].map((wa2ai) => judge({ saturated: { wa2ai, reference: 100 } })[0]?.isMet);
    expect(verdicts).toEqual([false, true]);
  });

  it('compares a size with its limit', () => {
    const verdicts = [130, 131].map((wa2ai) => judge({ startMb: { wa2ai, reference: 90 } })[0]?.isMet);
    expect(verdicts).toEqual([true, false]);
  });

  it('takes a value that could not be measured for a missed target', () => {
    expect(judge({ p95: { wa2ai: Number.NaN, reference: 16 } })[0]?.isMet).toBe(false);
    expect(judge({ p95: { wa2ai: 16 } })[0]?.isMet).toBe(false);
  });

  it('gives no verdict on what was not measured', () => {
    expect(judge({})).toEqual([]);
  });

  it('has a limit for each measurement', () => {
    expect(Object.values(TARGETS).map(limitText)).toEqual(
      Object.values(TARGETS).map(() => expect.stringMatching(/^[<>]= \d+(\.\d+)?x?$/)),
    );
  });
});

describe('chart', () => {
  it('draws one bar for each measurement, as long as its part of the target', () => {
    const svg = chart(judge({ startMb: { wa2ai: 65 }, saturated: { wa2ai: 50, reference: 100 } }));
    const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"[^>]*class="(\w+)"/g)].map(
      ([, width, verdict]) => ({ width: Number(width), verdict }),
    );
    expect(widths.map(({ verdict }) => verdict)).toEqual(['missed', 'met']);
    expect(widths[0]?.width).toBeCloseTo((widths[1]?.width ?? 0) * 4, 0);
  });
});

describe('allocatedKb', () => {
  it('adds up what the heap gained between collections', () => {
    const output = [
      '[7:0x1]   10 ms: Scavenge 4.0 (6.0) -> 3.0 (7.0) MB, 1.0 / 0.0 ms',
      '{"msg":"a log line"}',
      '[7:0x1]   20 ms: Scavenge 5.5 (7.0) -> 3.5 (7.0) MB, 1.0 / 0.0 ms',
      '[7:0x1]   30 ms: Mark-Compact (reduce) 4.5 (7.0) -> 2.0 (7.0) MB, 1.0 / 0.0 ms',
    ].join('\n');
    expect(allocatedKb(output)).toBe((2.5 + 1) * 1_024);
  });
});
