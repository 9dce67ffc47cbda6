import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { repositoryRoot } from '../support/repository.ts';
import { Cluster } from './cluster.ts';
import { insideCounts } from './counted.ts';
import { type BenchGround, withGround } from './ground.ts';
import { type LoadChat, oneByOne, saturated, steady } from './load.ts';
import { chatsWith, withCpu } from './round.ts';
import { type PassedStatement, StatementTap } from './statement-tap.ts';
import { residentMb, round } from './statistics.ts';

const CHATS = 20;
const PER_SECOND = 20;
const WARM_UP = 400;

/** Prints where the time of a message goes: processor by package, statements, one message step by step, memory by kind. */
export async function profile(seconds: number): Promise<void> {
  await withGround(async (ground) => {
    const folder = await mkdtemp(join(tmpdir(), 'wa2ai-bench-profile-'));
    try {
      await profileIn(folder, ground, seconds);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

async function profileIn(folder: string, ground: BenchGround, seconds: number): Promise<void> {
  const tap = await StatementTap.before(ground.postgres.url);
  const inside = pathToFileURL(join(repositoryRoot, 'dist/tests/bench/inside-node.js')).href;
  const cluster = await Cluster.start(ground, {
    names: ['n1'],
    accounts: 1,
    through: (url) => tap.through(url),
    nodeArgs: ['--cpu-prof', '--cpu-prof-dir', folder, '--import', inside],
    env: { WA2AI_LOG_LEVEL: 'debug' },
  });
  const service = cluster.nodes.node('n1');
  const chats = chatsWith(
    ground,
    CHATS,
    cluster.phones.map(({ pn }) => pn),
  );
  await saturated(chats, WARM_UP);
  // What follows the last replies (receipts, acks) is not the next messages'.
  await wait(1_000);
  tap.take();
  const { load, cpuMs } = await withCpu(cluster, () => steady(chats, PER_SECOND, seconds));
  const messages = load.roundTripsMs.length;
  console.log(
    `\n${messages} messages at ${PER_SECOND}/s; a message costs the node ${round(cpuMs.node)} ms of processor time, PostgreSQL ${round(cpuMs.postgres)} ms`,
  );
  printStatements(tap.take(), messages);
  await printTimeline(chats, ground, tap);
  await printMemory(service.pid, (await insideCounts(service)).memoryMb);
  await cluster.nodes.endAll('SIGTERM');
  tap.stop();
  await printCpu(folder);
}

function printStatements(statements: readonly PassedStatement[], messages: number): void {
  const byText = new Map<string, { count: number; ms: number }>();
  for (const { text, startMs, endMs } of statements) {
    const words = text.replace(/\s+/g, ' ').trim().slice(0, 100);
    const entry = byText.get(words) ?? { count: 0, ms: 0 };
    byText.set(words, { count: entry.count + 1, ms: entry.ms + endMs - startMs });
  }
  console.log(
    `\nstatements: ${round(statements.length / messages, 2)} per message\n  per message  ms each  what`,
  );
  const rows = [...byText].sort(([, a], [, b]) => b.count - a.count).slice(0, 20);
  for (const [text, { count, ms }] of rows) {
    console.log(
      `  ${(count / messages).toFixed(2).padStart(11)}  ${(ms / count).toFixed(2).padStart(7)}  ${text}`,
    );
  }
}

/** What happened to one message, in milliseconds since its person sent it. */
async function printTimeline(
  chats: readonly LoadChat[],
  ground: BenchGround,
  tap: StatementTap,
): Promise<void> {
  await wait(1_000);
  tap.take();
  const stanzas = ground.emulator.transcript().length;
  const startMs = performance.now();
  const startAt = Date.now();
  const { roundTripsMs } = await oneByOne(chats, 1);
  await wait(500);
  const steps: Array<{ ms: number; what: string }> = [
    { ms: roundTripsMs[0] ?? Number.NaN, what: 'the person has the reply' },
    ...tap.take().flatMap(({ text, startMs: begin, endMs }) => [
      {
        ms: begin - startMs,
        what: `statement, ${round(endMs - begin)} ms: ${text.replace(/\s+/g, ' ').trim().slice(0, 80)}`,
      },
    ]),
    ...ground.emulator
      .transcript()
      .slice(stanzas)
      .map(({ atMs, kind, text, detail }) => ({
        ms: atMs - startAt,
        what: `WhatsApp: ${WHATSAPP[kind]} ${detail ?? text ?? ''}`,
      })),
  ];
  console.log('\none message\n  ms');
  for (const { ms, what } of steps.sort((a, b) => a.ms - b.ms))
    console.log(`  ${ms.toFixed(1).padStart(6)}  ${what}`);
}

/** What the emulator saw; times are whole milliseconds. */
const WHATSAPP = {
  in: 'the person wrote',
  out: 'the service sent',
  read: 'someone read',
  receipt: 'the service sent the receipt',
} as const;

async function printMemory(pid: number, kinds: Record<string, number>): Promise<void> {
  const status = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  const privateKb = [...status.matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce(
    (sum, [, kb]) => sum + Number(kb),
    0,
  );
  console.log(`\nmemory in MB: resident ${round(residentMb(pid))}, private ${round(privateKb / 1_024)}`);
  for (const [kind, mb] of Object.entries(kinds)) console.log(`  ${kind.padEnd(24)} ${mb}`);
}

interface CpuProfile {
  nodes: Array<{ id: number; callFrame: { functionName: string; url: string; lineNumber: number } }>;
  samples: number[];
  timeDeltas: number[];
}

async function printCpu(folder: string): Promise<void> {
  const [file] = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('the node wrote no profile');
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile;
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const packages = new Map<string, number>();
  const functions = new Map<string, number>();
  let busyMs = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    if (frame === undefined || frame.functionName === '(idle)' || frame.functionName === '(root)') continue;
    const ms = (timeDeltas[index] ?? 0) / 1_000;
    busyMs += ms;
    const owner = packageOf(frame);
    packages.set(owner, (packages.get(owner) ?? 0) + ms);
    const name = `${owner}: ${frame.functionName || '(anonymous)'} ${frame.url.split('/').at(-1)}:${frame.lineNumber + 1}`;
    functions.set(name, (functions.get(name) ?? 0) + ms);
  }
  print('processor time by package, start and end of the node included', packages, busyMs);
  print('processor time by function', functions, busyMs);
}

function packageOf({ functionName, url }: { functionName: string; url: string }): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'V8 and native code';
  if (url.startsWith('node:')) return 'Node.js';
  const names = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)];
  return names.at(-1)?.[1] ?? 'wa2ai';
}

function print(title: string, entries: ReadonlyMap<string, number>, totalMs: number): void {
  console.log(`\n${title}`);
  for (const [name, ms] of [...entries].sort(([, a], [, b]) => b - a).slice(0, 25)) {
    console.log(
      `  ${((ms / totalMs) * 100).toFixed(1).padStart(5)} %  ${ms.toFixed(0).padStart(7)} ms  ${name}`,
    );
  }
}
