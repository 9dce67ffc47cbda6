import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { asOwner, createRole, type DatabaseRole } from '../support/database-role.ts';
import { repositoryRoot } from '../support/repository.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';

/** Nothing listens there: these tests do not reach WhatsApp. */
const NO_WHATSAPP = 'ws://127.0.0.1:9';

/** Starts the service, which must end with code 1, and returns its sentence. */
async function refusal(
  databaseUrl: string,
  env: Record<string, string> = {},
  main?: string,
): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-refused-'));
  const service = Wa2aiProcess.spawn({ whatsappWsUrl: NO_WHATSAPP, databaseUrl, dataDir, env, main });
  try {
    expect(await service.untilExit()).toBe(1);
  } finally {
    await service.end('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
  const said = service.output.split('\n').filter((line) => line.startsWith('wa2ai'));
  expect(said).toHaveLength(1);
  // A sentence for an operator: no stack, no password.
  expect(service.output).not.toMatch(/\n\s+at |:x@/);
  return said[0] ?? '';
}

let database: TestDatabase;
let role: DatabaseRole;
beforeEach(async () => {
  database = await createTestDatabase();
  role = await createRole(database);
});
afterEach(async () => {
  await role.drop();
  await database.drop();
});

describe('wa2ai refuses to start with one sentence', () => {
  it('when the database user may not create schemas and there are none', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await asOwner(database, `REVOKE CREATE ON DATABASE ${name} FROM ${role.name}`);
    expect(await refusal(role.url)).toMatch(
      /^wa2ai: Cannot use the database .*: the user "r.*" may not create schemas\. GRANT CREATE ON DATABASE/,
    );
  });

  it('when the database user may not create tables and there are none', async () => {
    const empty = await createTestDatabase({ template: 'empty' });
    const poor = await createRole(empty);
    await asOwner(
      empty,
      `REVOKE CREATE ON SCHEMA public FROM ${poor.name}`,
      'REVOKE CREATE ON SCHEMA public FROM PUBLIC',
    );
    expect(await refusal(poor.url)).toMatch(
      /^wa2ai: The database user lacks a privilege: permission denied for schema public/,
    );
    await poor.drop();
    await empty.drop();
  });

  it('when the database user lacks a privilege on one table', async () => {
    await asOwner(database, `REVOKE INSERT ON message FROM ${role.name}`);
    expect(await refusal(role.url)).toMatch(
      /^wa2ai: The database user lacks the privilege INSERT on "message".*GRANT INSERT ON message/,
    );
  });

  it('when the database is read-only', async () => {
    await asOwner(database, `ALTER ROLE ${role.name} SET default_transaction_read_only = on`);
    expect(await refusal(role.url)).toMatch(
      /^wa2ai: Cannot use the database .*: default_transaction_read_only is on/,
    );
  });

  it('when a newer version has migrated the database', async () => {
    await asOwner(
      database,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '20990101000000_next', now())`,
    );
    expect(await refusal(role.url)).toMatch(
      /^wa2ai: The database was migrated by a newer wa2ai.*Start the newer version/,
    );
  });

  it('when the key file is missing, or lacks the key of the database', async () => {
    expect(await refusal(role.url, { WA2AI_DATA_KEY_FILE: '/no/such/file' })).toMatch(
      /^wa2ai: WA2AI_DATA_KEY_FILE: the file \/no\/such\/file cannot be read \(ENOENT\)\. Restore it, or correct the path\.$/,
    );
    await asOwner(database, `INSERT INTO data_key_use (node_id, key_id) VALUES ('n1', '0a1b2c3d')`);
    expect(await refusal(role.url)).toMatch(
      /^wa2ai: .*encrypted with the key 0a1b2c3d, and WA2AI_DATA_KEY_FILE is not set\. Set it to the file with that key\.$/,
    );
  });

  it('when a migration of another tool did not finish', async () => {
    await asOwner(database, `UPDATE _prisma_migrations SET finished_at = NULL`);
    expect(await refusal(role.url)).toMatch(
      /^wa2ai: The migration "20261126163300_baseline" was started by another tool and did not finish/,
    );
  });

  it('when the database belongs to another program', async () => {
    const other = await createTestDatabase({ template: 'empty' });
    await asOwner(other, 'CREATE TABLE message (body text)');
    expect(await refusal(other.url)).toMatch(
      /^wa2ai: The database contains tables that wa2ai did not create.*wa2ai alone/,
    );
    await other.drop();
  });

  it('when a table is missing', async () => {
    await asOwner(database, 'DROP TABLE auth_key');
    expect(await refusal(role.url)).toMatch(/^wa2ai: The table "auth_key" is not in the database.*backup/);
  });

  it('when the installed Baileys lacks a part that wa2ai uses, and names it', async () => {
    const load = `export async function load(url, context, next) {
      const loaded = await next(url, context);
      if (!url.endsWith('/baileys/lib/index.js')) return loaded;
      return { ...loaded, source: loaded.source + '\\nexport const NACK_REASONS = undefined;' };
    }`;
    const moduleUrl = (code: string) => `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
    const register = `import { register } from 'node:module'; register('${moduleUrl(load)}');`;
    const env = { NODE_OPTIONS: `--import=${moduleUrl(register)}` };
    // the joined service contains Baileys; its modules load the installed one
    const modules = join(repositoryRoot, 'dist/router/src/main.js');
    expect(await refusal(database.url, env, modules)).toMatch(
      /^wa2ai: The installed version of @whiskeysockets\/baileys is not supported \(NACK_REASONS\.ParsingError is undefined/,
    );
  });
});
