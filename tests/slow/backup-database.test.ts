import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PostgresAccountProxies } from '../../router/src/features/accounts/postgres-account-store.ts';
import { createBackup } from '../../router/src/features/backup/create-backup.ts';
import { backupTables } from '../../router/src/features/backup/records.ts';
import { drillBackup, restoreBackup } from '../../router/src/features/backup/restore-backup.ts';
import {
  parseDataKeys,
  readDataKeys,
  SecretCipher,
} from '../../router/src/infra/db/encryption/secret-cipher.ts';
import { applyMigrations, tableNames } from '../../router/src/infra/db/upkeep/migrations.ts';
import { createTaskTables } from '../../router/src/infra/engine/create-task-tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';

const PASSPHRASE = 'a passphrase of a test';
const prismaFolder = join(import.meta.dirname, '../../prisma');
const KEY = `${'ab'.repeat(32)}\n`;

let folder: string;
let source: TestDatabase;
let target: TestDatabase;
let clients: pg.Client[];
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai backup '));
  source = await createTestDatabase();
  target = await createTestDatabase({ template: 'empty' });
  clients = [];
  path = join(folder, 'backup');
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await source.drop();
  await target.drop();
  await rm(folder, { recursive: true, force: true });
});

async function connect(database: TestDatabase): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  clients.push(client);
  return client;
}

/** Values that a careless copy would change: line ends, tabs, backslashes, NULL, empty, bytes, arrays, JSON, numbers. */
async function fill(client: pg.Client, messages = 3): Promise<void> {
  await client.query(`INSERT INTO account (id, state, updated_at) VALUES ('default', 'open', now())`);
  await client.query(
    `INSERT INTO chat (account_id, phone, reply_to, worker_node, worker_epoch, tags, policy_state)
     VALUES ('default', '34600000001', '34600000001@s.whatsapp.net', 'node-old', 4, ARRAY['vip', 'a,"b"'], '{"a": [1, null]}')`,
  );
  await client.query(
    `INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at, error)
     SELECT 'default', 1, 'W' || n, 'text', E'line\\nnext\\ttab \\\\N back\\\\slash 🙂 ' || n, 'answered', n,
       '2026-01-02T03:04:05.678Z', CASE WHEN n % 2 = 0 THEN '' END FROM generate_series(1, $1::int) AS n`,
    [messages],
  );
  await client.query(
    `INSERT INTO outbox (account_id, chat_id, message_id, wa_message_id, to_jid, text) VALUES ('default', 1, 1, 'O1', 'x', 'hi')`,
  );
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7) & 255));
  await client.query('INSERT INTO outbox_file (outbox_id, bytes) SELECT id, $1 FROM outbox', [bytes]);
  await client.query(
    `INSERT INTO npc_trade_offer (key, npc, peer, maker, direction, item, quantity, price, total, expires_at)
     VALUES ('k', 'n', 'p', 'npc', 'sell', 'i', 1, 123456789012345678901234567890, 123456789012345678901234567890, now())`,
  );
  await client.query(
    `INSERT INTO webhook (id, url, events, secret) VALUES ('w1', 'https://example.com', ARRAY['message'], 's')`,
  );
  await client.query(
    `INSERT INTO account_lease VALUES ('default', 'node-old', 7, now() + interval '1 hour')`,
  );
}

async function backUp(database: TestDatabase = source, folderOfPrisma = prismaFolder): Promise<void> {
  await createBackup({
    config: { dataDir: folder, databaseUrl: database.url },
    prismaFolder: folderOfPrisma,
    path,
    passphrase: PASSPHRASE,
    settings: { WA2AI_ENVIRONMENT: 'prod' },
    log: quietLog,
    scryptCost: 2 ** 14,
    settledMs: 1,
  });
}

function restore(options: Partial<Parameters<typeof restoreBackup>[0]> = {}) {
  return restoreBackup({
    config: { dataDir: join(folder, 'new'), databaseUrl: target.url },
    prismaFolder,
    path,
    passphrase: PASSPHRASE,
    mayReplace: false,
    createTaskTables,
    log: quietLog,
    ...options,
  });
}

async function rowsOf(client: pg.Client, table: string): Promise<unknown[]> {
  const { rows } = await client.query(`SELECT t::text AS row FROM ${table} t ORDER BY 1`);
  return rows.map(({ row }) => row);
}

