import { once } from 'node:events';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { keepAsking, limitAnswers } from '../../../router/src/infra/storage/connections/response-timeout.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

/** Longer than a slow machine takes for a `SELECT 1`. */
const LIMIT_MS = 1_000;

let database: TestDatabase;
let way: TcpProxy;
let clients: pg.Client[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  way = await TcpProxy.to(database.url);
});
afterEach(async () => {
  way.mend();
  await Promise.all(clients.map((client) => client.end()));
  clients = [];
});
afterAll(async () => {
  await way.close();
  await database.drop();
});

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

describe('a connection with limited answers', () => {
  it('fails what waits on it when the server is gone without a word', async () => {
    const client = await connected(way.through(database.url));
    limitAnswers(client, LIMIT_MS);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    way.silence();
    await expect(client.query('SELECT 1')).rejects.toThrow(/terminated/);
  });

  it('stays while it owes nothing, however long that is', async () => {
    const client = await connected(database.url);
    limitAnswers(client, LIMIT_MS / 4);
    await client.query('SELECT 1');
    const other = await connected(database.url);
    await other.query('SELECT pg_sleep($1)', [LIMIT_MS / 1_000]);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('stays while it answers one after the other without a pause, however long that is', async () => {
    const ended: unknown[] = [];
    const pool = new pg.Pool({
      connectionString: database.url,
      max: 1,
      onConnect: (client) => {
        limitAnswers(client, LIMIT_MS);
        client.on('end', () => ended.push(client));
      },
    });
    try {
      const asked = Array.from({ length: 8 }, () => pool.query('SELECT pg_sleep($1)', [LIMIT_MS / 4_000]));
      await Promise.all(asked);
      expect(ended).toEqual([]);
    } finally {
      await pool.end();
    }
  });

  it('ends by itself when it only listens and nobody is there any more', async () => {
    const client = await connected(way.through(database.url));
    keepAsking(client, { everyMs: LIMIT_MS / 4, limitMs: LIMIT_MS });
    await client.query('LISTEN something');
    const ended = once(client, 'end');
    way.silence();
    await ended;
  });
});
