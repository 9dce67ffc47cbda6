import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asOwner, createRole, type DatabaseRole } from '../support/database-role.ts';
import { pairByQr, untilState } from '../support/pairing.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;
let role: DatabaseRole;
let ana: Person;

beforeEach(async () => {
  bed = await TestBed.start();
  role = await createRole(bed.database);
  const service = await bed.startService({ DATABASE_URL: role.url, WA2AI_LEASE_TTL: '4s' });
  await pairByQr(service, bed.phone, bed.emulator);
  await service.addRoute('*', bed.agent.url);
  ana = bed.person();
  await ana.say('before', { to: bed.phone });
  await ana.nextReply();
});

afterEach(async () => {
  await bed.service.end();
  await role.drop();
  await bed.close();
});

const device = () => bed.emulator.linkedDevices(bed.phone.pn)[0]?.pn ?? '';

async function account(): Promise<Record<string, unknown>> {
  return (await bed.service.api('GET', '/api/accounts/default')).body.data as Record<string, unknown>;
}

async function readiness(): Promise<{ status: number; message: string }> {
  const { status, body } = await bed.service.api('GET', '/health/ready');
  const reasons = body.reasons as Array<{ name: string; message: string }>;
  return { status, message: reasons.find(({ name }) => name === 'database')?.message ?? '' };
}

/** The account waits and reports the reason, also in the log, and WhatsApp queues the messages. */
async function expectIntakeToStop(sentence: RegExp): Promise<void> {
  await expect.poll(account, { timeout: 60_000 }).toMatchObject({
    state: expect.stringMatching(/^(waiting|stopped)$/),
    reason: expect.stringMatching(sentence),
    nextAction: expect.stringMatching(/fix the database/i),
  });
  expect(await readiness()).toMatchObject({ status: 503, message: expect.stringMatching(sentence) });
  await bed.service.untilLog(
    (line) => line.msg === 'database not usable' && sentence.test(String(line.trouble)),
  );
}

/** Every message is answered once, in order. */
async function expectAllAnswered(texts: string[]): Promise<void> {
  const bubbles = await ana.waitForReceived(1 + texts.length, 60_000);
  expect(bubbles.map(({ text }) => text)).toEqual(['before', ...texts].map((text) => `Echo: ${text}`));
  await bed.emulator.waitUntilSettled(device(), 30_000);
  expect((await bed.service.api('GET', '/api/dead-letters')).body.data).toEqual([]);
}

describe('A privilege revoked while the service runs', () => {
  it('stops receiving before any message is acknowledged, and service resumes when it is granted again', async () => {
    await asOwner(bed.database, `REVOKE INSERT ON journal FROM ${role.name}`);
    const texts = ['one', 'two', 'three'];
    const ids: string[] = [];
    for (const text of texts) ids.push(await ana.say(text, { to: bed.phone }));
    await expectIntakeToStop(/lacks the privilege INSERT on "journal"/);
    expect(ana.receipts.filter(({ id }) => ids.includes(id))).toEqual([]);
    expect(bed.emulator.waitingFor(device())).toBe(texts.length);

    await asOwner(bed.database, `GRANT INSERT ON journal TO ${role.name}`);
    await untilState(bed.service, 'open');
    await expectAllAnswered(texts);
    expect(await readiness()).toMatchObject({ status: 200 });
  });

  it('on the inbox leaves acknowledged messages in the journal and stops receiving', async () => {
    await asOwner(bed.database, `REVOKE INSERT ON message FROM ${role.name}`);
    await ana.say('one', { to: bed.phone });
    await expectIntakeToStop(/lacks the privilege INSERT on "message"/);
    for (const text of ['two', 'three']) await ana.say(text, { to: bed.phone });
    expect(bed.emulator.waitingFor(device())).toBeGreaterThanOrEqual(2);
    // none of it depends on this process
    await bed.service.end('SIGKILL');
    await asOwner(bed.database, `GRANT INSERT ON message TO ${role.name}`);
    await bed.restartService({ DATABASE_URL: role.url });
    await expectAllAnswered(['one', 'two', 'three']);
  });

  it('on the outbox leaves every reply stored and reports the problem', async () => {
    await asOwner(bed.database, `REVOKE UPDATE ON outbox FROM ${role.name}`);
    await ana.say('one', { to: bed.phone });
    await expect.poll(readiness, { timeout: 60_000 }).toMatchObject({
      status: 503,
      message: expect.stringMatching(/lacks the privilege UPDATE on "outbox"/),
    });
    await asOwner(bed.database, `GRANT UPDATE ON outbox TO ${role.name}`);
    await expectAllAnswered(['one']);
  });
});

describe('A database that becomes read-only', () => {
  /** As a managed PostgreSQL does when its disk runs full, or a fail-over to a replica. */
  async function makeReadOnly(isOn: boolean): Promise<void> {
    const name = new URL(bed.database.url).pathname.slice(1);
    const client = new pg.Client({ connectionString: bed.database.url });
    await client.connect();
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isOn ? 'on' : 'off'}`);
    await client.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`,
      [name],
    );
    await client.end();
  }

  it('stops receiving, is reported, and service resumes when it is writable again', async () => {
    await makeReadOnly(true);
    const texts = ['one', 'two'];
    for (const text of texts) await ana.say(text, { to: bed.phone });
    await expectIntakeToStop(/is read-only/);
    expect(bed.emulator.waitingFor(device())).toBe(texts.length);
    await makeReadOnly(false);
    await untilState(bed.service, 'open');
    await expectAllAnswered(texts);
  });
});

describe('A newer version that joins', () => {
  let folder: string;

  /** This build, as it will be with one more migration. */
  async function nextVersion(): Promise<string> {
    folder = await mkdtemp(join(tmpdir(), 'wa2ai-next-'));
    await cp(join(repositoryRoot, 'dist/service'), join(folder, 'dist/service'), { recursive: true });
    await cp(join(repositoryRoot, 'prisma'), join(folder, 'prisma'), { recursive: true });
    await cp(join(repositoryRoot, 'package.json'), join(folder, 'package.json'));
    await symlink(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'));
    const migration = join(folder, 'prisma/migrations/20990101000000_next');
    await mkdir(migration);
    await writeFile(join(migration, 'migration.sql'), 'ALTER TABLE message ADD COLUMN mood TEXT;');
    return join(folder, 'dist/service/main.js');
  }

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('receives all accounts, and the older node stops with a sentence', async () => {
    const older = bed.service;
    const newer = await Wa2aiProcess.start({
      main: await nextVersion(),
      whatsappWsUrl: bed.emulator.url,
      // Who migrates owns the tables.
      databaseUrl: bed.database.url,
      env: { WA2AI_NODE_ID: 'newer', WA2AI_LEASE_TTL: '4s' },
    });
    try {
      await ana.say('while they change', { to: bed.phone });
      expect(await older.untilExit()).toBe(1);
      expect(older.output).toMatch(
        /newer wa2ai has migrated the database.*20990101000000_next.*update this node/,
      );
      expect((await ana.nextReply()).text).toBe('Echo: while they change');
      await ana.say('and after', { to: bed.phone });
      expect((await ana.nextReply()).text).toBe('Echo: and after');
      expect(ana.received).toHaveLength(3);
    } finally {
      await newer.end();
    }
  });
});
