import 'uplot/dist/uPlot.min.css';
import UPlot from 'uplot';
import type { ChartProps } from './chart.tsx';

const HEIGHT_PX = 190;
/** Of the axes: width of the values, height of the times. */
const AXIS_PX = 58;
const TIMES_PX = 34;

/** What a drawing shows now, and whom it tells where the pointer is. */
type Source = () => ChartProps & { onPoint: (index: number | undefined) => void };

/** A drawing in an element; it is as wide as the element. */
export class Plot {
  readonly #frame: HTMLElement;
  readonly #source: Source;
  readonly #watch: ResizeObserver;
  #plot: UPlot;

  constructor(frame: HTMLElement, source: Source) {
    this.#frame = frame;
    this.#source = source;
    this.#plot = this.#draw();
    this.#watch = new ResizeObserver(() => {
      this.#plot.setSize({ width: frame.clientWidth, height: HEIGHT_PX });
    });
    this.#watch.observe(frame);
  }

  /** Draws the present values. */
  update(): void {
    if (this.#source().series.length !== this.#plot.series.length - 1) this.recolour();
    else this.#plot.setData(dataOf(this.#source()));
  }

  /** Draws everything again, with the present colours. */
  recolour(): void {
    this.#plot.destroy();
    this.#plot = this.#draw();
  }

  close(): void {
    this.#watch.disconnect();
    this.#plot.destroy();
  }

  #draw(): UPlot {
    const source = this.#source;
    const styles = getComputedStyle(this.#frame);
    const colour = (name: string) => styles.getPropertyValue(name).trim();
    const font = `12px ${styles.fontFamily}`;
    const axis = {
      stroke: colour('--faint'),
      font,
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    const options: UPlot.Options = {
      width: this.#frame.clientWidth,
      height: HEIGHT_PX,
      // Half of the last text of the times stands at the right of the axis.
      padding: [10, 28, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, source().leastTop ?? 1)] } },
      axes: [
        {
          ...axis,
          size: TIMES_PX,
          // Below the text of the value 0.
          gap: 12,
          grid: { show: false },
          values: (_, times) => times.map((at) => source().timeText(at)),
          space: 90,
        },
        { ...axis, size: AXIS_PX, values: (_, values) => values.map((value) => source().valueText(value)) },
      ],
      series: [
        {},
        ...source().series.map(({ label, colour: name, isArea }) => ({
          label,
          stroke: colour(name),
          width: 1.75,
          // A value between gaps has no line.
          points: {
            size: 5,
            fill: colour(name),
            filter: (plot: UPlot, index: number) => alone(plot.data[index] ?? []),
          },
          ...(isArea && { fill: `${colour(name)}22` }),
        })),
      ],
      hooks: {
        setCursor: [({ cursor: { idx } }) => source().onPoint(idx ?? undefined)],
        ready: [(plot) => plot.over.addEventListener('mouseleave', () => source().onPoint(undefined))],
      },
    };
    return new UPlot(options, dataOf(source()), this.#frame);
  }
}

/** Indexes of the values that have no neighbour. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from({ length: values.length }, (_, index) => index).filter(
    (index) => values[index] != null && values[index - 1] == null && values[index + 1] == null,
  );
}

function dataOf({ times, series }: ChartProps): UPlot.AlignedData {
  return [times, ...series.map(({ values }) => values.map((value) => value ?? null))];
}
