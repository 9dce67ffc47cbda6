// Thread program of Watchdog. Plain JavaScript, because it runs as a file from the sources and from dist/.
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const { shared, silentMs, format } = workerData;
const words = new Int32Array(shared, 0, 3);
const name = new Uint8Array(shared, 12);
/** Checks without an answer after which the process ends. */
const CHECKS = 6;
const checkMs = silentMs / CHECKS;
/** Where the main thread is may be asked for so long. */
const STACK_MS = 1_000;

let lastMs = performance.now();
let answers = -1;
let unanswered = 0;

setInterval(() => {
  const nowMs = performance.now();
  // This thread did not run either: the process was stopped, or the machine slept.
  const hasSlept = nowMs - lastMs > 2 * checkMs;
  lastMs = nowMs;
  const answered = Atomics.load(words, 0);
  const isDebugged = Atomics.load(words, 1) === 1;
  unanswered = answered !== answers || hasSlept || isDebugged ? 0 : unanswered + 1;
  answers = answered;
  if (unanswered === CHECKS) end();
  else parentPort.postMessage(undefined);
}, checkMs);

function end() {
  const length = Math.min(Math.max(Atomics.load(words, 2), 0), name.length);
  const work = length > 0 ? Buffer.from(name.subarray(0, length)).toString() : undefined;
  let hasEnded = false;
  const finish = (stack) => {
    if (hasEnded) return;
    hasEnded = true;
    try {
      writeSync(1, line({ mod: 'watchdog', silentMs, work, stack }));
    } finally {
      // Nothing else ends a process whose main thread is busy.
      process.kill(process.pid, 'SIGKILL');
    }
  };
  setTimeout(finish, STACK_MS, undefined);
  void askForStack(finish);
}

/** Calls `found` with where the main thread is, innermost first; never, when it cannot say. */
async function askForStack(found) {
  try {
    const { Session } = await import('node:inspector');
    const session = new Session();
    const urls = new Map();
    session.connectToMainThread();
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    session.on('Debugger.paused', ({ params }) => {
      const frames = params.callFrames.slice(0, 12);
      found(
        frames.map(({ functionName, location: { scriptId, lineNumber, columnNumber } }) => {
          const file = urls.get(scriptId)?.split('/').at(-1) ?? '';
          return `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}:${columnNumber + 1}`;
        }),
      );
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  } catch {
    // A Node.js without an inspector.
  }
}

function line(fields) {
  const msg = 'main thread does not respond, ending the process';
  const time = new Date().toISOString();
  if (format === 'json') return `${JSON.stringify({ level: 'fatal', time, ...fields, msg })}\n`;
  const details = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${[value].flat().join(' < ')}`],
  );
  return `[${time.slice(11, 23)}] FATAL: ${msg} ${details.join(' ')}\n`;
}
