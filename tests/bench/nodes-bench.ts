import { createPhone } from '../whatsapp-emulator/phone.ts';
import { startBareBot } from './bots.ts';
import { Cluster } from './cluster.ts';
import { type BenchGround, machine, withGround } from './ground.ts';
import { describe, saturated, steady } from './load.ts';
import { chatsWith, withCpu } from './round.ts';
import { round } from './statistics.ts';
import { takeOvers } from './take-over.ts';

export interface NodesBenchOptions {
  /** Numbers of nodes to measure. */
  counts: readonly number[];
  /** Answered as fast as it goes, in each measurement. */
  messages: number;
  /** How long the modest rate lasts. */
  seconds: number;
  /** Take-overs of each kind. */
  rounds: number;
}

/** The same chats in every measurement, spread evenly over the accounts. */
const CHATS = 24;
const MODEST_PER_SECOND = 20;
const WARM_UP = 200;
const ACCOUNTS = [1, 3];

/** Prints messages a second by number of nodes and take-over times. */
export async function benchNodes(options: NodesBenchOptions): Promise<void> {
  await withGround(async (ground) => {
    await benchBareBot(ground, options);
    console.log(HEAD);
    for (const accounts of ACCOUNTS) {
      for (const count of options.counts) await benchCount(ground, count, accounts, options);
    }
    await benchTakeOvers(ground, options.rounds);
  });
}

const HEAD = `
                       saturated            at ${MODEST_PER_SECOND}/s     CPU ms a message, saturated
nodes accounts  messages/s  p50 ms  p95 ms  p50 ms  p95 ms   nodes  PostgreSQL   unanswered`;

async function benchBareBot(ground: BenchGround, options: NodesBenchOptions): Promise<void> {
  const phone = createPhone(ground.emulator, { phone: '34900000009' });
  const bot = await startBareBot(ground, phone);
  const chats = chatsWith(ground, CHATS, [phone.pn]);
  await saturated(chats, WARM_UP);
  const calm = describe(await steady(chats, MODEST_PER_SECOND, options.seconds));
  const fast = await saturated(chats, options.messages);
  await bot.remove();
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
    CHATS,
    cluster.phones.map(({ pn }) => pn),
  );
  await saturated(chats, WARM_UP);
  const { load: fast, cpuMs } = await withCpu(cluster, () => saturated(chats, options.messages));
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
    [round(cpuMs.node), 8],
    [round(cpuMs.postgres), 12],
    [fast.lost + calm.lost, 13],
  ] as const;
  console.log(`${cells.map(([value, width]) => String(value).padStart(width)).join('')}   (${load()})`);
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

function load(): string {
  return `load ${machine().load}`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
