import { setTimeout as wait } from 'node:timers/promises';
import { createPhone } from '../whatsapp-emulator/phone.ts';
import { type Bot, startBareBot, startWa2ai } from './bots.ts';
import { Cluster } from './cluster.ts';
import { type BenchGround, machine, withGround } from './ground.ts';
import { saturated, steady } from './load.ts';
import { chatsWith, measureRound, type RoundFigures, withCpu } from './round.ts';
import { measureScale } from './scale.ts';
import { median, residentMb, round } from './statistics.ts';
import type { Measured, MeasureName } from './targets.ts';

export interface CompareOptions {
  /** Rounds of each bot, one after the other; the results are medians. */
  rounds: number;
  /** How long 20 messages a second come, in each round. */
  seconds: number;
  /** Messages of each saturated part. */
  messages: number;
  /** Messages after which the memory is read. */
  memoryMessages: number;
  /** Seconds without a message. */
  idle: number;
  /** Turns of the long chat. */
  turns: number;
  /** Rows of the large table of routes, and of chats. */
  rows: number;
}

/** Everything that one run of the bench measured. */
export interface BenchResults {
  /** ISO 8601. */
  at: string;
  machine: ReturnType<typeof machine>;
  options: CompareOptions;
  measured: Record<MeasureName, Measured>;
}

/** Measures wa2ai beside the bare bot; takes some ten minutes with the default options. */
export async function compare(options: CompareOptions): Promise<BenchResults> {
  const at = new Date().toISOString();
  const described = machine();
  const measured = {} as Record<MeasureName, Measured>;
  await withGround(async (ground) => {
    const pairs = await startBots(ground);
    const figures = await measureRounds(ground, pairs, options);
    const [bare, wa2ai] = [medians(figures.bare), medians(figures.wa2ai)];
    const both = (name: keyof RoundFigures): Measured => ({ wa2ai: wa2ai[name], reference: bare[name] });
    Object.assign(measured, {
      p50: both('p50Ms'),
      p95: both('p95Ms'),
      saturated: both('saturatedPerSecond'),
      nodeCpu: both('nodeMs'),
      postgresCpu: { wa2ai: wa2ai.postgresMs, reference: bare.nodeMs },
      strangers: both('strangersPerSecond'),
      startMb: both('startMb'),
      start: both('startMs'),
      unanswered: { wa2ai: figures.wa2ai.reduce((sum, { unanswered }) => sum + unanswered, 0) },
    });
    const { bot, to } = pairs.wa2ai;
    measured.recovery = {
      wa2ai: await measureRecovery(bot, ground, to, options.rounds),
      reference: bare.startMs + (BACKLOG / bare.saturatedPerSecond) * 1_000,
    };
    say('recovery', measured.recovery);
    measured.idle = { wa2ai: await measureIdle(bot, options.idle) };
    say('idle', measured.idle);
    measured.laterMb = { wa2ai: await measureMemory(bot, ground, to, options.memoryMessages) };
    say('memory', measured.laterMb);
    await pairs.bare.bot.remove();
    await bot.remove();
    measured.threeNodes = await measureThreeNodes(ground, options);
    say('three nodes', measured.threeNodes);
    Object.assign(measured, await measureScale(ground, options));
  });
  return { at, machine: described, options, measured };
}

interface BotOfAccount {
  bot: Bot;
  /** Its account's number. */
  to: string;
}

type Both<T> = Record<'bare' | 'wa2ai', T>;

/** Both paired and ended: only the one that is measured runs. */
async function startBots(ground: BenchGround): Promise<Both<BotOfAccount>> {
  const phones = {
    bare: createPhone(ground.emulator, { phone: '34900000001' }),
    wa2ai: createPhone(ground.emulator, { phone: '34900000002' }),
  };
  const bare = await startBareBot(ground, phones.bare);
  await bare.end('SIGTERM');
  const wa2ai = await startWa2ai(ground, phones.wa2ai);
  await wa2ai.end('SIGTERM');
  return { bare: { bot: bare, to: phones.bare.pn }, wa2ai: { bot: wa2ai, to: phones.wa2ai.pn } };
}

