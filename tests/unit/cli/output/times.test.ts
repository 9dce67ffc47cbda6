import { describe, expect, it } from 'vitest';
import {
  absoluteTime,
  durationOf,
  relativeTime,
  shortTime,
} from '../../../../router/src/cli/output/table.ts';

const nowMs = Date.parse('2026-01-31T12:00:00.000Z');
const at = (seconds: number) => new Date(nowMs + seconds * 1000);

describe('times', () => {
  it.each([
    [-0.5, '0 s ago'],
    [-59, '59 s ago'],
    [-60, '1 min ago'],
    [-7_200, '2 h ago'],
    [-172_800, '2 d ago'],
    [90, 'in 1 min'],
  ])('show %d seconds from now as %s', (seconds, text) => {
    expect(relativeTime(at(seconds), nowMs)).toBe(text);
  });

  it('show in a narrow column what differs from now', () => {
    const nowMs = new Date(2026, 0, 31, 12, 0, 0).getTime();
    expect(shortTime(new Date(2026, 0, 31, 3, 4, 5), nowMs)).toBe('03:04:05');
    expect(shortTime(new Date(2026, 0, 2, 3, 4, 5), nowMs)).toBe('01-02 03:04');
    expect(shortTime(new Date(2025, 11, 31, 3, 4, 5), nowMs)).toBe('2025-12-31');
  });

  it('show the day and time of the zone of the machine', () => {
    expect(absoluteTime(new Date(2026, 0, 2, 3, 4, 5))).toBe('2026-01-02 03:04:05');
  });

  it('show a duration that is negative as zero', () => {
    expect(durationOf(-3)).toBe('0 s');
  });
});
