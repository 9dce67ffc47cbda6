import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pairByQr } from '../support/pairing.ts';
import { repositoryRoot } from '../support/repository.ts';
import { END_WITH_PARENT, Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';
import { childrenOf, cpuSeconds } from './statistics.ts';

/** Processor time used so far, in seconds. */
export interface UsedCpu {
  node: number;
  postgres: number;
}

/** A paired bot under test, as its own process. What it stored outlives its processes until `remove`. */
export interface Bot {
  readonly name: string;
  /** Its running process. */
  readonly pid: number;
  cpu(): UsedCpu;
  /** Ends its process and waits for the end; `SIGKILL` gives it no time to store anything. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it after `end`; resolves with the milliseconds until WhatsApp has given it everything that waited. */
  restart(): Promise<number>;
  /** Ends it and deletes what it stored. */
  remove(): Promise<void>;
}

/** The bench measures wa2ai, not the pace that spares an account. */
export const WITHOUT_LIMIT = { messages: { perSecond: 0 } };

/** What both bots talk to. */
export interface Surroundings {
  emulator: WhatsAppEmulator;
  agentUrl: string;
}

/** wa2ai with its embedded PostgreSQL, paired, with one wildcard route to the agent. */
export async function startWa2ai({ emulator, agentUrl }: Surroundings, phone: Phone): Promise<Bot> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-bench-'));
  const spawnService = () =>
    Wa2aiProcess.spawn({
      whatsappWsUrl: emulator.url,
      dataDir,
      endWithParent: true,
      // what `npm start` runs
      main: join(repositoryRoot, 'scripts/start.mjs'),
      env: PRODUCTION,
    });
  let service = spawnService();
  await service.untilReady();
  await pairByQr(service, phone, emulator);
  await service.addRoute('*', agentUrl);
  await service.api('PUT', '/api/settings/governor', WITHOUT_LIMIT);
  return {
    name: 'wa2ai',
    get pid() {
      return service.pid;
    },
    cpu: () => ({
      node: cpuSeconds(service.pid),
      postgres: childrenOf(service.pid).reduce((sum, pid) => sum + cpuSeconds(pid, { withEnded: true }), 0),
    }),
    end: async (signal) => void (await service.end(signal)),
    restart: async () => {
      const took = await timeUntilLive(emulator, () => {
        service = spawnService();
      });
      await service.untilReady();
      return took;
    },
    remove: async () => {
      await service.end();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Settings of a node in the bench. */
export const PRODUCTION = {
  WA2AI_LOG_LEVEL: 'info',
  NODE_ENV: 'production',
  // The bench's people answer at once and without end, which the service would take for programs.
  WA2AI_LOOP_TURNS: '0',
};

/** The bare bot, paired; its keys are in a file that it writes when it is asked to end. */
export async function startBareBot({ emulator, agentUrl }: Surroundings, phone: Phone): Promise<Bot> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-bench-bare-'));
  const file = join(repositoryRoot, 'dist/tests/bench/bare-bot.js');
  const spawnBot = () =>
    spawn(process.execPath, [...END_WITH_PARENT, file, emulator.url, agentUrl, join(dataDir, 'keys.json')], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { PATH: process.env.PATH, NODE_ENV: 'production' },
    });
  let child = spawnBot();
  const qr = await untilLine(child, 'qr ');
  const live = emulator.waitFor('live', undefined, LIVE_TIMEOUT_MS);
  await phone.scan(qr.slice(3));
  await live;
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  return {
    name: 'bare bot',
    get pid() {
      return child.pid ?? -1;
    },
    cpu: () => ({ node: cpuSeconds(child.pid ?? -1), postgres: 0 }),
    end,
    restart: () =>
      timeUntilLive(emulator, () => {
        child = spawnBot();
        child.stdout?.resume();
      }),
    remove: async () => {
      await end('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const LIVE_TIMEOUT_MS = 30_000;

async function timeUntilLive(emulator: WhatsAppEmulator, start: () => void): Promise<number> {
  const live = emulator.waitFor('live', undefined, LIVE_TIMEOUT_MS);
  const startMs = performance.now();
  start();
  await live;
  return performance.now() - startMs;
}

/** The first line that begins with `prefix`. @throws {Error} the process ended before it */
function untilLine(child: ChildProcess, prefix: string): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error('the output of the bare bot is not read');
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith(prefix)) resolve(line);
    });
    child.once('exit', () => reject(new Error('the bare bot ended before it was paired')));
  });
}
