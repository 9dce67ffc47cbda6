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

/** Both: `2026-01-31 12:58:00 (3 min ago)`. */
export function bothTimes(time: string | Date, nowMs: number): string {
  return `${absoluteTime(time)} (${relativeTime(time, nowMs)})`;
}
