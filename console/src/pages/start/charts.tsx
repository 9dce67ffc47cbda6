import type { Schemas } from '../../api/call.ts';
import { language, useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { useStored } from '../../app/stored.ts';
import type { LanguageCode } from '../../translation/languages.ts';
import { Chart, type ChartSeries } from './chart.tsx';
import { durationText, numberText } from './numbers.ts';

type Stats = Schemas['Stats'];
type Point = Stats['points'][number];

/** How much, how fast and what failed, over time. */
export function Charts({ stats }: { stats: Stats }) {
  const text = useTexts('start');
  const chosen = useStored(language);
  const minutes = stats.stepSeconds / 60;
  const count = (value: number | undefined) => (value === undefined ? '–' : numberText(value, chosen));
  const duration = (value: number | undefined) => durationText(value, chosen);
  // the last point is not complete: it would look like a fall
  const points = stats.points.slice(0, -1);
  const of = (value: (point: Point) => number | undefined) => points.map(value);
  const charts: Array<{
    title: string;
    path: string;
    valueText: (value: number | undefined) => string;
    series: ChartSeries[];
    leastTop?: number;
  }> = [
    {
      title: text.perMinute,
      path: '/chats',
      valueText: count,
      series: [
        { label: text.received, colour: '--accent', isArea: true, values: of((p) => p.messages / minutes) },
        { label: text.answered, colour: '--busy', values: of((p) => p.answers / minutes) },
      ],
    },
    {
      title: text.answerTime,
      path: '/chats',
      valueText: duration,
      leastTop: 100,
      series: [
        { label: text.median, colour: '--accent', values: of(({ p50Ms }) => p50Ms) },
        { label: text.slowest, colour: '--busy', values: of(({ p95Ms }) => p95Ms) },
      ],
    },
    {
      title: text.failures,
      path: '/dead-letters',
      valueText: count,
      leastTop: 5,
      series: [{ label: text.failed, colour: '--bad', isArea: true, values: of(({ failures }) => failures) }],
    },
  ];
  const times = points.map(({ at }) => Date.parse(at) / 1000);
  return (
    <div class="charts">
      {charts.map(({ title, path, ...chart }) => (
        <Chart
          key={title}
          title={title}
          href={hrefOf(path)}
          times={times}
          timeText={(seconds) => timeText(seconds, stats.span, chosen)}
          {...chart}
        />
      ))}
    </div>
  );
}

function timeText(seconds: number, span: Stats['span'], chosen: LanguageCode): string {
  const isLong = span === '30d';
  return new Date(seconds * 1000).toLocaleString(chosen, {
    hour: '2-digit',
    minute: '2-digit',
    ...(isLong && { day: 'numeric', month: 'short' }),
  });
}
