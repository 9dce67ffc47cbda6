import type { LanguageCode } from '../../translation/languages.ts';

/** A count, or an average with one digit. */
export function numberText(value: number, language: LanguageCode): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value);
}

/** A duration in milliseconds as people read it: `850 ms`, `2.4 s`, `1.5 min`. Absent: a dash. */
export function durationText(ms: number | undefined, language: LanguageCode): string {
  if (ms === undefined) return '–';
  if (ms < 1_000) return `${numberText(Math.round(ms), language)} ms`;
  if (ms < 60_000) return `${numberText(ms / 1_000, language)} s`;
  return `${numberText(ms / 60_000, language)} min`;
}

/** How much more or less a number is than before, such as `+12%`. Undefined: there is nothing to compare. */
export function trendText(
  now: number | undefined,
  before: number | undefined,
  language: LanguageCode,
): string | undefined {
  if (now === undefined || !before) return undefined;
  const format = { style: 'percent', signDisplay: 'exceptZero', maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat(language, format).format(now / before - 1);
}
