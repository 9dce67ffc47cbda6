import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../api/call.ts';
import { language, useTexts } from '../../app/language.ts';
import { useStored } from '../../app/stored.ts';
import { useFieldTexts } from '../../schema-form/field-texts.ts';
import type { Language } from '../../translation/en.ts';
import { isObject } from './route-draft.ts';

/** What a route asks of a message besides its chat, each condition as a chip. Nothing: it takes every message. */
export function RouteConditions({
  route,
}: {
  route: Pick<Schemas['Route'], 'regexFilter'> & { config: { when?: unknown } };
}) {
  const text = useTexts('routes');
  const locale = useStored(language);
  const { value } = useFieldTexts();
  const { when } = route.config;
  const chips = isObject(when) ? conditionsOf(when as When, text.condition, locale, value) : [];
  const pattern = route.regexFilter && (
    <>
      {text.condition.pattern} <code>{route.regexFilter}</code>
    </>
  );
  const all: ComponentChildren[] = [...(pattern ? [pattern] : []), ...chips];
  if (all.length === 0) return null;
  return (
    <ul class="chips" aria-label={text.conditions}>
      {all.map((each, index) => (
        <li key={index}>{each}</li>
      ))}
    </ul>
  );
}

/** `config.when` of a route. */
interface When {
  days?: readonly string[];
  hours?: string;
  timeZone?: string;
  languages?: readonly string[];
  kinds?: readonly string[];
  isGroup?: boolean;
  isMentioned?: boolean;
  quotesUs?: boolean;
  isFirstContact?: boolean;
  tags?: readonly string[];
  percent?: number;
}

/** Claims about a message, in the order in which they are shown. */
const CLAIMS = ['isGroup', 'isMentioned', 'quotesUs', 'isFirstContact'] as const;

/** Days of a week that begins on Monday, as the API names them. */
const WEEK = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
/** A Monday. */
const MONDAY_MS = Date.UTC(2024, 0, 1);
const DAY_MS = 86_400_000;

function conditionsOf(
  when: When,
  text: Language['routes']['condition'],
  locale: string,
  nameOf: (kind: string) => string,
): string[] {
  const { days, hours, timeZone = 'UTC', languages, kinds, tags = [], percent } = when;
  const names = new Intl.DisplayNames(locale, { type: 'language' });
  const list = new Intl.ListFormat(locale, { type: 'disjunction' });
  return [
    ...(days || hours
      ? [[days && daysText(days, locale), hours, `(${timeZone})`].filter(Boolean).join(' ')]
      : []),
    ...tags.map((tag) => text.tag(tag)),
    ...(languages ? [text.languages(list.format(languages.map((code) => names.of(code) ?? code)))] : []),
    ...(kinds ? [list.format(kinds.map(nameOf))] : []),
    ...CLAIMS.flatMap((name) => (when[name] === undefined ? [] : [text[name][when[name] ? 0 : 1] ?? name])),
    ...(percent === undefined
      ? []
      : [
          text.percent(
            new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 }).format(
              percent / 100,
            ),
          ),
        ]),
  ];
}

/** `Mon–Fri`, or `Mon, Wed`: three days in a row and more are a range. */
function daysText(days: readonly string[], locale: string): string {
  const format = new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone: 'UTC' });
  const nameOf = (day: number) => format.format(MONDAY_MS + day * DAY_MS);
  const runs: Array<{ first: number; last: number }> = [];
  for (const day of WEEK.flatMap((each, index) => (days.includes(each) ? [index] : []))) {
    const run = runs.at(-1);
    if (run && run.last === day - 1) run.last = day;
    else runs.push({ first: day, last: day });
  }
  return runs
    .map(({ first, last }) => {
      if (first === last) return nameOf(first);
      return `${nameOf(first)}${last - first > 1 ? '–' : ', '}${nameOf(last)}`;
    })
    .join(', ');
}
