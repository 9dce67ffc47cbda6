import { MockAgent } from '../support/mock-agent.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { type ChatCounts, makeChats } from './chats.ts';
import { Conversations } from './conversations.ts';
import { journeys } from './journey.ts';
import { judge, type Verdict } from './judge.ts';
import { type Life, Lives, planLife } from './lives.ts';
import { SeededRandom } from './random.ts';

/** Nothing was answered for so long while the service was up: it never will be. */
const STUCK_AFTER_MS = 45_000;

export interface CrashOptions {
  /** An empty, migrated or unmigrated database of the run's own. */
  databaseUrl: string;
  messages: number;
  kills: number;
  seed: number;
  /** No further kill after so many minutes. */
  minutes?: number;
  chats?: ChatCounts;
  /** Told after each life. */
  onLife?: (life: Life, progress: { said: number; answered: number }) => void;
}

export interface CrashReport {
  seed: number;
  seconds: number;
  kills: number;
  lives: Life[];
  verdict: Verdict;
  /** How the messages complained of came to it, in words; empty when all is good. */
  journeys: string;
}

/**
 * Lets people write to wa2ai while it is killed again and again, and judges what they saw. The service runs as its own
 * process, always on the same database; the emulator delivers again what was not acknowledged.
 */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const startedAtMs = Date.now();
  const random = new SeededRandom(options.seed);
  const [emulator, agent] = await Promise.all([
    WhatsAppEmulator.start(),
    MockAgent.start({ switches: ['--delay-ms', '10'] }),
  ]);
  try {
    const account = createPhone(emulator, { phone: '34670000000', name: 'Shop' });
    const chats = makeChats(emulator, account, options.chats ?? { numbers: 8, lids: 6, groups: 3 });
    await prepare(options.databaseUrl, emulator, account, agent.url);
    const lives = new Lives({ emulator, databaseUrl: options.databaseUrl });
    const conversations = new Conversations(emulator, chats, random);
    await killAgainAndAgain(options, { emulator, lives, conversations, random });
    await comeToRest(options.messages, { emulator, lives, conversations, account });

    const verdict = judge(emulator, chats);
    return {
      seed: options.seed,
      seconds: (Date.now() - startedAtMs) / 1_000,
      kills: lives.all.filter((life) => life.end !== 'still alive').length,
      lives: lives.all,
      verdict,
      journeys: await journeys({ emulator, verdict, lives: lives.all, databaseUrl: options.databaseUrl }),
    };
  } finally {
    await agent.stop();
    await emulator.stop();
  }
}

interface Run {
  emulator: WhatsAppEmulator;
  lives: Lives;
  conversations: Conversations;
}

/** Links the account and makes the route to the agent. */
async function prepare(
  databaseUrl: string,
  emulator: WhatsAppEmulator,
  account: Phone,
  agentUrl: string,
): Promise<void> {
  const service = await Wa2aiProcess.start({
    whatsappWsUrl: emulator.url,
    databaseUrl,
    env: { WA2AI_NODE_ID: 'crash' },
  });
  await pairByQr(service, account, emulator);
  await service.addRoute('*', agentUrl);
  await service.end();
}

async function killAgainAndAgain(
  options: CrashOptions,
  { emulator, lives, conversations, random }: Run & { random: SeededRandom },
): Promise<void> {
  const { messages, kills, minutes = Number.POSITIVE_INFINITY } = options;
  const untilMs = Date.now() + minutes * 60_000;
  const perLife = Math.floor(messages / (kills + 1));
  for (let kill = 1; kill <= kills && Date.now() < untilMs; kill += 1) {
    const plan = planLife(kill, random, perLife);
    emulator.faults.duplicates = random.between(0, 3);
    conversations.allow(perLife * kill, random.between(4, 40));
    const life = await lives.live(plan, (signal) => conversations.untilAllAnswered(600_000, signal));
    options.onLife?.(life, conversations);
  }
}

/**
 * The last life: everything is said and answered. One more start after it lets whatever a kill left unfinished show
 * itself, before one last word in every chat.
 */
async function comeToRest(
  messages: number,
  { emulator, lives, conversations, account }: Run & { account: Phone },
): Promise<void> {
  emulator.faults.duplicates = 0;
  conversations.allow(messages, 40);
  for (const round of ['to the end', 'once more']) {
    const { service, life, isLive } = lives.start(round);
    try {
      await isLive;
      await untilState(service, 'open');
      if (round === 'once more') conversations.lastWords();
      const isAnswered = await conversations.untilAllAnswered(STUCK_AFTER_MS);
      const device = emulator.linkedDevices(account.pn)[0]?.pn ?? '';
      if (isAnswered) await emulator.waitUntilSettled(device, 30_000).catch(() => undefined);
    } finally {
      await lives.end(service, life, 'SIGTERM');
    }
  }
}
