import { readdirSync, readFileSync } from 'node:fs';

/** What /proc says about a process. */
interface ProcessRow {
  pid: number;
  parent: number;
  session: number;
  /** The process group in the foreground of its terminal; -1 without a terminal. */
  foreground: number;
}

/** The processes that this one started, oldest first. */
export function childrenOf(pid: number | undefined): number[] {
  return processes()
    .filter(({ parent }) => parent === pid)
    .map((row) => row.pid);
}

/** The process group that has the terminal of this process. */
export function foregroundGroup(pid: number): number | undefined {
  const row = readRow(pid);
  return row && row.foreground > 0 ? row.foreground : undefined;
}

/** Kills a process, what it started, and what they started, also in other sessions of the terminal. */
export function killTree(pid: number | undefined): void {
  if (pid === undefined) return;
  const rows = processes();
  const doomed = new Set([pid]);
  const sessions = new Set([pid]);
  for (let size = 0; size !== doomed.size; ) {
    size = doomed.size;
    for (const row of rows) {
      if (!doomed.has(row.parent) && !sessions.has(row.session)) continue;
      doomed.add(row.pid);
      sessions.add(row.session);
    }
  }
  for (const target of doomed) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // it has ended
    }
  }
}

function processes(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readRow(Number(name)) ?? [])
    .sort((a, b) => a.pid - b.pid);
}

function readRow(pid: number): ProcessRow | undefined {
  let line: string;
  try {
    line = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // the name of the program is in brackets and may contain spaces
  const [, parent, , session, , foreground] = line
    .slice(line.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  return { pid, parent: parent ?? 0, session: session ?? 0, foreground: foreground ?? -1 };
}
