import { useEffect, useRef, useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { useStored } from '../../app/stored.ts';
import { theme } from '../../app/theme.ts';
import { Card } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import type { Plot } from './plot.ts';

/** A line of a chart. Absent values are gaps. */
export interface ChartSeries {
  label: string;
  /** A custom property of CSS. */
  colour: string;
  isArea?: boolean;
  values: Array<number | undefined>;
}

export interface ChartProps {
  title: string;
  /** Where the numbers come from. */
  href: string;
  /** Seconds since 1970, in order. */
  times: number[];
  series: ChartSeries[];
  /** Upper end of the values when all are small, so that each line of the grid has another text. Default: 1. */
  leastTop?: number;
  timeText: (seconds: number) => string;
  valueText: (value: number | undefined) => string;
}

/** A chart with a sentence and a table that say the same. */
export function Chart(props: ChartProps) {
  const { title, href, times, series, timeText, valueText } = props;
  const text = useTexts('start');
  const [isOpen, setOpen] = useState(false);
  const [index, setIndex] = useState<number>();
  const isEmpty = series.every(({ values }) => values.every((value) => !value));
  const summary = isEmpty ? `${title}: ${text.none}` : sentence(props, text.summary);
  const shown = index ?? times.length - 1;
  return (
    <Card>
      <h3>
        <a href={href}>{title}</a>
      </h3>
      <p class="legend">
        {series.map(({ label, colour, values }) => (
          <span key={label} class={`key key${colour}`}>
            {label} {index !== undefined && <b>{valueText(values[shown])}</b>}
          </span>
        ))}
        {index !== undefined && <span class="faint">{timeText(times[shown] ?? 0)}</span>}
      </p>
      <Drawing {...props} summary={summary} onPoint={setIndex} />
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{text.asTable}</summary>
        {isOpen && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
          <section class="chart-table" aria-label={title} tabIndex={0}>
            <Table
              caption={title}
              rows={times.map((at, row) => ({ at, row })).reverse()}
              keyOf={({ at }) => String(at)}
              columns={[
                { title: text.time, cell: ({ at }) => timeText(at) },
                ...series.map(({ label, values }) => ({
                  title: label,
                  isNumber: true,
                  cell: ({ row }: { row: number }) => valueText(values[row]),
                })),
              ]}
            />
          </section>
        )}
      </details>
    </Card>
  );
}

/** The picture; its code is loaded when the first one is shown. */
function Drawing(props: ChartProps & { summary: string; onPoint: (index: number | undefined) => void }) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const colours = useStored(theme);
  useEffect(() => {
    let isGone = false;
    const device = matchMedia('(prefers-color-scheme: dark)');
    const recolour = () => plot.current?.recolour();
    device.addEventListener('change', recolour);
    void import('./plot.ts').then(({ Plot }) => {
      if (isGone || !frame.current) return;
      plot.current = new Plot(frame.current, () => latest.current);
    });
    return () => {
      isGone = true;
      device.removeEventListener('change', recolour);
      plot.current?.close();
    };
  }, []);
  useEffect(() => plot.current?.recolour(), [colours]);
  useEffect(() => plot.current?.update());
  return <div ref={frame} class="plot" role="img" aria-label={props.summary} />;
}

function sentence(
  { title, series: [first], times, timeText, valueText }: ChartProps,
  summary: (title: string, highest: string, at: string, average: string) => string,
): string {
  const known = (first?.values ?? []).flatMap((value, index) =>
    value === undefined ? [] : [{ value, index }],
  );
  const highest = known.reduce((best, each) => (each.value > best.value ? each : best), {
    value: 0,
    index: 0,
  });
  const average = known.reduce((sum, { value }) => sum + value, 0) / Math.max(known.length, 1);
  return summary(title, valueText(highest.value), timeText(times[highest.index] ?? 0), valueText(average));
}
