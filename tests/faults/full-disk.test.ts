import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MockAgent } from '../support/mock-agent.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { newNumber } from '../support/test-bed.ts';
import { isAtLeast, type LogLine, Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

/** Space for a new embedded database, its WAL, and little else. */
const DISK_MB = 200;

/** More than the free space in the pages of a new database can store. */
const MOST_MESSAGES = 1_000;

const FULL = /disk.*full\. Free space/i;

let emulator: WhatsAppEmulator;
let agent: MockAgent;
let disk: SmallDisk;
let phone: Phone;
beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  agent = await MockAgent.start();
  disk = SmallDisk.mount(DISK_MB);
  phone = createPhone(emulator, { phone: newNumber('349') });
});
afterEach(async () => {
  await agent.stop();
  await emulator.stop();
  disk.unmount();
});

const device = () => emulator.linkedDevices(phone.pn)[0]?.pn ?? '';

function spawnService(env: Record<string, string> = {}): Wa2aiProcess {
  return Wa2aiProcess.spawn({ whatsappWsUrl: emulator.url, dataDir: disk.path, env });
}

describe('A full disk of the embedded database', () => {
  let service: Wa2aiProcess;
  let ana: Person;

  beforeEach(async () => {
    service = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir: disk.path });
    await pairByQr(service, phone, emulator);
    await service.addRoute('*', agent.url);
    ana = createPerson(emulator, { phone: newNumber('346') });
    await ana.say('before', { to: phone });
    await ana.nextReply();
  });
  afterEach(async () => {
    await disk.free();
    await service.end();
  });

  async function account(): Promise<{ state: string }> {
    return (await service.api('GET', '/api/accounts/default')).body.data as { state: string };
  }

  async function readiness(): Promise<{ status: number; message: string }> {
    const { status, body } = await service.api('GET', '/health/ready');
    const reasons = body.reasons as Array<{ name: string; message: string }>;
    return { status, message: reasons.find(({ name }) => name === 'database')?.message ?? '' };
  }

  /** The account, the probe and the log report the problem; WhatsApp queues what was not stored. */
  async function expectIntakeToStop(ids: string[]): Promise<void> {
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({
      state: expect.stringMatching(/^(waiting|stopped)$/),
      reason: expect.stringMatching(FULL),
      nextAction: expect.stringMatching(/fix the database/i),
    });
    await expect
      .poll(readiness, { timeout: 60_000 })
      .toMatchObject({ status: 503, message: expect.stringMatching(FULL) });
    await service.untilLog((line) => line.msg === 'database not usable' && FULL.test(String(line.trouble)));
    const acknowledged = ana.receipts.filter(({ id, type }) => ids.includes(id) && !type).length;
    expect(emulator.waitingFor(device())).toBeGreaterThanOrEqual(ids.length - acknowledged);
  }

  async function sayMany(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 1; n <= count; n += 1) ids.push(await ana.say(`${n}`, { to: phone }));
    return ids;
  }

  /** Other writes may meet the full disk first: intake does when the pages that its tables have are full as well. */
  async function sayUntilRefused(): Promise<string[]> {
    const ids: string[] = [];
    while ((await account()).state === 'open') {
      if (ids.length >= MOST_MESSAGES) throw new Error(`${ids.length} messages found room on a full disk`);
      ids.push(await ana.say(`${ids.length + 1}`, { to: phone }));
    }
    return ids;
  }

  /** Once room is made, without anybody restarting anything. */
  async function expectAllAnswered(count: number): Promise<void> {
    await disk.free();
    await untilState(service, 'open', 60_000);
    const bubbles = await ana.waitForReceived(1 + count, 60_000);
    const expected = ['before', ...Array.from({ length: count }, (_, n) => `${n + 1}`)];
    expect(bubbles.map(({ text }) => text)).toEqual(expected.map((text) => `Echo: ${text}`));
    await emulator.waitUntilSettled(device(), 30_000);
    expect(await readiness()).toMatchObject({ status: 200 });
    expect((await service.api('GET', '/api/dead-letters')).body.data).toEqual([]);
  }

  it('under its tables stops acknowledgements, and every message is answered when there is space', async () => {
    await disk.fill();
    const ids = await sayUntilRefused();
    await expectIntakeToStop(ids);
    await expectAllAnswered(ids.length);
  });

  it('under its write-ahead log stops the server, and every message is answered when there is space', async () => {
    await disk.fill();
    const before = await sayMany(5);
    await useUpWal();
    await expectIntakeToStop(before);
    await expectAllAnswered(5);
  });

  it('is not logged repeatedly', async () => {
    await disk.fill();
    const ids = await sayUntilRefused();
    await expectIntakeToStop(ids);
    const from = service.lines.length;
    const isTry = ({ msg, state }: LogLine) => msg === 'account state' && state === 'waiting';
    const tries = () => service.lines.slice(from).filter(isTry).length;
    await expect.poll(tries, { timeout: 60_000 }).toBeGreaterThanOrEqual(5);
    expect(service.lines.filter(({ msg }) => msg === 'database not usable')).toHaveLength(1);
    expect(service.lines.slice(from).filter((line) => isAtLeast('warn', line)).length).toBeLessThan(20);
    await expectAllAnswered(ids.length);
  });

  /** Writes until PostgreSQL can make no further WAL file, which it does not survive. */
  async function useUpWal(): Promise<void> {
    const port = (await readFile(join(disk.path, 'postgres/port'), 'utf8')).trim();
    const password = (await readFile(join(disk.path, 'postgres/password'), 'utf8')).trim();
    const client = new pg.Client({ host: '127.0.0.1', port: Number(port), user: 'wa2ai', password });
    client.on('error', () => undefined); // it ends, which is what is awaited
    await client.connect();
    const ended = new Promise((resolve) => client.once('end', resolve));
    const use = async () => {
      for (;;) {
        await client.query("SELECT pg_logical_emit_message(false, 'test', 'x'), pg_switch_wal()");
      }
    };
    await expect(use()).rejects.toThrow();
    await ended;
  }
});

describe('A start on a full disk', () => {
  async function refusal(service: Wa2aiProcess): Promise<string> {
    try {
      expect(await service.untilExit()).toBe(1);
    } finally {
      await service.end('SIGKILL');
    }
    const said = service.output.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect(said).toHaveLength(1);
    return said[0] ?? '';
  }

  // The first start fails while it creates its folder, its catalog, or its tables.
  it.each([0, 1, 20, 45])(
    'is refused with one sentence when %i MB are left, and leaves nothing behind',
    async (leftMb) => {
      await disk.fill(leftMb * 1024 * 1024);
      expect(await refusal(spawnService())).toMatch(FULL);
      await disk.free();
      const service = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir: disk.path });
      expect(await service.end()).toBe(0);
    },
  );

  it('is refused with one sentence when the database exists', async () => {
    const service = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir: disk.path });
    await service.end();
    await disk.fill();
    expect(await refusal(spawnService())).toMatch(FULL);
    await disk.free();
    const again = await Wa2aiProcess.start({ whatsappWsUrl: emulator.url, dataDir: disk.path });
    expect(await again.end()).toBe(0);
  });
});
