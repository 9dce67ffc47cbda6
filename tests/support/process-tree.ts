import { readdir, readFile } from 'node:fs/promises';

/** A process of this machine; the start time tells it from a later one with the same id. */
export interface ProcessEntry {
  pid: number;
  parentPid: number;
  startTime: string;
  commandLine: string;
}

/** A process and everything it started, as long as the links between them exist. Linux only. */
export async function processTree(rootPid: number): Promise<ProcessEntry[]> {
  const all = await allProcesses();
  const tree = all.filter((entry) => entry.pid === rootPid);
  for (const parent of tree) tree.push(...all.filter((entry) => entry.parentPid === parent.pid));
  return tree;
}

/** Those of the given processes that still run. */
export async function stillRunning(entries: readonly ProcessEntry[]): Promise<ProcessEntry[]> {
  const running = await allProcesses();
  return entries.filter((entry) =>
    running.some((other) => other.pid === entry.pid && other.startTime === entry.startTime),
  );
}

async function allProcesses(): Promise<ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const entries = await Promise.all(pids.map((pid) => readProcess(pid).catch(() => undefined)));
  return entries.filter((entry) => entry !== undefined);
}

/** @returns undefined for a zombie; rejects when the process ended meanwhile */
async function readProcess(pid: number): Promise<ProcessEntry | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // the name in parentheses may contain spaces; state, parent and the 20th field (start time) follow it
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  const commandLine = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
  return { pid, parentPid: Number(fields[1]), startTime: String(fields[19]), commandLine };
}
