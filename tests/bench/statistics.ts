import { readFileSync } from 'node:fs';

/** The value below which `share` (0 to 1) of the values lie; NaN without values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** `value` with at most so many digits after the point. */
export function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

/** Resident memory of a process in MB (Linux). */
export function residentMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

/**
 * User and system time that a process has used, in seconds (Linux, 100 ticks a second); 0 for a process that has ended.
 * @param options.withEnded adds the time of its children that have ended, which a database has with each connection
 */
export function cpuSeconds(pid: number, options: { withEnded?: boolean } = {}): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return 0;
  }
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  // utime, stime, cutime, cstime
  const ticks = fields.slice(11, options.withEnded ? 15 : 13);
  return ticks.reduce((sum, each) => sum + each, 0) / 100;
}

/** The processes that a process started, and theirs, as long as they run (Linux). */
export function childrenOf(pid: number): number[] {
  let list: string;
  try {
    list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    return [];
  }
  const direct = list.trim().split(/\s+/).filter(Boolean).map(Number);
  return direct.flatMap((child) => [child, ...childrenOf(child)]);
}