describe('A backup', () => {
  it('contains every table, but those of the processes and of the migrations', async () => {
    await createTaskTables(source.url);
    const client = await connect(source);
    const { rows } = await client.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname IN ('public', 'dbos') ORDER BY 1`,
    );
    const included = (await backupTables(client, await tableNames(prismaFolder))).map(({ name }) => name);
    const others = rows.map(({ name }) => name).filter((name) => !included.includes(name));
    expect(others).toEqual([
      '_prisma_migrations',
      'account_lease',
      'api_key_rate',
      'dbos_migrations',
      'lock_key',
      'login_attempt',
      'node',
      'sql_functions',
    ]);
  });

  it('is restored row by row, without what was of the processes', async () => {
    const before = await connect(source);
    await fill(before);
    await backUp();
    const report = await restore();
    expect(report).toMatchObject({
      settings: { WA2AI_ENVIRONMENT: 'prod' },
      migrated: [],
      dataKeyFile: undefined,
    });
    const after = await connect(target);
    for (const table of ['account', 'message', 'outbox', 'outbox_file', 'npc_trade_offer', 'webhook']) {
      const rows = await rowsOf(after, table);
      expect(rows.length, table).toBeGreaterThan(0);
      expect(rows, table).toEqual(await rowsOf(before, table));
    }
    const { rows: chats } = await after.query('SELECT worker_node, worker_epoch, tags FROM chat');
    expect(chats).toEqual([{ worker_node: null, worker_epoch: 4, tags: ['vip', 'a,"b"'] }]);
    expect(await rowsOf(after, 'account_lease')).toEqual([]);
    // A trigger would have stored an event for each row that was loaded.
    expect(await rowsOf(after, 'webhook_delivery')).toEqual(await rowsOf(before, 'webhook_delivery'));
  });

  it('leaves sequences after the ids that are used', async () => {
    const before = await connect(source);
    await fill(before, 5);
    await backUp();
    await restore();
    const after = await connect(target);
    const next = `INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at)
      VALUES ('default', 1, 'N', 'text', '', 'received', 9, now()) RETURNING id`;
    expect((await after.query(next)).rows).toEqual((await before.query(next)).rows);
  });

  it('has the functions and triggers of this version', async () => {
    await fill(await connect(source));
    await backUp();
    await restore();
    const functions = `SELECT p.oid::regprocedure::text AS f, md5(p.prosrc) AS h FROM pg_proc p
      WHERE pronamespace = 'public'::regnamespace ORDER BY 1`;
    const triggers = `SELECT tgrelid::regclass::text AS t, tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`;
    const [before, after] = [await connect(source), await connect(target)];
    for (const text of [functions, triggers]) {
      expect((await after.query(text)).rows).toEqual((await before.query(text)).rows);
    }
    await expect(after.query('DELETE FROM npc_trade_offer')).rejects.toThrow();
  });

  it('is one snapshot: nothing that is written meanwhile is in it', async () => {
    const writer = await connect(source);
    await fill(writer, 2_000);
    let isDone = false;
    const writing = (async () => {
      while (!isDone) {
        // Each transaction writes to two tables; half of one would be a torn backup.
        await writer.query(
          `WITH m AS (INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at)
             VALUES ('default', 1, gen_random_uuid()::text, 'text', 'live', 'received', 1, now()) RETURNING id)
           INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, attempts)
             SELECT 'default', 1, id, 'live', '', 1 FROM m`,
        );
      }
    })();
    await backUp().finally(() => {
      isDone = true;
    });
    await writing;
    await restore();
    const after = await connect(target);
    const { rows } = await after.query(
      `SELECT (SELECT count(*) FROM message WHERE text = 'live') = (SELECT count(*) FROM dead_letter) AS whole,
         (SELECT count(*)::int FROM dead_letter d WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.id = d.message_id)) AS torn`,
    );
    expect(rows).toEqual([{ whole: true, torn: 0 }]);
  });

  it('of an older wa2ai is brought up to date', async () => {
    const older = join(folder, 'older');
    await cp(prismaFolder, older, { recursive: true });
    const names = (await readdir(join(older, 'migrations'))).filter((name) => !name.endsWith('.toml')).sort();
    const newest = names.at(-1) ?? '';
    await mkdir(join(folder, 'newer'));
    await cp(prismaFolder, join(folder, 'newer'), { recursive: true });
    const added = '20990101000000_added';
    await mkdir(join(folder, 'newer', 'migrations', added));
    await writeFile(
      join(folder, 'newer', 'migrations', added, 'migration.sql'),
      `ALTER TABLE account ADD COLUMN added text NOT NULL DEFAULT 'by a migration';`,
    );
    await fill(await connect(source));
    await backUp(source, older);
    expect(newest).not.toBe('');
    expect(await restore({ prismaFolder: join(folder, 'newer') })).toMatchObject({ migrated: [added] });
    const after = await connect(target);
    expect((await after.query('SELECT added FROM account')).rows).toEqual([{ added: 'by a migration' }]);
  });

  it('of the migrations before the first release is restored, and one of some of them refused', async () => {
    const baseline = '20261126163300_baseline';
    const { names } = JSON.parse(
      await readFile(join(prismaFolder, 'migrations', baseline, 'replaces.json'), 'utf8'),
    );
    const early = join(folder, 'early');
    await cp(prismaFolder, early, { recursive: true });
    const later = (await readdir(join(early, 'migrations')))
      .filter((name) => /^\d/.test(name) && name > baseline)
      .sort();
    for (const name of later) await rm(join(early, 'migrations', name), { recursive: true });
    await source.drop();
    source = await createTestDatabase({ template: 'empty' });
    await applyMigrations(source.url, early);
    const client = await connect(source);
    await fill(client);
    const record = async (recorded: readonly string[]) => {
      await client.query('DELETE FROM _prisma_migrations');
      await client.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
         SELECT md5(name), 'of then', name, now() FROM unnest($1::text[]) AS name`,
        [recorded],
      );
    };
    await record(names);
    await backUp();
    expect(await restore()).toMatchObject({ migrated: later });
    const { rows } = await (await connect(target)).query(
      'SELECT migration_name AS name FROM _prisma_migrations ORDER BY name',
    );
    expect(rows.map(({ name }) => name)).toEqual([baseline, ...later]);
    await record(names.slice(1));
    await rm(path);
    await expect(backUp()).rejects.toMatchObject({
      code: 'DATABASE_MIGRATION',
      message: /of an early wa2ai/,
    });
  });

  it('of a newer wa2ai is refused, and changes nothing', async () => {
    const newer = join(folder, 'newer');
    await cp(prismaFolder, newer, { recursive: true });
    await mkdir(join(newer, 'migrations', '20990101000000_newer'));
    await writeFile(
      join(newer, 'migrations', '20990101000000_newer', 'migration.sql'),
      'CREATE TABLE newer (id INT);',
    );
    await applyMigrations(source.url, newer);
    await expect(backUp()).rejects.toMatchObject({ code: 'BACKUP_NEWER', message: /20990101000000_newer/ });
    await backUp(source, newer);
    await expect(restore()).rejects.toMatchObject({ code: 'BACKUP_NEWER', message: /does not have/ });
    expect((await (await connect(target)).query(`SELECT to_regclass('account') AS t`)).rows).toEqual([
      { t: null },
    ]);
  });

  it('contains durable tasks, which another node continues', async () => {
    await createTaskTables(source.url);
    const before = await connect(source);
    await fill(before);
    await before.query(
      `INSERT INTO dbos.workflow_status (workflow_uuid, status, name, executor_id, application_version, created_at, updated_at)
       VALUES ('t1', 'PENDING', 'follow-task', 'node-old', 'tasks-1', 1, 1)`,
    );
    await before.query(
      `INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, output) VALUES ('t1', 0, 's', '1')`,
    );
    await backUp();
    await restore();
    const after = await connect(target);
    for (const table of ['dbos.workflow_status', 'dbos.operation_outputs', 'dbos.dbos_migrations']) {
      expect(await rowsOf(after, table), table).toEqual(await rowsOf(before, table));
    }
  });

  it('of a service whose engine was still migrating is restored without the tables that the engine drops', async () => {
    await createTaskTables(source.url);
    const before = await connect(source);
    await fill(before);
    await before.query('CREATE TABLE dbos.workflow_inputs (workflow_uuid text PRIMARY KEY, inputs text)');
    await before.query(`INSERT INTO dbos.workflow_inputs VALUES ('t0', '{}')`);
    await backUp();
    await restore();
    const after = await connect(target);
    const { rows } = await after.query(`SELECT to_regclass('dbos.workflow_inputs') IS NULL AS "isGone"`);
    expect(rows).toEqual([{ isGone: true }]);
    expect(await rowsOf(after, 'message')).toEqual(await rowsOf(before, 'message'));
  });

  it('replaces what is there only when that is asked for', async () => {
    await fill(await connect(source));
    await backUp();
    await applyMigrations(target.url, prismaFolder);
    const after = await connect(target);
    await after.query(`INSERT INTO account (id, updated_at) VALUES ('other', now())`);
    await after.query(
      `INSERT INTO webhook (id, url, events, secret) VALUES ('w2', 'https://example.com', ARRAY['message'], 's')`,
    );
    await expect(restore()).rejects.toMatchObject({ code: 'BACKUP_TARGET', message: /--replace/ });
    expect((await after.query('SELECT id FROM account')).rows).toEqual([{ id: 'other' }]);
    await restore({ mayReplace: true });
    expect((await after.query('SELECT id FROM account')).rows).toEqual([{ id: 'default' }]);
  });

  it('changes nothing when the replacement fails in the middle', async () => {
    await fill(await connect(source));
    await backUp();
    await applyMigrations(target.url, prismaFolder);
    const after = await connect(target);
    await after.query(`INSERT INTO account (id, updated_at) VALUES ('other', now())`);
    // The last step before the commit fails: the key file cannot be written.
    await addKey(await connect(source));
    await rm(path);
    await writeFile(join(folder, 'key'), KEY);
    await createWithKey();
    const dataKeyFile = join(folder, 'restored-key');
    await mkdir(`${dataKeyFile}.restore`);
    const config = { dataDir: join(folder, 'new'), databaseUrl: target.url, dataKeyFile };
    await expect(restore({ mayReplace: true, config })).rejects.toMatchObject({
      code: 'BACKUP_TARGET',
      message: /Nothing was restored/,
    });
    expect((await after.query('SELECT id FROM account')).rows).toEqual([{ id: 'other' }]);
  });

  it('refuses a database of another program, also when it may replace', async () => {
    await backUp();
    const after = await connect(target);
    await after.query('CREATE TABLE invoices (id int)');
    await expect(restore({ mayReplace: true })).rejects.toMatchObject({
      code: 'BACKUP_TARGET',
      message: /"invoices"/,
    });
  });

  it('refuses a database on which a node runs', async () => {
    await backUp();
    const node = await connect(target);
    await node.query('SELECT pg_advisory_lock(2002858606, 7)');
    await expect(restore({ mayReplace: true })).rejects.toMatchObject({
      code: 'BACKUP_TARGET',
      message: /1 node/,
    });
  });

  it('restores the data key where the service reads it, and keeps keys that are there', async () => {
    await addKey(await connect(source));
    await writeFile(join(folder, 'key'), KEY);
    await createWithKey();
    await expect(restore()).rejects.toMatchObject({ code: 'BACKUP_TARGET', message: /WA2AI_DATA_KEY_FILE/ });
    const file = join(folder, 'restored-key');
    const other = `${'cd'.repeat(32)}\n`;
    await writeFile(file, other);
    const config = { dataDir: join(folder, 'new'), databaseUrl: target.url, dataKeyFile: file };
    expect(await restore({ config })).toMatchObject({ dataKeyFile: file });
    expect(await readFile(file, 'utf8')).toBe(KEY + other);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('has the proxy of an account, encrypted, which the restored service uses', async () => {
    const cipher = new SecretCipher(parseDataKeys(KEY, 'the test'));
    const url = 'socks5://router:a-password@proxy.test:1080';
    const before = await connect(source);
    await fill(before);
    await addKey(before);
    await new PostgresAccountProxies(source.open({ secrets: cipher })).set('default', url);
    await writeFile(join(folder, 'key'), KEY);
    await createWithKey();
    const dataKeyFile = join(folder, 'restored-key');
    await restore({ config: { dataDir: join(folder, 'new'), databaseUrl: target.url, dataKeyFile } });
    const { keys } = await readDataKeys(dataKeyFile);
    const proxies = new PostgresAccountProxies(target.open({ secrets: new SecretCipher(keys) }));
    expect(await proxies.urlOf('default')).toBe(url);
    expect((await rowsOf(await connect(target), 'account')).join()).not.toContain('a-password');
  });

  it('is not made without the data key', async () => {
    await addKey(await connect(source));
    await expect(backUp()).rejects.toMatchObject({ code: 'BACKUP_SOURCE', message: /data key/ });
    await expect(stat(path)).rejects.toThrow(/ENOENT/);
  });

  it('contains the files of hosted agents, with their rights and links', async () => {
    await mkdir(join(folder, 'agents/bot/workspace'), { recursive: true });
    await writeFile(join(folder, 'agents/bot/main.py'), 'print(1)\n', { mode: 0o640 });
    await writeFile(join(folder, 'agents/bot/large'), Buffer.alloc(200_000, 7));
    await writeFile(join(folder, 'agents/bot/empty'), '');
    await symlink('main.py', join(folder, 'agents/bot/link'));
    await mkdir(join(folder, 'agent-tokens'));
    await writeFile(join(folder, 'agent-tokens/bot'), 'token', { mode: 0o400 });
    await backUp();
    await restore();
    const agent = join(folder, 'new/agents/bot');
    expect(await readFile(join(agent, 'main.py'), 'utf8')).toBe('print(1)\n');
    expect((await stat(join(agent, 'main.py'))).mode & 0o777).toBe(0o640);
    expect(await readFile(join(agent, 'large'))).toEqual(Buffer.alloc(200_000, 7));
    expect(await readlink(join(agent, 'link'))).toBe('main.py');
    expect(await readdir(agent)).toEqual(['empty', 'large', 'link', 'main.py', 'workspace']);
    expect((await stat(join(folder, 'new/agent-tokens/bot'))).mode & 0o777).toBe(0o400);
    expect((await readdir(join(folder, 'new'))).filter((name) => name.startsWith('restore-'))).toEqual([]);
  });

  it('is never written over another file', async () => {
    await writeFile(path, 'mine');
    await expect(backUp()).rejects.toMatchObject({ code: 'BACKUP_FILE', message: /exists already/ });
    expect(await readFile(path, 'utf8')).toBe('mine');
  });

  it('is refused before anything is changed when it was changed or cut off', async () => {
    await fill(await connect(source), 5_000);
    await backUp();
    const file = await readFile(path);
    const changed = Buffer.from(file);
    changed[file.length - 100] = (changed[file.length - 100] ?? 0) ^ 1;
    for (const bad of [changed, file.subarray(0, -1), file.subarray(0, file.length / 2)]) {
      await writeFile(path, bad);
      await expect(restore()).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    }
    await writeFile(path, file);
    await expect(restore({ passphrase: 'another passphrase' })).rejects.toMatchObject({
      code: 'BACKUP_PASSPHRASE',
    });
    expect((await (await connect(target)).query(`SELECT to_regclass('account') AS t`)).rows).toEqual([
      { t: null },
    ]);
    expect(await readdir(folder)).toEqual(['backup']);
  });

  it('is restored into a temporary database by a drill, which leaves nothing', async () => {
    await fill(await connect(source));
    await backUp();
    const before = await readdir(folder);
    const report = await drillBackup(
      { prismaFolder, path, passphrase: PASSPHRASE, createTaskTables, log: quietLog },
      folder,
    );
    expect(report.rows).toBeGreaterThan(8);
    expect(await readdir(folder)).toEqual(before);
  });
});

async function addKey(client: pg.Client): Promise<void> {
  const [key] = parseDataKeys(KEY, 'the test');
  await client.query(`INSERT INTO data_key_use (node_id, key_id) VALUES ('node-old', $1)`, [key?.id]);
}

async function createWithKey(): Promise<void> {
  await createBackup({
    config: { dataDir: folder, databaseUrl: source.url, dataKeyFile: join(folder, 'key') },
    prismaFolder,
    path,
    passphrase: PASSPHRASE,
    settings: {},
    log: quietLog,
    scryptCost: 2 ** 14,
    settledMs: 1,
  });
}
