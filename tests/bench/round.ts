import { createPeople } from '../whatsapp-emulator/person.ts';
import type { Bot, Surroundings, UsedCpu } from './bots.ts';
import { atOnce, describe, type LoadChat, type LoadResult, saturated, steady } from './load.ts';
import { residentMb } from './statistics.ts';

/** How much one round of measurements asks of a bot. */
export interface RoundOptions {
  /** How long 20 messages a second come. */
  seconds: number;
  /** Messages of the saturated part. */
  messages: number;
}

/** What one round saw of one bot: milliseconds, messages a second, milliseconds of processor time a message. */
export interface RoundFigures {
  startMs: number;
  startMb: number;
  p50Ms: number;
  p95Ms: number;
  nodeMs: number;
  postgresMs: number;
  saturatedPerSecond: number;
  saturatedNodeMs: number;
  saturatedPostgresMs: number;
  strangersPerSecond: number;
  unanswered: number;
}

const STEADY_CHATS = 20;
const STEADY_PER_SECOND = 20;
const SATURATED_CHATS = 100;
const STRANGERS = 300;
/** Messages that settle sessions and compilers before anything is measured. */
const WARM_UP = 200;

/** Starts a bot again and measures it; the bot is ended before and runs afterwards. */
export async function measureRound(
  bot: Bot,
  surroundings: Surroundings,
  to: string,
  options: RoundOptions,
): Promise<RoundFigures> {
  const startMs = await bot.restart();
  const startMb = residentMb(bot.pid);
  const known = chatsWith(surroundings, SATURATED_CHATS, [to]);
  // Everyone has written once before: a stranger's first message is measured for itself.
  await atOnce(known);
  await saturated(known, WARM_UP);
  const calm = await withCpu(bot, () =>
    steady(known.slice(0, STEADY_CHATS), STEADY_PER_SECOND, options.seconds),
  );
  const fast = await withCpu(bot, () => saturated(known, options.messages));
  const strangers = await atOnce(chatsWith(surroundings, STRANGERS, [to]));
  const { p50, p95 } = describe(calm.load);
  return {
    startMs,
    startMb,
    p50Ms: p50,
    p95Ms: p95,
    nodeMs: calm.cpuMs.node,
    postgresMs: calm.cpuMs.postgres,
    saturatedPerSecond: fast.load.perSecond,
    saturatedNodeMs: fast.cpuMs.node,
    saturatedPostgresMs: fast.cpuMs.postgres,
    strangersPerSecond: strangers.perSecond,
    unanswered: calm.load.lost + fast.load.lost + strangers.lost,
  };
}

/** A load, and the milliseconds of processor time that each of its messages cost. */
export async function withCpu(
  bot: { cpu(): UsedCpu },
  run: () => Promise<LoadResult>,
): Promise<{ load: LoadResult; cpuMs: UsedCpu }> {
  const before = bot.cpu();
  const load = await run();
  const after = bot.cpu();
  const perMessage = (seconds: number) => (seconds * 1_000) / (load.roundTripsMs.length + load.lost);
  return {
    load,
    cpuMs: {
      node: perMessage(after.node - before.node),
      postgres: perMessage(after.postgres - before.postgres),
    },
  };
}

let series = 0;

/** New people, spread evenly over the accounts. */
export function chatsWith(
  { emulator }: Pick<Surroundings, 'emulator'>,
  count: number,
  accounts: readonly string[],
): LoadChat[] {
  series += 1;
  return createPeople(emulator, count, `346${String(series).padStart(3, '0')}00000`).map((person, index) => ({
    person,
    to: accounts[index % accounts.length] ?? '',
  }));
}
