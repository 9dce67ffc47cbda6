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

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A duration in its largest unit: `3 min`, `2 d`. */
export function durationOf(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [unit, size] = UNITS.find(([, size]) => whole >= size) ?? ['s', 1];
  return `${Math.floor(whole / size)} ${unit}`;
}

/** A time as seen from now: `3 min ago`, `in 20 s`. */
export function relativeTime(time: string | Date, nowMs: number): string {
  const seconds = (nowMs - new Date(time).getTime()) / 1000;
  return seconds < 0 ? `in ${durationOf(-seconds)}` : `${durationOf(seconds)} ago`;
}

/** A time in the zone of the machine, to a second: `2026-01-31 12:58:00`. */
export function absoluteTime(time: string | Date): string {
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The same for a narrow column: `12:58:00` today, `01-31 12:58` this year, else the day. */
export function shortTime(time: string | Date, nowMs: number): string {
  const whole = absoluteTime(time);
  const now = absoluteTime(new Date(nowMs));
  if (whole.slice(0, 10) === now.slice(0, 10)) return whole.slice(11);
  return whole.slice(0, 4) === now.slice(0, 4) ? whole.slice(5, 16) : whole.slice(0, 10);
}

/** Sequences that colour text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins them
const COLOUR = /\u001b\[\d+m/g;

/** Characters that fill two columns of a terminal: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const segments = () => new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Columns that a text fills in a terminal, without colours. */
export function widthOf(text: string): number {
  const plain = text.replaceAll(COLOUR, '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is that of ASCII
  if (/^[\u0000-\u007f]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of segments().segment(plain)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The text in at most so many columns, with `…` where it is cut. A text that is cut loses its colours. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [cut, width] = ['', 0];
  for (const { segment } of segments().segment(text.replaceAll(COLOUR, ''))) {
    const next = WIDE.test(segment) ? 2 : 1;
    if (width + next > columns - 1) break;
    cut += segment;
    width += next;
  }
  return `${cut}…`;
}

/**
 * A text of a person for one line of a terminal. Control characters, with which a message could move the cursor or change
 * the title, and characters that change the direction of writing become `�`; line ends become a space.
 */
export function oneLine(text: string): string {
  return visible(text.replaceAll(/\s+/g, (run) => (/[\r\n\t]/.test(run) ? ' ' : run))).trim();
}

/** A line in which no character moves the cursor or changes the direction of writing. */
export function visible(line: string): string {
  return line.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
