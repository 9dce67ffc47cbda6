import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startEmbeddedPostgres } from '../../router/src/infra/storage/embedded/embedded-postgres.ts';
import { guardConsole } from '../../router/src/providers/baileys/connection/console-guard.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { quietLog } from '../support/quiet-log.ts';
import { repositoryRoot } from '../support/repository.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPeople } from '../whatsapp-emulator/person.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';
import { startBareBot } from './bots.ts';
import { type BenchGround, Cluster } from './cluster.ts';
import { describe, type LoadChat, type LoadResult, saturated, steady } from './load.ts';
import { quantile } from './statistics.ts';
import { takeOvers } from './take-over.ts';

export interface NodesBenchOptions {
  /** Numbers of nodes to measure. */
  counts: readonly number[];
  /** Messages at full speed, in each measurement. */
  messages: number;
  /** Duration of the fixed rate. */
  seconds: number;
  /** Take-overs of each kind. */
  rounds: number;
}

/** The same chats in each measurement, spread evenly over the accounts. */
const CHATS = 24;
const MODEST_PER_SECOND = 20;
const WARM_UP = 200;
const ACCOUNTS = [1, 3];
const JOURNAL_ROUNDS = 3;

/** Prints messages a second by number of nodes, take-over times and the cost of the journal. */
export async function benchNodes(options: NodesBenchOptions): Promise<void> {
  const releaseConsole = guardConsole(quietLog);
  console.log(
    `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}, ${load()}; nodes, PostgreSQL, emulator, agent and load share it.`,
  );
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-bench-nodes-'));
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: quietLog,
    settings: { max_connections: '200' },
  });
  const emulator = await WhatsAppEmulator.start();
  const agent = await MockAgent.start();
  const ground: BenchGround = { emulator, agentUrl: agent.url, postgres: { url: postgres.url, dataDir } };
  try {
    await benchBareBot(ground, options);
    console.log(HEAD);
    for (const accounts of ACCOUNTS) {
      for (const count of options.counts) await benchCount(ground, count, accounts, options);
    }
    await benchJournal(ground, options);
    await benchTakeOvers(ground, options.rounds);
  } finally {
    await agent.stop();
    await emulator.stop();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
    releaseConsole();
  }
}

const HEAD = `
                       saturated            at ${MODEST_PER_SECOND}/s     CPU ms a message, saturated
nodes accounts  messages/s  p50 ms  p95 ms  p50 ms  p95 ms   nodes  PostgreSQL  load   unanswered`;

async function benchBareBot(ground: BenchGround, options: NodesBenchOptions): Promise<void> {
  const phone = createPhone(ground.emulator, { phone: '34900000009' });
  const bot = await startBareBot(ground.emulator, phone, ground.agentUrl);
  const chats = chatsWith(ground, [phone.pn]);
  await saturated(chats, WARM_UP);
  const calm = describe(await steady(chats, MODEST_PER_SECOND, options.seconds));
  const fast = await saturated(chats, options.messages);
  await bot.stop();
  console.log(
    `bare bot, for comparison: ${round(fast.perSecond)} messages/s; at ${MODEST_PER_SECOND}/s p50 ${round(calm.p50)} ms, p95 ${round(calm.p95)} ms`,
  );
}

async function benchCount(
  ground: BenchGround,
  count: number,
  accounts: number,
  options: NodesBenchOptions,
): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `n${index + 1}`);
  const cluster = await Cluster.start(ground, { names, accounts });
  const chats = chatsWith(
    ground,
    cluster.phones.map(({ pn }) => pn),
  );
  await saturated(chats, WARM_UP);
  const { fast, cpuMs } = await saturatedWithCpu(cluster, chats, options.messages);
  const calm = await steady(chats, MODEST_PER_SECOND, options.seconds);
  await cluster.stop();
  const cells = [
    [count, 5],
    [accounts, 9],
    [round(fast.perSecond), 12],
    [round(describe(fast).p50), 8],
    [round(describe(fast).p95), 8],
    [round(describe(calm).p50), 8],
    [round(describe(calm).p95), 8],
    [round(cpuMs.nodes), 8],
    [round(cpuMs.postgres), 12],
    [round(cpuMs.load), 6],
    [fast.lost + calm.lost, 13],
  ] as const;
  console.log(`${cells.map(([value, width]) => String(value).padStart(width)).join('')}   (${load()})`);
}

