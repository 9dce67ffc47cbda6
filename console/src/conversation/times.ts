import { language } from '../app/language.ts';
import { useStored } from '../app/stored.ts';
import type { LanguageCode } from '../translation/languages.ts';

/** Writers of times in the chosen language and the time zone of the browser; from ISO 8601. */
export function useTimes() {
  const chosen = useStored(language);
  const write = (at: string, options: Intl.DateTimeFormatOptions) =>
    formatOf(chosen, options).format(new Date(at));
  const day = (at: string) => write(at, { dateStyle: 'full' });
  const clock = (at: string) => write(at, { hour: '2-digit', minute: '2-digit' });
  return {
    /** 14:05 */
    clock,
    /** Friday, 2 January 2026 */
    day,
    /** 2 January 2026, 14:05 */
    full: (at: string) => write(at, { dateStyle: 'medium', timeStyle: 'short' }),
    /** 14:05:09 */
    second: (at: string) => write(at, { timeStyle: 'medium' }),
    /** 850 ms, 2.4 s, 3 min */
    duration: (ms: number) => durationText(ms, chosen),
    /** The clock for a time of today, else the day. */
    short: (at: string) =>
      day(at) === day(new Date().toISOString()) ? clock(at) : write(at, { day: 'numeric', month: 'short' }),
  };
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making a format takes long, and a list has many times. */
function formatOf(chosen: LanguageCode, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${chosen} ${JSON.stringify(options)}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat(chosen, options);
  formats.set(key, format);
  return format;
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const;

function durationText(ms: number, chosen: LanguageCode): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= each) ?? ['millisecond', 1];
  const value = ms / unitMs;
  const digits = unit === 'millisecond' || value >= 10 ? 0 : 1;
  return value.toLocaleString(chosen, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: digits,
  });
}
