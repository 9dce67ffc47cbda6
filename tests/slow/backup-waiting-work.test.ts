import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runBackup, runRestore } from '../../router/src/features/backup/backup-commands.ts';
import { createTaskTables } from '../../router/src/infra/engine/create-task-tables.ts';
import { A2aDouble } from '../doubles/a2a-agent.ts';
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

let folder: string;
let emulator: WhatsAppEmulator;
let agents: Array<{ stop(): Promise<void> }>;
let service: Wa2aiProcess | undefined;
let databases: TestDatabase[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-backup-'));
  emulator = await WhatsAppEmulator.start();
  [agents, databases] = [[], []];
});

afterEach(async () => {
  await service?.end('SIGKILL');
  service = undefined;
  await Promise.all(agents.map((agent) => agent.stop()));
  await emulator.stop();
  await Promise.all(databases.map((database) => database.drop()));
  await rm(folder, { recursive: true, force: true });
});

/** The settings of one machine. */
async function machine(kind: 'embedded' | 'external', name: string, template: 'migrated' | 'empty') {
  const env: Record<string, string> = {
    WA2AI_DATA_DIR: join(folder, name),
    WA2AI_ENVIRONMENT: 'lab',
    WA2AI_BACKUP_PASSPHRASE: 'a passphrase of a test',
  };
  if (kind === 'embedded') return env;
  const database = await createTestDatabase({ template });
  databases.push(database);
  const keyFile = join(folder, `${name}-key`);
  if (template === 'migrated') await writeFile(keyFile, `${'5a'.repeat(32)}\n`, { mode: 0o600 });
  return { ...env, DATABASE_URL: database.url, WA2AI_DATA_KEY_FILE: keyFile };
}

async function start(env: Record<string, string>): Promise<Wa2aiProcess> {
  const { WA2AI_BACKUP_PASSPHRASE: _, ...settings } = env;
  service = await Wa2aiProcess.start({
    whatsappWsUrl: emulator.url,
    env: { ...settings, ...emulator.mediaEnv },
  });
  return service;
}

it.each([
  ['external', 'embedded'],
  ['embedded', 'external'],
] as const)(
  'what waited in a backup of the %s PostgreSQL is done once after it is restored into the %s one',
  { timeout: 400_000 },
  async (from, to) => {
    const old = await machine(from, 'old', 'migrated');
    const first = await start(old);
    const phone = createPhone(emulator, { phone: newNumber('349') });
    await pairByQr(first, phone, emulator);
    await first.api('PUT', '/api/settings/conversation', { notices: WITHOUT_NOTICES });
    await first.api('PUT', '/api/settings/governor', { firstContacts: { perDay: 0 } });
    const [tasker, asker, reader] = ['1', '2', '3'].map(() =>
      createPerson(emulator, { phone: newNumber('346') }),
    ) as [ReturnType<typeof createPerson>, ReturnType<typeof createPerson>, ReturnType<typeof createPerson>];

    // A durable task: an agent that works for long.
    const a2a = await A2aDouble.start();
    agents.push(a2a);
    await first.addRoute(tasker.phone, a2a.url, { config: { adk: undefined, a2a: { waitMs: 100 } } });
    await tasker.say('run', { to: phone });
    expect((await tasker.nextReply(60_000)).text).toMatch(/^Tarea [0-9a-f]{8} iniciada/);
    const [taskId = ''] = a2a.running;

    // A message whose agent is down.
    const down = await MockAgent.start({});
    await down.stop();
    const patient = { failure: { tryForMs: 3_600_000 } };
    await first.addRoute(asker.phone, down.url, { config: patient });
    await asker.say('Are you there?', { to: phone });
    await first.untilLog(({ msg }) => msg === 'agent did not answer', 60_000);

    // Messages that WhatsApp does not take now: a text and a file.
    emulator.faults.refusedUpgrades = 100_000;
    emulator.drop();
    await first.api('POST', '/api/messages', { channelId: reader.phone, text: 'Your order left.' });
    const form = new FormData();
    form.set('channelId', reader.phone);
    form.set('text', 'The bill.');
    form.set('document', new File(['a bill'], 'bill.txt'));
    const sent = await fetch(`${first.url}/api/messages`, { method: 'POST', body: form });
    expect(sent.status).toBe(202);

    const deps = (env: Record<string, string>) => ({ env, log: quietLog, createTaskTables });
    const path = join(folder, 'wa2ai.backup');
    await runBackup(path, {}, deps(old));
    await first.end('SIGKILL');
    emulator.faults.refusedUpgrades = 0;
    expect([reader.received.length, asker.received.length, tasker.received.length]).toEqual([0, 0, 1]);

    const fresh = await machine(to, 'new', 'empty');
    await runRestore(path, {}, deps(fresh));
    agents.push(await MockAgent.start({ port: Number(new URL(down.url).port) }));
    const live = emulator.waitFor('live', undefined, 60_000);
    const second = await start(fresh);
    await live;

    const texts = (await reader.waitForReceived(2, 60_000)).map(({ text }) => text);
    expect(texts).toEqual(['Your order left.', 'The bill.']);
    expect((await asker.nextReply(60_000)).text).toBe('Echo: Are you there?');
    a2a.end(taskId, 'All done');
    expect((await tasker.nextReply(200_000)).text).toBe('All done');

    // A message after all of it in each chat shows that nothing came twice.
    for (const person of [tasker, asker]) {
      const before = person.received.length;
      await person.say('thanks', { to: phone });
      await person.waitForReceived(before + 1, 60_000);
    }
    await second.api('POST', '/api/messages', { channelId: reader.phone, text: 'Goodbye.' });
    await reader.waitForReceived(3, 60_000);
    expect(reader.received.map(({ text }) => text)).toEqual(['Your order left.', 'The bill.', 'Goodbye.']);
    expect(asker.received.map(({ text }) => text)).toEqual(['Echo: Are you there?', 'Echo: thanks']);
    expect(tasker.received.slice(1).map(({ text }) => text)).toEqual(['All done', 'echo: thanks']);
    expect(a2a.messages).toHaveLength(2);
  },
);
