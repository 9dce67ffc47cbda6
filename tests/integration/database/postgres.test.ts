import sql, { raw } from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
/** Has one connection, so that what one statement leaves on it is seen by the next. */
let postgres: Postgres;
beforeEach(async () => {
  database = await createTestDatabase({ template: 'empty' });
  postgres = database.open({ poolSize: 1 });
  await postgres.execute(sql`CREATE TABLE item (id bigint PRIMARY KEY)`);
});
afterEach(() => database.drop());

const items = async () =>
  (await postgres.query<{ id: bigint }>(sql`SELECT id FROM item ORDER BY id`)).map(({ id }) => id);
const add = (id: number) => sql`INSERT INTO item VALUES (${id})`;

describe('Postgres', () => {
  it('returns 64-bit integers as bigint, times in UTC and the number of written rows', async () => {
    const [row] = await postgres.query(sql`
      SELECT 9007199254740993::bigint AS large, 7 AS small, now()::text LIKE '%+00' AS "isUtc"`);
    expect(row).toEqual({ large: 9_007_199_254_740_993n, small: 7, isUtc: true });
    expect(await postgres.execute(sql`INSERT INTO item SELECT generate_series(1, 3)`)).toBe(3);
    expect(await postgres.execute(sql`DELETE FROM item WHERE id > 9`)).toBe(0);
  });

  it('binds values and never makes them part of the statement', async () => {
    const text = "'; DROP TABLE item; --";
    expect(await postgres.query(sql`SELECT ${text}::text AS text`)).toEqual([{ text }]);
    expect(await items()).toEqual([]);
  });

  it('lets the server end a transaction that is idle for 15 s', async () => {
    expect(await postgres.query(sql`SHOW idle_in_transaction_session_timeout`)).toEqual([
      { idle_in_transaction_session_timeout: '15s' },
    ]);
  });

  it('prepares at most 500 statements for each connection, and sends the others unprepared', async () => {
    for (let n = 0; n < 520; n++) await postgres.query(raw(`SELECT ${n}`));
    const [row] = await postgres.query<{ count: bigint }>(sql`SELECT count(*) FROM pg_prepared_statements`);
    expect(row?.count).toBe(500n);
  });

  it('calls the listener with every error, also one without a connection', async () => {
    const codes: unknown[] = [];
    const listen = (on: Postgres) => on.onError((error) => codes.push((error as { code?: string }).code));
    listen(postgres);
    await expect(postgres.query(sql`SELECT 1/0`)).rejects.toMatchObject({ code: '22012' });
    await expect(postgres.transaction((run) => run.execute(sql`SELECT * FROM nowhere`))).rejects.toThrow();
    const url = new URL(database.url);
    url.port = '1';
    const away = new Postgres(url.href, { connectTimeoutMs: 1_000 });
    listen(away);
    await expect(away.query(sql`SELECT 1`)).rejects.toThrow();
    await expect(away.transaction(async () => 1)).rejects.toThrow();
    await away.close();
    expect(codes).toEqual(['22012', '42P01', 'ECONNREFUSED', 'ECONNREFUSED']);
  });

  it('closes more than once, and answers nothing afterwards', async () => {
    const other = new Postgres(database.url);
    expect(await other.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
    await other.close();
    await other.close();
    await expect(other.query(sql`SELECT 1`)).rejects.toThrow();
  });
});

describe('Postgres.transaction', () => {
  it('commits what the work wrote and returns what it returns', async () => {
    const result = await postgres.transaction(async (run) => {
      await run.execute(add(1));
      return run.query<{ id: bigint }>(sql`SELECT id FROM item`);
    });
    expect(result).toEqual([{ id: 1n }]);
    expect(await items()).toEqual([1n]);
  });

  it('rolls back when the work throws, and leaves the connection usable', async () => {
    const failure = new Error('no');
    const work = postgres.transaction(async (run) => {
      await run.execute(add(1));
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await items()).toEqual([]);
  });

  it('replaces a connection that broke during the work', async () => {
    const work = postgres.transaction(async (run) => {
      await run.execute(add(1));
      await run.query(sql`SELECT pg_terminate_backend(pg_backend_pid())`);
    });
    await expect(work).rejects.toThrow();
    expect(await items()).toEqual([]);
  });
});

describe('Postgres.post', () => {
  it('resolves before the statement has ended, and reports its end', async () => {
    let isDone = false;
    const { done } = await postgres.post(sql`INSERT INTO item SELECT 1 FROM pg_sleep(0.05)`);
    const ended = done.then(() => {
      isDone = true;
    });
    expect(isDone).toBe(false);
    await ended;
    expect(await items()).toEqual([1n]);
  });

  it('leaves the connection usable after a statement that failed and whose end nobody awaited', async () => {
    await postgres.post(sql`SELECT 1/0`);
    expect(await items()).toEqual([]);
  });
});
