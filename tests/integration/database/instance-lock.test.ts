import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  takeInstanceLock,
  tryLock,
  unlock,
} from '../../../router/src/infra/db/connections/node-connection.ts';
import { applyMigrations } from '../../../router/src/infra/db/upkeep/migrations.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { asOwner, createRole } from '../../support/database-role.ts';
import { withIntruder } from '../../support/foreign-lock.ts';
import { repositoryRoot } from '../../support/repository.ts';

/** The class of the locks of instances. */
const LOCK_CLASS = 0x77613261;

let database: TestDatabase;
let clients: pg.Client[];
beforeEach(async () => {
  database = await createTestDatabase({ template: 'empty' });
  clients = [];
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await database.drop();
});

async function connect(name = 'wa2ai 4711 lock'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, application_name: name });
  await client.connect();
  clients.push(client);
  return client;
}

describe('takeInstanceLock', () => {
  it('excludes another connection under the same name, and names its process', async () => {
    await takeInstanceLock(await connect(), 'node n1', 'this database');
    await expect(
      takeInstanceLock(await connect('wa2ai 1 lock'), 'node n1', 'this database'),
    ).rejects.toMatchObject({
      code: 'DATABASE_ALREADY_RUNNING',
      message: 'wa2ai is already running on this database (process 4711). Use that one, or stop it first.',
    });
  });

  it('names no process when another program has the lock', async () => {
    await takeInstanceLock(await connect('psql'), 'node n1', 'this database');
    await expect(takeInstanceLock(await connect(), 'node n1', 'this database')).rejects.toThrow(
      'wa2ai is already running on this database. Use',
    );
  });

  it('excludes no connection under another name, and not itself', async () => {
    const client = await connect();
    await takeInstanceLock(client, 'node n1', 'this database');
    await takeInstanceLock(client, 'node n1', 'this database');
    await takeInstanceLock(await connect(), 'node n2', 'this database');
  });

  it('is free again when its connection has ended, also while another one waits for it', async () => {
    const first = await connect();
    await takeInstanceLock(first, 'node n1', 'this database');
    const waiting = takeInstanceLock(await connect(), 'node n1', 'this database');
    await first.end();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('never has two owners while another role takes each key that it sees', async () => {
    await withIntruder(database, async (intruder) => {
      let owners = 0;
      let taken = 0;
      let isOver = false;
      const competing = async () => {
        const client = await connect();
        while (taken < 25) {
          const lock = { lockClass: LOCK_CLASS, name: 'node n1' };
          const result = await tryLock(client, lock, 'this database');
          if (!('key' in result)) continue;
          owners += 1;
          taken += 1;
          expect(owners).toBe(1);
          await client.query('SELECT 1');
          expect(owners).toBe(1);
          owners -= 1;
          await unlock(client, LOCK_CLASS, result.key);
        }
      };
      const stealing = async () => {
        while (!isOver) {
          await intruder.client.query(
            `SELECT pg_advisory_unlock_all() FROM generate_series(1, (random() < 0.3)::integer)`,
          );
          await intruder.take(LOCK_CLASS, 'node n1');
          await intruder.client.query(
            `SELECT pg_try_advisory_lock($1, objid::bigint::bit(32)::integer) FROM pg_locks WHERE classid = $1`,
            [LOCK_CLASS],
          );
        }
      };
      const stolen = stealing();
      await Promise.all(Array.from({ length: 4 }, competing)).finally(() => {
        isOver = true;
        return stolen;
      });
    });
  });

  describe('when another role releases it at the worst moment', () => {
    const lock = { lockClass: LOCK_CLASS, name: 'node n1' };
    /** A connection that waits for `work` before its first statement with this text. */
    async function interrupted(text: string, work: () => Promise<unknown>): Promise<pg.Client> {
      const client = await connect();
      let isOver = false;
      const query = async (statement: string, values?: unknown[]) => {
        if (!isOver && statement.includes(text)) {
          isOver = true;
          await work();
        }
        return client.query(statement, values);
      };
      return { query } as unknown as pg.Client;
    }

    it('is not taken by a process that read its key before another one changed it', async () => {
      await withIntruder(database, async (intruder) => {
        await intruder.take(LOCK_CLASS, 'node n1');
        const [first, third] = [await connect(), await connect()];
        const late = await interrupted('pg_try_advisory_lock', async () => {
          expect(await tryLock(first, lock, 'this database')).toHaveProperty('key');
          await intruder.client.query('SELECT pg_advisory_unlock_all()');
        });
        expect(await tryLock(late, lock, 'this database')).toEqual({ owner: undefined });
        for (const client of [late, third]) {
          expect(await tryLock(client, lock, 'this database')).toEqual({ owner: { process: '4711' } });
        }
      });
    });

    it('stays with a process that took it before another one changed its key', async () => {
      await withIntruder(database, async (intruder) => {
        await intruder.take(LOCK_CLASS, 'node n1');
        const [first, third] = [await connect(), await connect()];
        const late = await interrupted('INSERT INTO lock_key', async () => {
          await intruder.client.query('SELECT pg_advisory_unlock_all()');
          expect(await tryLock(first, lock, 'this database')).toHaveProperty('key');
        });
        for (const client of [late, late, third]) {
          expect(await tryLock(client, lock, 'this database')).toEqual({ owner: { process: '4711' } });
        }
      });
    });
  });

  it('names the other role when this one may not create the table of keys', async () => {
    const own = await createRole(database);
    await asOwner(database, `REVOKE CREATE ON SCHEMA public FROM ${own.name}`);
    await withIntruder(database, async (intruder) => {
      expect(await intruder.take(LOCK_CLASS, 'node n1')).toBe(true);
      const client = new pg.Client({ connectionString: own.url });
      await client.connect();
      clients.push(client);
      await expect(takeInstanceLock(client, 'node n1', 'this database')).rejects.toMatchObject({
        code: 'DATABASE_RIGHTS',
        message: expect.stringContaining(`The role "${intruder.role}" has the lock of this database`),
      });
      await client.end();
      clients.pop();
    });
    await own.drop();
  });

  it('of migrations is not kept by another role, in an empty database too', async () => {
    await withIntruder(database, async (intruder) => {
      await intruder.client.query('SELECT pg_advisory_lock(72707369)');
      expect(await intruder.take(0x7761326d, 'migrations')).toBe(true);
      const prisma = join(repositoryRoot, 'prisma');
      expect((await applyMigrations(database.url, prisma)).length).toBeGreaterThan(0);
      expect(await applyMigrations(database.url, prisma)).toEqual([]);
    });
  });
});
