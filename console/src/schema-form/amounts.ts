/** Units of times and sizes, as the variables of the service take them: the smallest of each first. */
const TIMES = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES = { MB: 1, GB: 1_000 };

/** Ends of the names of fields that count in a unit. */
const COUNTED: ReadonlyArray<readonly [end: RegExp, unit: keyof typeof TIMES | keyof typeof SIZES]> = [
  [/Ms$/, 'ms'],
  [/minutes$/i, 'm'],
  [/Days$/, 'd'],
  [/Mb$/, 'MB'],
];

/** How the numbers of a field are written with a unit, such as `30s`. */
export interface Amounts {
  /** The number with the largest unit that has no fraction: 20000 ms are `20s`. */
  written(value: number): string;
  /** The number of a text; undefined when it is none. Without a unit it counts in that of the field. */
  read(text: string): number | undefined;
  /** The units, for a sentence. */
  units: readonly string[];
}

/** How a time or a size is written in a field of this name; undefined for other numbers. */
export function amountsOf(name: string): Amounts | undefined {
  const unit = COUNTED.find(([end]) => end.test(name))?.[1];
  if (unit === undefined) return undefined;
  const all: Readonly<Record<string, number>> = unit in SIZES ? SIZES : TIMES;
  const own = all[unit] ?? 1;
  const units = Object.keys(all).filter((each) => (all[each] ?? 0) >= own);
  return {
    units,
    written(value) {
      const fitting = units.findLast((each) => (value * own) % (all[each] ?? 1) === 0);
      return value === 0 || fitting === undefined
        ? String(value)
        : `${(value * own) / (all[fitting] ?? 1)}${fitting}`;
    },
    read(text) {
      const [, digits, written = unit] = /^(\d{1,15}) ?([A-Za-z]{1,2})?$/.exec(text.trim()) ?? [];
      const found = Object.keys(all).find((each) => each.toLowerCase() === written.toLowerCase());
      const value = (Number(digits) * (all[found ?? ''] ?? Number.NaN)) / own;
      return Number.isInteger(value) ? value : undefined;
    },
  };
}
