import { guardConsole } from '../../router/src/providers/baileys/connection/console-guard.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { Nodes } from '../support/nodes.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { quietLog } from '../support/quiet-log.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { type ChatCounts, makeChats } from './chats.ts';
import { Conversations } from './conversations.ts';
import { journeys, waits } from './journey.ts';
import { judge, type Verdict } from './judge.ts';
import { LIKE_PROGRAMS, type Life, type LifeSettings, Lives, ONLY_NODE } from './process-runs.ts';
import { SeededRandom } from './random.ts';

/** Nothing was answered for so long while the service was up: it never will be. */
export const STUCK_AFTER_MS = 45_000;
const AGENT_SWITCHES = ['--delay-ms', '10'];

export interface TrialOptions {
  /** As the service reaches it. */
  databaseUrl: string;
  /** As the report reads it, when the service's way is a disturbed one. */
  reportDatabaseUrl?: string;
  /** Who serves people when the disturbance is over. Default: one node. */
  nodes?: readonly string[];
  messages: number;
  seed: number;
  chats?: ChatCounts;
  /** More of the service's environment. */
  env?: Record<string, string>;
  /** More of the route to the agent. */
  route?: Record<string, unknown>;
}

/** What a disturbance has at hand. */
export interface Trial {
  emulator: WhatsAppEmulator;
  account: Phone;
  lives: Lives;
  conversations: Conversations;
  random: SeededRandom;
  /** The account's linked device. */
  device(): string;
  /** Nodes of this trial, none started; `settingsOf` says how a node's lives differ. */
  nodes(plan: string, settingsOf?: (name: string) => Omit<LifeSettings, 'node'>): Nodes;
  /** Ends the agent; the returned function starts it again at the same place. */
  stopAgent(): Promise<() => Promise<void>>;
}

export interface TrialReport {
  seed: number;
  seconds: number;
  /** Of them, those of the disturbance. */
  disturbedSeconds: number;
  lives: Life[];
  verdict: Verdict;
  /** How the messages complained of came to it, in words; empty when all is good. */
  journeys: string;
  /** The same of messages that waited long in a life; they were answered in a later one. */
  waits: string;
}

/**
 * Lets people write to wa2ai while it is disturbed, and judges what they saw. Each node runs as its own process, always
 * on the same database; the emulator delivers again what was not acknowledged.
 * @param disturb has no life running when it begins, and must leave none; what it allowed people to say need not be
 *   answered when it ends
 */
export async function runTrial(
  options: TrialOptions,
  disturb: (trial: Trial) => Promise<void>,
): Promise<TrialReport> {
  const startedAtMs = Date.now();
  const { databaseUrl, seed } = options;
  // libsignal prints the sessions of the emulator's people.
  const releaseConsole = guardConsole(quietLog);
  const emulator = await WhatsAppEmulator.start();
  let agent = await MockAgent.start({ switches: AGENT_SWITCHES });
  try {
    const account = createPhone(emulator, { phone: '34670000000', name: 'Shop' });
    const random = new SeededRandom(seed);
    const chats = makeChats(emulator, account, options.chats ?? { numbers: 8, lids: 6, groups: 3 });
    const lives = new Lives({ emulator, databaseUrl, env: options.env });
    const conversations = new Conversations(emulator, chats, random);
    const trial: Trial = {
      emulator,
      account,
      lives,
      conversations,
      random,
      device: () => emulator.linkedDevices(account.pn)[0]?.pn ?? '',
      nodes: (plan, settingsOf) =>
        new Nodes(emulator, async (node) => {
          const { service, isReady } = lives.start(plan, { ...settingsOf?.(node), node });
          await isReady.catch(async (error: unknown) => {
            await service.end('SIGKILL');
            throw error;
          });
          return service;
        }),
      stopAgent: async () => {
        const port = Number(new URL(agent.url).port);
        await agent.stop();
        return async () => {
          agent = await MockAgent.start({ switches: AGENT_SWITCHES, port });
        };
      },
    };
    await prepare(options, emulator, account, agent.url);
    const disturbedAtMs = Date.now();
    await disturb(trial);
    const disturbedSeconds = (Date.now() - disturbedAtMs) / 1_000;
    await comeToRest(options, trial);

    const verdict = judge(emulator, chats);
    const told = {
      emulator,
      verdict,
      lives: lives.all,
      databaseUrl: options.reportDatabaseUrl ?? databaseUrl,
    };
    return {
      seed,
      seconds: (Date.now() - startedAtMs) / 1_000,
      disturbedSeconds,
      lives: lives.all,
      verdict,
      journeys: await journeys(told),
      waits: await waits(told),
    };
  } finally {
    await agent.stop();
    await emulator.stop();
    releaseConsole();
  }
}

/** Links the account and makes the route to the agent. */
async function prepare(
  { databaseUrl, env, route, nodes = [ONLY_NODE] }: TrialOptions,
  emulator: WhatsAppEmulator,
  account: Phone,
  agentUrl: string,
): Promise<void> {
  const service = await Wa2aiProcess.start({
    whatsappWsUrl: emulator.url,
    databaseUrl,
    env: { WA2AI_NODE_ID: nodes[0] ?? ONLY_NODE, ...LIKE_PROGRAMS, ...env },
  });
  await pairByQr(service, account, emulator);
  await service.addRoute('*', agentUrl, route);
  await service.end();
}

/**
 * The last life of each node: everything is said and answered. One more start after it lets whatever was left unfinished
 * show itself, before one last word in every chat.
 */
async function comeToRest(
  { messages, nodes: names = [ONLY_NODE] }: TrialOptions,
  trial: Trial,
): Promise<void> {
  const { emulator, conversations } = trial;
  emulator.faults.clear();
  conversations.allow(messages, 40);
  for (const round of ['to the end', 'once more']) {
    const nodes = trial.nodes(round);
    try {
      const live = emulator.waitFor('live', undefined, 60_000);
      await Promise.all([nodes.addAll(names), live]);
      await nodes.untilOpen();
      if (round === 'once more') conversations.lastWords();
      const isAnswered = await conversations.untilAllAnswered(STUCK_AFTER_MS);
      if (isAnswered) await emulator.waitUntilSettled(trial.device(), 30_000).catch(() => undefined);
    } finally {
      await nodes.endAll('SIGTERM');
    }
  }
}

/** One life of the service through which people write, disturbed once they were answered a third of what they say. */
export function inOneLife(
  messages: number,
  disturb: (trial: Trial, service: Wa2aiProcess) => Promise<void>,
): (trial: Trial) => Promise<void> {
  return async (trial) => {
    const { lives, conversations } = trial;
    const { service, isLive } = lives.start('disturbed');
    try {
      await isLive;
      await untilState(service, 'open');
      conversations.allow(messages, 15);
      await conversations.untilAnswered(Math.floor(messages / 3), STUCK_AFTER_MS);
      await disturb(trial, service);
      await conversations.untilAllAnswered(STUCK_AFTER_MS);
    } finally {
      await service.end();
    }
  };
}
