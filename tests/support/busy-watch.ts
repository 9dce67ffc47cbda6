import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Preload (`node --import`) that measures how long one turn of the event loop keeps the processor busy, and logs the
 * address at which it says so: `GET` answers the longest time since the previous call, in milliseconds. It counts time of
 * the processor and not of the clock, so that other programs of the machine do not count.
 */
const TICK_MS = 5;

/** The processor time of the main thread, in milliseconds; of the whole process where the system does not say that. */
function busyMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ', 1)[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

let longestMs = 0;
let tickedAtMs = performance.now();
let busyAtMs = busyMs();

function tick(): void {
  const [nowMs, nowBusyMs] = [performance.now(), busyMs()];
  longestMs = Math.max(longestMs, Math.min(nowMs - tickedAtMs, nowBusyMs - busyAtMs));
  tickedAtMs = nowMs;
  busyAtMs = nowBusyMs;
}

setInterval(tick, TICK_MS).unref();

const server = createServer((_request, response) => {
  // after the timers of this turn, which may be late
  setImmediate(() => {
    tick();
    response.end(String(longestMs));
    longestMs = 0;
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  console.log(JSON.stringify({ busyWatchUrl: `http://127.0.0.1:${port}` }));
});
server.unref();
