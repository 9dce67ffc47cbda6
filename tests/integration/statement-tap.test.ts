import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StatementTap } from '../bench/statement-tap.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let tap: StatementTap;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase({ template: 'empty' });
  tap = await StatementTap.before(database.url);
  client = new pg.Client({ connectionString: tap.through(database.url) });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  tap.stop();
  await database.drop();
});

describe('StatementTap', () => {
  it('records each statement once, in order, with its text', async () => {
    await client.query('BEGIN');
    await client.query('SELECT $1::int', [1]);
    await client.query({ name: 'twice', text: 'SELECT $1::text', values: ['a'] });
    await client.query({ name: 'twice', text: 'SELECT $1::text', values: ['b'] });
    await client.query('COMMIT');
    const passed = tap.take();
    expect(passed.map(({ text }) => text)).toEqual([
      'BEGIN',
      'SELECT $1::int',
      'SELECT $1::text',
      'SELECT $1::text',
      'COMMIT',
    ]);
    expect(passed.every(({ startMs, endMs }) => endMs >= startMs)).toBe(true);
  });

  it('records a statement that fails, and one longer than a packet', async () => {
    const long = `SELECT '${'x'.repeat(200_000)}'`;
    await client.query(long);
    await expect(client.query('SELECT 1/0')).rejects.toThrow('division by zero');
    // The client knows of the error before the server is ready again.
    await client.query('SELECT 2');
    expect(tap.take().map(({ text }) => text)).toEqual([long, 'SELECT 1/0', 'SELECT 2']);
  });
});
