import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pairByQr, untilState, untilStatus } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';

let bed: TestBed;

beforeEach(async () => {
  bed = await TestBed.start();
});

afterEach(async () => {
  await bed.close();
});

describe('wa2ai', () => {
  it('pairs by QR, and logs in after a restart without pairing', async () => {
    const service = await bed.startService();
    await untilStatus(service, (status) => status.qr !== undefined);
    const page = await fetch(`${service.url}/qr`);
    expect(page.status).toBe(200);
    const picture = await fetch(`${service.url}/qr/image`);
    expect(picture.headers.get('content-type')).toBe('image/png');
    await pairByQr(service, bed.phone, bed.emulator);
    await service.addRoute('*', bed.agent.url);
    expect(await service.end()).toBe(0);
    const shown = service.lines
      .filter((line) => line.msg === 'account state' && line.level === 'info')
      .map(({ time: _, ...line }) => JSON.stringify(line));
    expect(shown.length).toBeGreaterThan(2);
    expect(shown.filter((line, place) => line === shown[place - 1])).toEqual([]);

    await bed.restartService();
    await untilState(bed.service, 'open');
    const ana = bed.person();
    await ana.say('still there?', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: still there?');
  });

  it('pairs by an eight-letter code', async () => {
    const service = await bed.startService({ WA2AI_PAIRING_PHONE: bed.phone.pn.split('@')[0] as string });
    const { pairingCode } = await untilStatus(service, (status) => status.pairingCode !== undefined);
    expect(pairingCode).toMatch(/^[A-Z0-9]{8}$/);
    await bed.phone.enterCode(pairingCode as string);
    await untilState(service, 'open');
  });

  it('runs on its embedded PostgreSQL and refuses a second start on the same data folder in one sentence', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai e2e '));
    try {
      const first = await Wa2aiProcess.start({ whatsappWsUrl: bed.emulator.url, dataDir });
      await pairByQr(first, bed.phone, bed.emulator);
      const second = Wa2aiProcess.spawn({ whatsappWsUrl: bed.emulator.url, dataDir });
      expect(await second.untilExit()).toBe(1);
      expect(second.output).toContain('wa2ai is already running on the data folder');
      expect(await first.end()).toBe(0);
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  it('refuses to start with a wrong setting and names it in one sentence', async () => {
    const service = Wa2aiProcess.spawn({
      whatsappWsUrl: bed.emulator.url,
      env: { WA2AI_AGENT_TIMEOUT: 'soon', WA2AI_HOST: '0.0.0.0' },
    });
    expect(await service.untilExit()).toBe(2);
    expect(service.output).toContain('WA2AI_AGENT_TIMEOUT must be');
    expect(service.output).toContain('WA2AI_API_KEY must be set');
    expect(service.output).not.toContain('    at ');
  });
});
