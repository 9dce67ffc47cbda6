import { cutTo, widthOf } from './visible-text.ts';

/** Columns between two cells. */
const GAP = 2;

/** Narrowest a column becomes when the terminal is too narrow. */
const MIN_WIDTH = 6;

/**
 * Aligns rows under their headings. In a terminal the widest columns are cut until a row fits, but never the first one, by
 * which other commands name the thing; elsewhere nothing is cut.
 * @param columns width of the terminal; undefined: no limit
 */
export function table(
  headings: readonly string[],
  rows: ReadonlyArray<readonly string[]>,
  columns: number | undefined,
): string {
  const all = [headings, ...rows];
  const widths = headings.map((_, index) => Math.max(...all.map((row) => widthOf(row[index] ?? ''))));
  if (columns !== undefined) shrink(widths, columns);
  return all.map((row) => lineOf(row, widths, columns !== undefined)).join('\n');
}

/** Names and values, one a line: `state  open`. */
export function fields(pairs: ReadonlyArray<readonly [string, string | undefined]>): string {
  const shown = pairs.filter((pair): pair is [string, string] => pair[1] !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => widthOf(name)));
  return shown
    .map(([name, value]) => `${name}${' '.repeat(width - widthOf(name) + GAP)}${value}`.trimEnd())
    .join('\n');
}

function shrink(widths: number[], columns: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length - 1);
  while (total() > columns) {
    const widest = widths.indexOf(Math.max(...widths.slice(1)), 1);
    const width = widths[widest] ?? 0;
    if (width <= MIN_WIDTH) return;
    widths[widest] = width - 1;
  }
}

function lineOf(row: readonly string[], widths: readonly number[], isCut: boolean): string {
  const cells = widths.map((width, index) => {
    const cell = isCut ? cutTo(row[index] ?? '', width) : (row[index] ?? '');
    return cell + ' '.repeat(Math.max(0, width - widthOf(cell)));
  });
  return cells.join(' '.repeat(GAP)).trimEnd();
}
