import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MockAgent } from '../support/mock-agent.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPeople, createPerson } from '../whatsapp-emulator/person.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';
import { type Bot, startBareBot, startWa2ai } from './bots.ts';
import { describe, saturated, steady } from './load.ts';
import { cpuSeconds, quantile, residentMb } from './statistics.ts';

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '30' },
    turns: { type: 'string', default: '3000' },
    idle: { type: 'string', default: '20' },
    abi: { type: 'boolean', default: false },
    nodes: { type: 'string' },
    rounds: { type: 'string', default: '10' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run bench -- [--messages 10000] [--seconds 30] [--turns 3000] [--idle 20]
  Round trips of wa2ai beside a bare Baileys bot that asks the same agent, both through the WhatsApp emulator:
  20 messages a second over 20 chats for --seconds; as fast as it goes until --messages were answered; wa2ai alone:
  memory on the way, one chat of --turns turns, idle CPU over --idle seconds.
npm run bench -- --nodes 1,2,3 [--messages 1500] [--seconds 30] [--rounds 10]
  Messages a second and round trips by number of nodes on one PostgreSQL, with one account and with three; how long a
  take-over takes, as median of --rounds kills and hangs; what the journal costs a message.
npm run bench -- --abi
  Encodings and decodings a second beside bare viem, and what the ABI client adds to a bare fetch.`);
  process.exit(0);
}
if (values.abi) {
  const { benchAbi } = await import('./abi-bench.ts');
  await benchAbi();
  process.exit(0);
}
if (values.nodes !== undefined) {
  const { benchNodes } = await import('./nodes-bench.ts');
  await benchNodes({
    counts: values.nodes.split(',').map(Number),
    messages: Math.min(Number(values.messages), 1_500),
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
  });
  process.exit(0);
}
const CHATS = 20;
const MEMORY_FROM = 2_000;
/** Warm-up messages before the measurement. */
const WARM_UP = 200;

interface Figures {
  steady: { p50: number; p95: number; lost: number };
  saturated: { p50: number; p95: number; perSecond: number; lost: number };
}

const round = (value: number, digits = 1) => Number(value.toFixed(digits));

async function measure(bot: Bot, emulator: WhatsAppEmulator, to: string, first: string): Promise<Figures> {
  const chats = createPeople(emulator, CHATS, first).map((person) => ({ person, to }));
  await saturated(chats, WARM_UP);
  const calm = await steady(chats, 20, Number(values.seconds));
  console.log(`${bot.name}: 20/s over ${CHATS} chats`, figures(calm));
  const fast = await saturated(chats, 1_500);
  console.log(`${bot.name}: saturated`, { ...figures(fast), perSecond: round(fast.perSecond) });
  return {
    steady: { ...describe(calm), lost: calm.lost },
    saturated: { ...describe(fast), perSecond: fast.perSecond, lost: fast.lost },
  };
}

function figures(load: Parameters<typeof describe>[0]) {
  const { p50, p95 } = describe(load);
  return { answered: load.roundTripsMs.length, lost: load.lost, p50: round(p50), p95: round(p95) };
}

async function memory(bot: Bot, emulator: WhatsAppEmulator, to: string): Promise<void> {
  const chats = createPeople(emulator, CHATS, '34600300000').map((person) => ({ person, to }));
  const total = Number(values.messages);
  const samples: Array<{ answered: number; mb: number }> = [
    { answered: 0, mb: round(residentMb(bot.pid), 0) },
  ];
  await saturated(chats, total, (answered) => {
    if (answered % 1_000 === 0) samples.push({ answered, mb: round(residentMb(bot.pid), 0) });
  });
  console.log(
    `${bot.name}: resident memory by messages answered`,
    samples.map(({ answered, mb }) => `${answered}: ${mb} MB`).join(', '),
  );
  const settled = samples.filter(({ answered }) => answered >= MEMORY_FROM).map(({ mb }) => mb);
  console.log(
    `${bot.name}: memory after ${MEMORY_FROM} messages: ${Math.min(...settled)} to ${Math.max(...settled)} MB`,
  );
}

async function longChat(bot: Bot, emulator: WhatsAppEmulator, to: string): Promise<void> {
  const person = createPerson(emulator, { phone: '34600400001' });
  const turns = Number(values.turns);
  const { roundTripsMs } = await saturated([{ person, to }], turns);
  const part = Math.max(1, Math.floor(turns / 10));
  const begin = quantile(roundTripsMs.slice(part / 2, part * 1.5), 0.5);
  const end = quantile(roundTripsMs.slice(-part), 0.5);
  console.log(
    `${bot.name}: one chat of ${turns} turns: median ${round(begin)} ms at its start, ${round(end)} ms at its end (${round(end / begin, 2)}x)`,
  );
}

async function idle(bot: Bot): Promise<void> {
  const pids = () => [bot.pid, ...bot.helperPids()];
  await wait(3_000);
  const usedBefore = new Map(pids().map((pid) => [pid, cpuSeconds(pid)]));
  const seconds = Number(values.idle);
  await wait(seconds * 1_000);
  // The time of a PostgreSQL process that ended meanwhile is not counted.
  const alive = pids();
  const used = [...usedBefore]
    .filter(([pid]) => alive.includes(pid))
    .map(([pid, before]) => ({ pid, seconds: cpuSeconds(pid) - before }));
  const own = used.find(({ pid }) => pid === bot.pid)?.seconds ?? 0;
  const all = used.reduce((sum, entry) => sum + entry.seconds, 0);
  console.log(
    `${bot.name}: idle over ${seconds} s: ${round((own / seconds) * 100, 2)} % of a core, with its PostgreSQL ${round((all / seconds) * 100, 2)} %`,
  );
}

console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}; emulator, agent and load share the machine.`,
);
const emulator = await WhatsAppEmulator.start();
const agent = await MockAgent.start();
const barePhone = createPhone(emulator, { phone: '34900000001' });
const bare = await startBareBot(emulator, barePhone, agent.url);
const bareFigures = await measure(bare, emulator, barePhone.pn, '34600100000');
await bare.stop();

const phone = createPhone(emulator, { phone: '34900000002' });
const wa2ai = await startWa2ai(emulator, phone, agent.url);
await idle(wa2ai);
const wa2aiFigures = await measure(wa2ai, emulator, phone.pn, '34600200000');
await memory(wa2ai, emulator, phone.pn);
await longChat(wa2ai, emulator, phone.pn);
await idle(wa2ai);

console.log(`
                          bare bot     wa2ai
p50 at 20/s          ${cell(bareFigures.steady.p50)} ms ${cell(wa2aiFigures.steady.p50)} ms   +${round(wa2aiFigures.steady.p50 - bareFigures.steady.p50)} ms (target: at most +20)
p95 at 20/s          ${cell(bareFigures.steady.p95)} ms ${cell(wa2aiFigures.steady.p95)} ms   +${round(wa2aiFigures.steady.p95 - bareFigures.steady.p95)} ms (target: at most +60)
saturated            ${cell(bareFigures.saturated.perSecond)} /s ${cell(wa2aiFigures.saturated.perSecond)} /s   ${round(wa2aiFigures.saturated.perSecond / bareFigures.saturated.perSecond, 2)}x (target: at least 0.6x)
unanswered           ${cell(bareFigures.steady.lost + bareFigures.saturated.lost)}    ${cell(wa2aiFigures.steady.lost + wa2aiFigures.saturated.lost)}`);
await wa2ai.stop();
await agent.stop();
await emulator.stop();
process.exit(0);

function cell(value: number): string {
  return value.toFixed(1).padStart(9);
}
