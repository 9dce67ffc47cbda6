import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPostgresPool } from '../../../router/src/infra/db/connections/postgres-client.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createTestDatabase({ template: 'empty' });
  pool = createPostgresPool(database.url, {
    name: 'wa2ai test',
    size: 2,
    connectTimeoutMs: 500,
    settings: "SET TimeZone TO 'Asia/Tokyo'; SET work_mem TO '1MB'",
  });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const settings = `SELECT current_setting('TimeZone') AS zone, current_setting('work_mem') AS memory,
  current_setting('application_name') AS name, pg_backend_pid() AS pid`;

describe('createPostgresPool', () => {
  it('applies its settings to each connection, also to one that replaces a broken one', async () => {
    const wanted = { zone: 'Asia/Tokyo', memory: '1MB', name: 'wa2ai test' };
    const [before] = (await pool.query(settings)).rows;
    expect(before).toMatchObject(wanted);
    await pool.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => undefined);
    const [after] = (await pool.query(settings)).rows;
    expect(after).toMatchObject(wanted);
    expect(after.pid).not.toBe(before.pid);
  });

  it('survives a connection that breaks while it is idle', async () => {
    const [{ pid }] = (await pool.query(settings)).rows;
    const removed = new Promise((resolve) => pool.once('remove', resolve));
    const admin = createPostgresPool(database.url, {
      name: 'admin',
      size: 1,
      connectTimeoutMs: 500,
      settings: '',
    });
    await admin.query('SELECT pg_terminate_backend($1)', [pid]);
    await admin.end();
    await removed;
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('opens no more connections than its size, and a statement waits no longer than the limit', async () => {
    const used = [await pool.connect(), await pool.connect()];
    await expect(pool.query('SELECT 1')).rejects.toThrow(/timeout/);
    for (const client of used) client.release();
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
});
