import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';

let emulator: WhatsAppEmulator;
let dataDir: string;

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  dataDir = await mkdtemp(join(tmpdir(), 'wa2ai terminal '));
});

afterEach(async () => {
  await emulator.stop();
  await rm(dataDir, { recursive: true, force: true });
});

describe('wa2ai with its embedded PostgreSQL in a terminal', () => {
  it.each(['SIGINT', 'SIGHUP'] as const)('leaves no process running after %s', async (signal) => {
    const service = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir });
    expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(true);
    expect(await service.end(signal)).toBe(0);
    // PostgreSQL removes its file last
    expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(false);
  });

  it('ends at once, and its PostgreSQL soon after, at a second signal', async () => {
    const service = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir });
    // two kinds, since two signals of one kind may arrive as one
    process.kill(service.pid, 'SIGINT');
    expect(await service.end('SIGTERM')).toBe(1);
    await expect
      .poll(() => existsSync(join(dataDir, 'postgres/data/postmaster.pid')), { timeout: 60_000 })
      .toBe(false);
    // the next start works
    const next = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir });
    expect(await next.end()).toBe(0);
  });
});
