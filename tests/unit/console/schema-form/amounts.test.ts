import { describe, expect, it } from 'vitest';
import { amountsOf } from '../../../../console/src/schema-form/amounts.ts';

describe('amountsOf', () => {
  it.each([
    ['timeoutMs', 30_000, '30s'],
    ['debounceMs', 1_500, '1500ms'],
    ['maxMessageAgeMs', 86_400_000, '1d'],
    ['idleMinutes', 90, '90m'],
    ['minutes', 120, '2h'],
    ['warmUpDays', 14, '14d'],
    ['memoryMb', 512, '512MB'],
    ['memoryMb', 2_000, '2GB'],
    ['textDays', 0, '0'],
  ])('writes %s %d as %s, and reads it back', (name, value, text) => {
    const amounts = amountsOf(name);
    expect(amounts?.written(value)).toBe(text);
    expect(amounts?.read(text)).toBe(value);
  });

  it.each([
    ['timeoutMs', '30', 30],
    ['timeoutMs', ' 5 m ', 300_000],
    ['timeoutMs', '1S', 1_000],
    ['idleMinutes', '30', 30],
    ['textDays', '48h', 2],
    ['idleMinutes', '90s', undefined],
    ['timeoutMs', 'soon', undefined],
    ['timeoutMs', '1.5s', undefined],
    ['timeoutMs', '5GB', undefined],
    ['timeoutMs', '', undefined],
  ])('reads in the field %s %j as %s', (name, text, value) => {
    expect(amountsOf(name)?.read(text)).toBe(value);
  });

  it.each(['perSecond', 'charsPerSecond', 'perDay', 'maxChars', 'messages', 'contextMessages'])(
    'leaves the number of %s as it is',
    (name) => {
      expect(amountsOf(name)).toBeUndefined();
    },
  );
});
