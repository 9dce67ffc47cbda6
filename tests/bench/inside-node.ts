// For the bench alone, loaded into a node before its program (`node --import`): counts what nothing outside can see.
// On SIGUSR2 it prints one JSON line `{"msg":"bench counts", ...}`; see InsideCounts. Timers and modules are counted when
// BENCH_COUNTS is set: both cost time.
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector';
import { getHeapSpaceStatistics } from 'node:v8';

/** What a node says about itself; sizes are in MB. */
export interface InsideCounts {
  /** Timers that fired since the start; 0 without BENCH_COUNTS. */
  timers: number;
  /** Modules of the program and its packages that were loaded until the first signal; 0 without BENCH_COUNTS. */
  modules: number;
  /** `rss`, `heapTotal`, `heapUsed`, `external`, `arrayBuffers` of process.memoryUsage(), and V8's spaces. */
  memoryMb: Record<string, number>;
}

const timers = new Set<number>();
let fired = 0;
const hook = createHook({
  init: (id, type) => {
    if (type === 'Timeout') timers.add(id);
  },
  before: (id) => {
    if (timers.has(id)) fired += 1;
  },
  destroy: (id) => timers.delete(id),
});

/** The debugger names each script that it sees being compiled; what V8 collects later counts too. */
const scripts = new Set<string>();
const session = new Session();
if (process.env.BENCH_COUNTS) {
  hook.enable();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params }) => {
    if (params.url.startsWith('file:') || params.url.startsWith('/')) scripts.add(params.url);
  });
  session.post('Debugger.enable');
}

process.on('SIGUSR2', () => {
  // the debugger costs time and memory: it stops with the first counts
  if (process.env.BENCH_COUNTS) session.post('Debugger.disable');
  const counts: InsideCounts = { timers: fired, modules: scripts.size, memoryMb: memory() };
  process.stdout.write(`${JSON.stringify({ level: 'info', msg: 'bench counts', ...counts })}\n`);
});

function memory(): Record<string, number> {
  const bytes: Record<string, number> = { ...process.memoryUsage() };
  for (const { space_name, space_used_size } of getHeapSpaceStatistics()) bytes[space_name] = space_used_size;
  return Object.fromEntries(Object.entries(bytes).map(([kind, size]) => [kind, Math.round(size / 1e5) / 10]));
}
