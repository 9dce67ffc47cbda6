import { language } from '../app/language.ts';
import { useStored } from '../app/stored.ts';
import type { LanguageCode } from '../translation/languages.ts';

const UNITS: ReadonlyArray<[Intl.RelativeTimeFormatUnit, number]> = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** A time relative to now, such as "3 minutes ago"; the exact one is its title. */
export function Time({ at }: { at: string }) {
  const chosen = useStored(language);
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString(chosen)}>
      {relative(date.getTime() - Date.now(), chosen)}
    </time>
  );
}

function relative(differenceMs: number, chosen: LanguageCode): string {
  const format = new Intl.RelativeTimeFormat(chosen, { numeric: 'auto' });
  const [unit, unitMs] = UNITS.find(([, ms]) => Math.abs(differenceMs) >= ms) ?? ['second', 1_000];
  return format.format(Math.round(differenceMs / unitMs), unit);
}