async function measureRounds(
  ground: BenchGround,
  pairs: Both<BotOfAccount>,
  options: CompareOptions,
): Promise<Both<RoundFigures[]>> {
  const figures: Both<RoundFigures[]> = { bare: [], wa2ai: [] };
  for (let number = 1; number <= options.rounds; number++) {
    for (const name of ['bare', 'wa2ai'] as const) {
      const { bot, to } = pairs[name];
      const seen = await measureRound(bot, ground, to, options);
      await bot.end('SIGTERM');
      figures[name].push(seen);
      const rounded = Object.entries(seen).map(([key, value]) => [key, round(value)]);
      say(`round ${number}, ${bot.name}`, Object.fromEntries(rounded));
    }
  }
  return figures;
}

function medians(rounds: readonly RoundFigures[]): RoundFigures {
  const names = Object.keys(rounds[0] ?? {}) as Array<keyof RoundFigures>;
  const entries = names.map((name) => [name, median(rounds.map((figures) => figures[name]))]);
  return Object.fromEntries(entries);
}

const BACKLOG_SECONDS = 4;
const BACKLOG_PER_SECOND = 20;
const BACKLOG = BACKLOG_SECONDS * BACKLOG_PER_SECOND;

/**
 * Kills the bot while people write, lets them write on for four seconds, and starts it again. The result is the median of the
 * times from the start until everything is answered, in milliseconds. The bot runs before and afterwards.
 */
async function measureRecovery(bot: Bot, ground: BenchGround, to: string, rounds: number): Promise<number> {
  await bot.restart();
  const chats = chatsWith(ground, BACKLOG_PER_SECOND, [to]);
  await saturated(chats, chats.length * 3);
  const tookMs: number[] = [];
  for (let number = 0; number < rounds; number++) {
    const before = steady(chats, BACKLOG_PER_SECOND, 1);
    await wait(1_000);
    await bot.end('SIGKILL');
    const backlog = steady(chats, BACKLOG_PER_SECOND, BACKLOG_SECONDS);
    await wait(BACKLOG_SECONDS * 1_000);
    const startMs = performance.now();
    await bot.restart();
    await Promise.all([before, backlog]);
    tookMs.push(performance.now() - startMs);
  }
  return median(tookMs);
}

/**
 * Processor time of the bot and its database while nobody writes, in per cent of a core: the median of three windows, because
 * the first one after a load has the garbage collections of that load.
 */
async function measureIdle(bot: Bot, seconds: number): Promise<number> {
  const shares: number[] = [];
  for (let number = 0; number < 3; number++) {
    const before = bot.cpu();
    await wait(seconds * 1_000);
    const after = bot.cpu();
    shares.push(((after.node + after.postgres - before.node - before.postgres) / seconds) * 100);
  }
  return median(shares);
}

/** Resident memory after a fresh start and that many messages, in MB. */
async function measureMemory(bot: Bot, ground: BenchGround, to: string, messages: number): Promise<number> {
  await bot.end('SIGTERM');
  await bot.restart();
  await saturated(chatsWith(ground, 100, [to]), messages);
  return residentMb(bot.pid);
}

/** Processor time of all nodes and PostgreSQL per message: three nodes with three accounts beside one of each. */
async function measureThreeNodes(
  ground: BenchGround,
  { rounds, messages }: CompareOptions,
): Promise<Measured> {
  const sizes = { one: { count: 1, ms: [] as number[] }, three: { count: 3, ms: [] as number[] } };
  for (let number = 0; number < rounds; number++) {
    for (const { count, ms } of Object.values(sizes)) {
      const names = Array.from({ length: count }, (_, index) => `n${index + 1}`);
      const cluster = await Cluster.start(ground, { names, accounts: count });
      const accounts = cluster.phones.map(({ pn }) => pn);
      const chats = chatsWith(ground, 24, accounts);
      await saturated(chats, chats.length * 5);
      const { cpuMs } = await withCpu(cluster, () => saturated(chats, messages));
      ms.push(cpuMs.node + cpuMs.postgres);
      await cluster.stop();
    }
  }
  return { wa2ai: median(sizes.three.ms), reference: median(sizes.one.ms) };
}

function say(what: string, values: object): void {
  console.log(`${what}:`, JSON.stringify(values));
}
