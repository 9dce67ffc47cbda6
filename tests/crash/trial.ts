import { guardConsole } from '../../router/src/providers/baileys/connection/open-socket.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { Nodes } from '../support/nodes.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { quietLog } from '../support/quiet-log.ts';
import { WITHOUT_NOTICES } from '../support/shaping.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { allPolicies, approveStrangers } from './all-policies.ts';
import { type Chat, type ChatCounts, makeChats } from './chats.ts';
import { checkTranscript, type TranscriptCheck } from './check-transcript.ts';
import { Conversations } from './conversations.ts';
import { traces, waits } from './message-trace.ts';
import {
  LIKE_PROGRAMS,
  ONLY_NODE,
  type ProcessRun,
  ProcessRuns,
  type RunSettings,
  STUCK_AFTER_MS,
} from './process-runs.ts';
import { SeededRandom } from './random.ts';
import { SLOW_WRITER_CONFIG, startSlowWriter } from './slow-writer.ts';

const AGENT_SWITCHES = ['--delay-ms', '10'];

export interface TrialOptions {
  /** As the service reaches it. */
  databaseUrl: string;
  /** The address that the report uses, when the service's connection is disturbed. */
  reportDatabaseUrl?: string;
  /** Nodes that run after the disturbance. Default: one node. */
  nodes?: readonly string[];
  messages: number;
  seed: number;
  chats?: ChatCounts;
  /** Every policy of a chat that leaves the answers as they are is on. */
  hasPolicies?: boolean;
  /** Each answer is shown while its agent, a model behind OpenAI's API, writes it: one message that grows by edits. */
  isStreamed?: boolean;
  /** Environment variables of the service, added to the defaults. */
  env?: Record<string, string>;
  /** Fields of the route to the agent, added to the defaults. */
  route?: Record<string, unknown>;
}

/** What a disturbance can use. */
export interface Trial {
  emulator: WhatsAppEmulator;
  account: Phone;
  runs: ProcessRuns;
  conversations: Conversations;
  random: SeededRandom;
  /** The account's linked device. */
  device(): string;
  /** Nodes of this trial, none started; `settingsOf` says how a node's runs differ. */
  nodes(plan: string, settingsOf?: (name: string) => Omit<RunSettings, 'node'>): Nodes;
  /** Stops the agent; the returned function starts it again at the same address. */
  stopAgent(): Promise<() => Promise<void>>;
}

export interface TrialReport {
  seed: number;
  seconds: number;
  /** The part of `seconds` that the disturbance took. */
  disturbedSeconds: number;
  runs: ProcessRun[];
  check: TranscriptCheck;
  /** Traces of the messages with a violation; empty when there is none. */
  traces: string;
  /** Traces of messages that waited long in a run and were answered in a later one. */
  waits: string;
}

/**
 * Runs wa2ai under a disturbance while people write, then checks what they saw. Each node is a process of its own on the
 * same database; the emulator redelivers what was not acknowledged.
 * @param disturb starts without a running process and must leave none; the messages that it allowed need not be answered
 *   when it ends
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
  let agent = options.isStreamed
    ? await startSlowWriter()
    : await MockAgent.start({ switches: AGENT_SWITCHES });
  let stopApproving = () => {};
  try {
    const account = createPhone(emulator, { phone: '34670000000', name: 'Shop' });
    const random = new SeededRandom(seed);
    const chats = makeChats(emulator, account, options.chats ?? { numbers: 8, lids: 6, groups: 3 });
    const runs = new ProcessRuns({ emulator, databaseUrl, env: options.env });
    const conversations = new Conversations(emulator, chats, random);
    const trial: Trial = {
      emulator,
      account,
      runs,
      conversations,
      random,
      device: () => emulator.linkedDevices(account.pn)[0]?.pn ?? '',
      nodes: (plan, settingsOf) =>
        new Nodes(emulator, async (node) => {
          const { service, isReady } = runs.start(plan, { ...settingsOf?.(node), node });
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
    await prepare(options, emulator, account, agent.url, chats);
    if (options.hasPolicies) stopApproving = approveStrangers(account);
    const disturbedAtMs = Date.now();
    await disturb(trial);
    const disturbedSeconds = (Date.now() - disturbedAtMs) / 1_000;
    await finishConversations(options, trial);

    const check = checkTranscript(emulator, chats);
    const reported = {
      emulator,
      check,
      runs: runs.all,
      databaseUrl: options.reportDatabaseUrl ?? databaseUrl,
    };
    return {
      seed,
      seconds: (Date.now() - startedAtMs) / 1_000,
      disturbedSeconds,
      runs: runs.all,
      check,
      traces: await traces(reported),
      waits: await waits(reported),
    };
  } finally {
    stopApproving();
    await agent.stop();
    await emulator.stop();
    releaseConsole();
  }
}

/** Links the account and makes the route to the agent. */
async function prepare(
  { databaseUrl, env, route, nodes = [ONLY_NODE], hasPolicies, isStreamed }: TrialOptions,
  emulator: WhatsAppEmulator,
  account: Phone,
  agentUrl: string,
  chats: readonly Chat[],
): Promise<void> {
  const service = await Wa2aiProcess.start({
    whatsappWsUrl: emulator.url,
    databaseUrl,
    env: { WA2AI_NODE_ID: nodes[0] ?? ONLY_NODE, ...LIKE_PROGRAMS, ...env },
  });
  await pairByQr(service, account, emulator);
  // Every message is answered, so that the transcript can be checked.
  const stream = isStreamed ? 'edit' : 'off';
  const conversation = hasPolicies
    ? allPolicies(chats, stream)
    : { group: { answer: 'always' }, notices: WITHOUT_NOTICES, reply: { stream } };
  const config = { ...conversation, ...(isStreamed && SLOW_WRITER_CONFIG) };
  await service.addRoute('*', agentUrl, { config, ...route });
  await service.end();
}

/**
 * Runs the nodes until every message is sent and answered. Then starts them once more, so that unfinished work shows, and
 * sends a last message in every chat.
 */
async function finishConversations(
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
      if (round === 'once more') conversations.writeInEveryChat();
      const isAnswered = await conversations.untilAllAnswered(STUCK_AFTER_MS);
      if (isAnswered) await emulator.waitUntilSettled(trial.device(), 30_000).catch(() => undefined);
    } finally {
      await nodes.endAll('SIGTERM');
    }
  }
}

/** One run of the service, disturbed after a third of the messages was answered. */
export function inOneRun(
  messages: number,
  disturb: (trial: Trial, service: Wa2aiProcess) => Promise<void>,
): (trial: Trial) => Promise<void> {
  return async (trial) => {
    const { runs, conversations } = trial;
    const { service, isReady, isLive } = runs.start('disturbed');
    try {
      // WhatsApp is connected before the API is loaded.
      await Promise.all([isReady, isLive]);
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
