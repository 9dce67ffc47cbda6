import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { guardConsole } from '../../router/src/providers/baileys/connection/open-socket.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { quietLog } from '../support/quiet-log.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Surroundings } from './bots.ts';
import { round } from './statistics.ts';

/** Everything around the nodes of a measurement, on this machine. */
export interface BenchGround extends Surroundings {
  /** One PostgreSQL for all nodes, as its owner. */
  postgres: { url: string; dataDir: string };
}

/** Calls `run` with an emulator, an agent and a PostgreSQL, and ends them afterwards. */
export async function withGround(run: (ground: BenchGround) => Promise<void>): Promise<void> {
  const releaseConsole = guardConsole(quietLog);
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-bench-postgres-'));
  const settings = { max_connections: '200' };
  const postgres = await startEmbeddedPostgres({ dataDir, log: quietLog, settings });
  const emulator = await WhatsAppEmulator.start();
  const agent = await MockAgent.start();
  try {
    await run({ emulator, agentUrl: agent.url, postgres: { url: postgres.url, dataDir } });
  } finally {
    await agent.stop();
    await emulator.stop();
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
    releaseConsole();
  }
}

/** The machine, for the head of a report. */
export function machine(): { node: string; processor: string; cores: number; load: number } {
  return {
    node: process.version,
    processor: cpus()[0]?.model ?? 'unknown processor',
    cores: cpus().length,
    load: round(loadavg()[0] ?? 0),
  };
}
