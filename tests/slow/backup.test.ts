import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runBackup, runRestore } from '../../router/src/features/backup/backup-commands.ts';
import { createTaskTables } from '../../router/src/infra/engine/create-task-tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { pairByQr } from '../support/pairing.ts';
import { quietLog } from '../support/quiet-log.ts';
import { WITHOUT_NOTICES } from '../support/shaping.ts';
import { newNumber } from '../support/test-bed.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson } from '../whatsapp-emulator/person.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';

const PASSPHRASE = 'a passphrase of a test';
const MESSAGES = 20;

let folder: string;
let path: string;
let emulator: WhatsAppEmulator;
let agent: MockAgent;
let service: Wa2aiProcess | undefined;
let databases: TestDatabase[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-backup-'));
  path = join(folder, 'wa2ai.backup');
  [emulator, agent] = await Promise.all([WhatsAppEmulator.start(), MockAgent.start({})]);
  databases = [];
});

afterEach(async () => {
  await service?.end();
  service = undefined;
  await agent.stop();
  await emulator.stop();
  await Promise.all(databases.map((database) => database.drop()));
  await rm(folder, { recursive: true, force: true });
});

/** The settings of one machine. */
async function machine(name: string, kind: 'embedded' | 'external', template: 'migrated' | 'empty') {
  const env: Record<string, string> = { WA2AI_DATA_DIR: join(folder, name) };
  if (kind === 'embedded') return env;
  const database = await createTestDatabase({ template });
  databases.push(database);
  const keyFile = join(folder, `${name}-key`);
  if (template === 'migrated') await writeFile(keyFile, `${'5a'.repeat(32)}\n`, { mode: 0o600 });
  return { ...env, DATABASE_URL: database.url, WA2AI_DATA_KEY_FILE: keyFile };
}

async function start(env: Record<string, string>): Promise<Wa2aiProcess> {
  service = await Wa2aiProcess.start({
    whatsappWsUrl: emulator.url,
    env: { ...env, ...emulator.mediaEnv, WA2AI_ENVIRONMENT: 'lab' },
  });
  return service;
}

function deps(env: Record<string, string>) {
  const withPassphrase = { ...env, WA2AI_BACKUP_PASSPHRASE: PASSPHRASE, WA2AI_ENVIRONMENT: 'lab' };
  return { env: withPassphrase, log: quietLog, createTaskTables };
}

async function list(of: Wa2aiProcess, resource: string): Promise<Array<Record<string, unknown>>> {
  const { body } = await of.api('GET', `/api/${resource}`);
  return body.data as Array<Record<string, unknown>>;
}

describe.each(['embedded', 'external'] as const)('A backup of a service with the %s PostgreSQL', (kind) => {
  it('made while messages flow runs on an empty machine: same routes, chats and keys, no pairing', {
    timeout: 300_000,
  }, async () => {
    const old = await machine('old', kind, 'migrated');
    const first = await start(old);
    const phone = createPhone(emulator, { phone: newNumber('349') });
    await pairByQr(first, phone, emulator);
    await first.addRoute('*', agent.url);
    await first.api('PUT', '/api/settings/conversation', { notices: WITHOUT_NOTICES });
    const key = await first.api('POST', '/api/keys', { name: 'a program', scopes: ['routes:read'] });
    expect(key.status).toBe(201);
    const person = createPerson(emulator, { phone: newNumber('346') });
    await person.say('before the backup', { to: phone });
    await person.nextReply();

    const texts = Array.from({ length: MESSAGES }, (_, index) => `line ${index}`);
    const talking = (async () => {
      for (const text of texts) await person.say(text, { to: phone });
    })();
    const { report } = await runBackup(path, { verify: true }, deps(old));
    expect(report).toMatchObject({ path, drill: { tables: expect.any(Number) } });
    await talking;
    await person.waitForReceived(MESSAGES + 1);
    const routes = await list(first, 'routes');
    await first.end();

    const fresh = await machine('new', kind, 'empty');
    for (const [name, bad, code] of await broken(path)) {
      await writeFile(join(folder, 'bad'), bad);
      const restoring = runRestore(join(folder, 'bad'), {}, deps(fresh));
      await expect(restoring, name).rejects.toMatchObject({ code });
    }
    const wrong = { ...deps(fresh), env: { ...deps(fresh).env, WA2AI_BACKUP_PASSPHRASE: 'another one' } };
    await expect(runRestore(path, {}, wrong)).rejects.toMatchObject({ code: 'BACKUP_PASSPHRASE' });
    await runRestore(path, {}, deps(fresh));

    const live = emulator.waitFor('live', undefined, 60_000);
    const second = await start(fresh);
    await live;
    expect(await list(second, 'routes')).toEqual(routes);
    expect(await list(second, 'chats')).toHaveLength(1);
    expect(await list(second, 'accounts')).toMatchObject([{ state: 'open' }]);
    const headers = { 'x-api-key': String((key.body.data as { key: string }).key) };
    expect((await second.api('GET', '/api/routes', undefined, headers)).status).toBe(200);
    expect((await second.api('GET', '/api/chats', undefined, headers)).status).toBe(403);
    const before = person.received.length;
    await person.say('after the restore', { to: phone });
    const answered = async () =>
      person.received.slice(before).some(({ text }) => text?.includes('after the restore'));
    await expect.poll(answered, { timeout: 60_000 }).toBe(true);
  });
});

/** Files that a restore refuses. */
async function broken(of: string): Promise<Array<[string, Buffer, string]>> {
  const file = await readFile(of);
  const changed = Buffer.from(file);
  changed[file.length - 20] = (changed[file.length - 20] ?? 0) ^ 1;
  return [
    ['cut off', file.subarray(0, -1), 'BACKUP_DAMAGED'],
    ['changed', changed, 'BACKUP_DAMAGED'],
    ['of another program', Buffer.from('PK'), 'BACKUP_FILE'],
  ];
}
