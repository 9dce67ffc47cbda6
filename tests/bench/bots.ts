import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pairByQr } from '../support/pairing.ts';
import { repositoryRoot } from '../support/repository.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';

/** A paired bot under test, as its own process. */
export interface Bot {
  name: string;
  pid: number;
  /** Its other processes: those of the database. */
  helperPids(): number[];
  stop(): Promise<void>;
}

/** wa2ai with its embedded PostgreSQL, paired, with one wildcard route to the agent. */
export async function startWa2ai(emulator: WhatsAppEmulator, phone: Phone, agentUrl: string): Promise<Bot> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-bench-'));
  const service = await Wa2aiProcess.start({
    whatsappWsUrl: emulator.url,
    dataDir,
    // The people of the bench answer at once, which the service would treat as an auto-reply loop.
    env: { WA2AI_LOG_LEVEL: 'info', NODE_ENV: 'production', WA2AI_LOOP_TURNS: '0' },
  });
  await pairByQr(service, phone, emulator);
  await service.addRoute('*', agentUrl);
  return {
    name: 'wa2ai',
    pid: service.pid,
    helperPids: () => childrenOf(service.pid),
    stop: async () => {
      await service.end();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The minimal bot, paired. */
export async function startBareBot(emulator: WhatsAppEmulator, phone: Phone, agentUrl: string): Promise<Bot> {
  const file = join(repositoryRoot, 'dist/tests/bench/bare-bot.js');
  const child = spawn(process.execPath, [file, emulator.url, agentUrl], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const qr = await untilLine(child, lines, (line) => line.startsWith('qr '));
  const open = untilLine(child, lines, (line) => line === 'open');
  const live = emulator.waitFor('live', undefined, 30_000);
  await phone.scan(qr.slice(3));
  await Promise.all([open, live]);
  return {
    name: 'bare bot',
    pid: child.pid ?? -1,
    helperPids: () => [],
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

async function untilLine(
  child: ChildProcess,
  lines: ReturnType<typeof createInterface>,
  fits: (line: string) => boolean,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const onLine = (line: string) => {
      if (!fits(line)) return;
      lines.off('line', onLine);
      resolve(line);
    };
    lines.on('line', onLine);
    child.once('exit', () => reject(new Error('the bare bot ended early')));
  });
}

/** All descendants of a process (Linux). */
function childrenOf(pid: number): number[] {
  let list: string;
  try {
    list = readChildren(pid);
  } catch {
    return [];
  }
  const direct = list.trim().split(/\s+/).filter(Boolean).map(Number);
  return direct.flatMap((child) => [child, ...childrenOf(child)]);
}

function readChildren(pid: number): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
}