async function saturatedWithCpu(
  cluster: Cluster,
  chats: readonly LoadChat[],
  messages: number,
): Promise<{ fast: LoadResult; cpuMs: { nodes: number; postgres: number; load: number } }> {
  const before = cluster.cpuSeconds();
  const own = process.cpuUsage();
  const fast = await saturated(chats, messages);
  const after = cluster.cpuSeconds();
  const { user, system } = process.cpuUsage(own);
  const perMessage = (seconds: number) => (seconds * 1_000) / messages;
  return {
    fast,
    cpuMs: {
      nodes: perMessage(after.nodes - before.nodes),
      postgres: perMessage(after.postgres - before.postgres),
      load: perMessage((user + system) / 1_000_000),
    },
  };
}

/** With and without the journal in alternation, each on a new database, so that other load affects both. */
async function benchJournal(ground: BenchGround, { messages }: NodesBenchOptions): Promise<void> {
  const preload = pathToFileURL(join(repositoryRoot, 'dist/tests/bench/without-journal.js')).href;
  const kinds = {
    with: { nodeArgs: [], perSecond: [] as number[], cpuMs: [] as number[] },
    without: { nodeArgs: ['--import', preload], perSecond: [] as number[], cpuMs: [] as number[] },
  };
  for (let turn = 0; turn < JOURNAL_ROUNDS; turn++) {
    for (const kind of Object.values(kinds)) {
      const cluster = await Cluster.start(ground, { names: ['n1'], accounts: 1, nodeArgs: kind.nodeArgs });
      const chats = chatsWith(
        ground,
        cluster.phones.map(({ pn }) => pn),
      );
      await saturated(chats, WARM_UP);
      const { fast, cpuMs } = await saturatedWithCpu(cluster, chats, messages);
      await cluster.stop();
      kind.perSecond.push(fast.perSecond);
      kind.cpuMs.push(cpuMs.nodes + cpuMs.postgres);
    }
  }
  const median = (values: number[]) => quantile(values, 0.5);
  const [a, b] = [median(kinds.with.perSecond), median(kinds.without.perSecond)];
  const [c, d] = [median(kinds.with.cpuMs), median(kinds.without.cpuMs)];
  console.log(
    `\njournal, median of ${JOURNAL_ROUNDS}: ${round(a)} messages/s with, ${round(b)} without (${round(a / b, 2)}x); CPU a message, node and PostgreSQL: ${round(c)} ms with, ${round(d)} ms without (${round(c / d, 2)}x)   (${load()})`,
  );
}

async function benchTakeOvers(ground: BenchGround, rounds: number): Promise<void> {
  for (const [what, signal] of [
    ['killed (SIGKILL)', 'SIGKILL'],
    ['hangs (SIGSTOP), with a lease of 15 s', 'SIGSTOP'],
  ] as const) {
    const { median, least, most } = await takeOvers(ground, signal, rounds);
    console.log(
      `owner ${what}: live at another node after ${seconds(median)} s, median of ${rounds} (${seconds(least)} to ${seconds(most)} s)   (${load()})`,
    );
  }
}

let people = 0;

function chatsWith({ emulator }: BenchGround, accounts: readonly string[]): LoadChat[] {
  people += 1;
  return createPeople(emulator, CHATS, `3467${people}000000`).map((person, index) => ({
    person,
    to: accounts[index % accounts.length] ?? '',
  }));
}

function load(): string {
  return `load ${round(loadavg()[0] ?? 0)}`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}
