import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeInstanceLock } from '../../../router/src/infra/storage/connections/instance-lock.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

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
});
