import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { SABOTAGES, type Sabotage } from './sim-node.ts';
import { simulate } from './simulate.ts';

/** Seeds that one worker takes: every `step`-th from `from`, until it has done all below `to` or the time is over. */
interface Share {
  from: number;
  to: number;
  step: number;
  endAtMs: number;
  sabotage: Sabotage | undefined;
}

interface Tally {
  runs: number;
  failedSeeds: number[];
  /** How often each promise was broken. */
  broken: Record<string, number>;
  messages: number;
  events: number;
  virtualSeconds: number;
  crashes: number;
  faults: number;
}

type FromWorker = { kind: 'failure'; story: string } | { kind: 'done'; tally: Tally };

/** Failing runs whose story is printed. */
const MOST_STORIES = 3;

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
    console.log(`npm run test:simulation -- [--runs 2000] [--seed N] [--seconds 120] [--workers W] [--without ${SABOTAGES.join('|')}] [--log]
  Runs wa2ai's core on a virtual clock, with simulated nodes, database, WhatsApp and agents, while things go wrong as the
  seed says, and judges each run. --seed alone repeats one run. --without switches off one safeguard: runs then fail.
  --log prints all events of the run that --seed names.`);
    return;
  }
  const isOne = values.seed !== undefined && values.runs === undefined;
  const from = Number(values.seed ?? 1);
  const runs = isOne ? 1 : Number(values.runs ?? 2_000);
  const workers = Math.min(Number(values.workers), runs);
  const endAtMs = Date.now() + Number(values.seconds) * 1_000;
  const sabotage = SABOTAGES.find((name) => name === values.without);
  if (values.without !== undefined && !sabotage) {
    console.error(`--without takes one of ${SABOTAGES.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  if (isOne && values.log) {
    const report = await simulate({ seed: from, sabotage });
    for (const line of report.log()) console.log(line);
  }
  const startedMs = performance.now();
  const shares = Array.from({ length: workers }, (_, index) => ({
    from: from + index,
    to: from + runs,
    step: workers,
    endAtMs,
    sabotage,
  }));
  let stories = 0;
  const tallies = await Promise.all(
    shares.map((share) =>
      inWorker(share, (story) => {
        stories += 1;
        if (stories <= MOST_STORIES) console.log(`${story}\n`);
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
    const broken = new Set(tallies.flatMap((tally) => Object.keys(tally.broken)));
    for (const name of broken) console.log(`${name}: ${sum((tally) => tally.broken[name] ?? 0)}`);
    console.log(`failing seeds: ${failedSeeds.slice(0, 50).join(' ')}`);
    console.log(
      `repeat one: npm run test:simulation -- --seed ${failedSeeds[0]}${sabotage ? ` --without ${sabotage}` : ''}`,
    );
  }
  if (done < runs) console.log(`the time was over before ${runs - done} more runs`);
  console.log(`${done - failedSeeds.length} passed, ${failedSeeds.length} failed`);
  process.exitCode = failedSeeds.length > 0 || done === 0 ? 1 : 0;
}

function inWorker(share: Share, onFailure: (story: string) => void): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: share });
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'failure') onFailure(message.story);
      else resolve(message.tally);
    });
    worker.on('error', reject);
  });
}

async function work({ from, to, step, endAtMs, sabotage }: Share): Promise<void> {
  const tally: Tally = {
    runs: 0,
    failedSeeds: [],
    broken: {},
    messages: 0,
    events: 0,
    virtualSeconds: 0,
    crashes: 0,
    faults: 0,
  };
  const tell = (message: FromWorker) => parentPort?.postMessage(message);
  for (let seed = from; seed < to && Date.now() < endAtMs; seed += step) {
    const report = await simulate({ seed, sabotage });
    tally.runs += 1;
    tally.messages += report.messages;
    tally.events += report.events;
    tally.virtualSeconds += report.seconds;
    tally.crashes += report.crashes;
    tally.faults += report.faults;
    if (report.complaints.length === 0) continue;
    tally.failedSeeds.push(seed);
    for (const { broken } of report.complaints) tally.broken[broken] = (tally.broken[broken] ?? 0) + 1;
    if (tally.failedSeeds.length <= MOST_STORIES) tell({ kind: 'failure', story: report.story() });
  }
  tell({ kind: 'done', tally });
}
