// For the bench alone, loaded into a node before its program (`node --import`): counts what nothing outside can see.
// On SIGUSR2 it prints one JSON line `{"msg":"bench counts", ...}`; see InsideCounts. Timers are counted when BENCH_TIMERS is
// set: the hook costs time.
import { createHook } from 'node:async_hooks';
import { Session } from 'node:inspector';
import { getHeapSpaceStatistics } from 'node:v8';

/** What a node says about itself; sizes are in MB. */
export interface InsideCounts {
  /** Timers that fired since the start; 0 without BENCH_TIMERS. */
  timers: number;
  /** Modules of the program and its packages that are loaded. */
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
if (process.env.BENCH_TIMERS) hook.enable();

process.on('SIGUSR2', () => {
  const counts: InsideCounts = { timers: fired, modules: countModules(), memoryMb: memory() };
  process.stdout.write(`${JSON.stringify({ level: 30, msg: 'bench counts', ...counts })}\n`);
});

/** The debugger names each script that was ever loaded when it is switched on. */
function countModules(): number {
  const session = new Session();
  session.connect();
  let modules = 0;
  session.on('Debugger.scriptParsed', ({ params }) => {
    if (params.url.startsWith('file:') || params.url.startsWith('/')) modules += 1;
  });
  session.post('Debugger.enable');
  session.disconnect();
  return modules;
}

function memory(): Record<string, number> {
  const bytes: Record<string, number> = { ...process.memoryUsage() };
  for (const { space_name, space_used_size } of getHeapSpaceStatistics()) bytes[space_name] = space_used_size;
  return Object.fromEntries(Object.entries(bytes).map(([kind, size]) => [kind, Math.round(size / 1e5) / 10]));
}
