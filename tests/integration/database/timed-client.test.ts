import { once } from 'node:events';
import pg from 'pg';
import { describe, it, type TestContext } from 'vitest';
import { startHeartbeat, TimedClient } from '../../../router/src/infra/db/connections/postgres-client.ts';
import { testDatabase } from '../../support/database.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

/** Longer than a slow machine takes for a `SELECT 1`. */
const LIMIT_MS = 1_000;

const database = testDatabase();

async function connected(
  url: string,
  responseTimeoutMs: number,
  { onTestFinished }: TestContext,
): Promise<pg.Client> {
  const client: pg.Client = new TimedClient({ connectionString: url, responseTimeoutMs });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A proxy before the database. */
async function proxied({ onTestFinished }: TestContext): Promise<TcpProxy> {
  const proxy = await TcpProxy.to(database.url);
  onTestFinished(() => proxy.close());
  return proxy;
}

// At the same time, because each of them waits for a time limit.
describe.concurrent('TimedClient', () => {
  it('fails its pending statement when the server disappears without closing the connection', async (context) => {
    const { expect } = context;
    const proxy = await proxied(context);
    const client = await connected(proxy.through(database.url), LIMIT_MS, context);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    proxy.silence();
    await expect(client.query('SELECT 1')).rejects.toThrow(/terminated/);
  });

  it('stays connected while no response is pending, however long', async (context) => {
    const { expect } = context;
    const client = await connected(database.url, LIMIT_MS / 4, context);
    await client.query('SELECT 1');
    const other = await connected(database.url, LIMIT_MS * 4, context);
    await other.query('SELECT pg_sleep($1)', [LIMIT_MS / 1_000]);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('stays connected while it answers one statement after the other without a pause', async ({ expect }) => {
    const ended: unknown[] = [];
    class Limited extends TimedClient {
      constructor(config?: pg.ClientConfig) {
        super({ ...config, responseTimeoutMs: LIMIT_MS });
        this.on('end', () => ended.push(this));
      }
    }
    const pool = new pg.Pool({ Client: Limited, connectionString: database.url, max: 1 });
    try {
      const asked = Array.from({ length: 8 }, () => pool.query('SELECT pg_sleep($1)', [LIMIT_MS / 4_000]));
      await Promise.all(asked);
      expect(ended).toEqual([]);
    } finally {
      await pool.end();
    }
  });

  it('with a heartbeat ends when the server disappears while it only listens', async (context) => {
    const proxy = await proxied(context);
    const client = await connected(proxy.through(database.url), LIMIT_MS, context);
    startHeartbeat(client, LIMIT_MS / 4);
    await client.query('LISTEN something');
    const ended = once(client, 'end');
    proxy.silence();
    await ended;
  });
});
