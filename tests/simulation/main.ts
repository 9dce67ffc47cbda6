import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { SAFEGUARDS, type Safeguard } from './sim-node.ts';
import { simulate } from './simulate.ts';

/** The seeds of one worker: every `step`-th from `from` below `to`, until the time is over. */
interface Share {
  from: number;
  to: number;
  step: number;
  endAtMs: number;
  without: Safeguard | undefined;
}

interface Tally {
  runs: number;
  failedSeeds: number[];
  /** How often each kind of violation was found. */
  violations: Record<string, number>;
  messages: number;
  events: number;
  virtualSeconds: number;
  crashes: number;
  faults: number;
}

type FromWorker = { kind: 'failure'; trace: string } | { kind: 'done'; tally: Tally };

/** Most failing runs whose trace is printed. */
const MAX_TRACES = 3;

if (isMainThread) await main();
else await work(workerData as Share);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string' },
      seed: { type: 'string' },
      seconds: { type: 'string', default: '120' },
      workers: { type: 'string', default: String(Math.min(availableParallelism(), 8)) },
      without: { type: 'string' },
      log: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(`npm run test:simulation -- [--runs 2000] [--seed N] [--seconds 120] [--workers W] [--without ${SAFEGUARDS.join('|')}] [--log]
  Runs wa2ai's core and provider on a virtual clock, with simulated database, WhatsApp and agents, under faults that the
  seed determines, and checks each run. --seed alone repeats one run. --without disables one safeguard: runs then fail.
  --log prints all events of the run of --seed.`);
    return;
  }
  const isOne = values.seed !== undefined && values.runs === undefined;
  const from = Number(values.seed ?? 1);
  const runs = isOne ? 1 : Number(values.runs ?? 2_000);
  const workers = Math.min(Number(values.workers), runs);
  const endAtMs = Date.now() + Number(values.seconds) * 1_000;
  const without = SAFEGUARDS.find((name) => name === values.without);
  if (values.without !== undefined && !without) {
    console.error(`--without takes one of ${SAFEGUARDS.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  if (isOne && values.log) {
    const report = await simulate({ seed: from, without });
    for (const line of report.log()) console.log(line);
  }
  const startedMs = performance.now();
  const shares = Array.from({ length: workers }, (_, index) => ({
    from: from + index,
    to: from + runs,
    step: workers,
    endAtMs,
    without,
  }));
  let traces = 0;
  const tallies = await Promise.all(
    shares.map((share) =>
      inWorker(share, (trace) => {
        traces += 1;
        if (traces <= MAX_TRACES) console.log(`${trace}\n`);
      }),
    ),
  );
  const sum = (of: (tally: Tally) => number) => tallies.reduce((total, tally) => total + of(tally), 0);
  const failedSeeds = tallies.flatMap((tally) => tally.failedSeeds).sort((a, b) => a - b);
  const done = sum(({ runs: count }) => count);
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `${done} simulations from seed ${from} in ${seconds.toFixed(1)} s: ${sum((t) => t.messages)} messages, ${sum((t) => t.faults)} faults, ${sum((t) => t.crashes)} crashes, ${sum((t) => t.events)} events, ${Math.round(sum((t) => t.virtualSeconds) / 3_600)} virtual hours`,
  );
  if (failedSeeds.length > 0) {
    const kinds = new Set(tallies.flatMap((tally) => Object.keys(tally.violations)));
    for (const kind of kinds) console.log(`${kind}: ${sum((tally) => tally.violations[kind] ?? 0)}`);
    console.log(`failing seeds: ${failedSeeds.slice(0, 50).join(' ')}`);
    console.log(
      `repeat one: npm run test:simulation -- --seed ${failedSeeds[0]}${without ? ` --without ${without}` : ''}`,
    );
  }
  if (done < runs) console.log(`the time ended before ${runs - done} further runs`);
  console.log(`${done - failedSeeds.length} passed, ${failedSeeds.length} failed`);
  process.exitCode = failedSeeds.length > 0 || done === 0 ? 1 : 0;
}

function inWorker(share: Share, onFailure: (trace: string) => void): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: share });
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'failure') onFailure(message.trace);
      else resolve(message.tally);
    });
    worker.on('error', reject);
  });
}

async function work({ from, to, step, endAtMs, without }: Share): Promise<void> {
  const tally: Tally = {
    runs: 0,
    failedSeeds: [],
    violations: {},
    messages: 0,
    events: 0,
    virtualSeconds: 0,
    crashes: 0,
    faults: 0,
  };
  const tell = (message: FromWorker) => parentPort?.postMessage(message);
  for (let seed = from; seed < to && Date.now() < endAtMs; seed += step) {
    const report = await simulate({ seed, without });
    tally.runs += 1;
    tally.messages += report.messages;
    tally.events += report.events;
    tally.virtualSeconds += report.seconds;
    tally.crashes += report.crashes;
    tally.faults += report.faults;
    if (report.violations.length === 0) continue;
    tally.failedSeeds.push(seed);
    for (const { kind } of report.violations) tally.violations[kind] = (tally.violations[kind] ?? 0) + 1;
    if (tally.failedSeeds.length <= MAX_TRACES) tell({ kind: 'failure', trace: report.trace() });
  }
  tell({ kind: 'done', tally });
}
