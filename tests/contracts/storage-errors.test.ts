import pg from 'pg';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  StorageRejectedError,
  StorageTroubleError,
  StorageUnavailableError,
  Wa2aiError,
} from '../../router/src/core/errors.ts';
import type { Environment } from '../../router/src/core/models.ts';
import { PostgresMessageLog } from '../../router/src/features/chats/postgres-message-log.ts';
import { Postgres } from '../../router/src/infra/db/postgres.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresOutbox } from '../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresRouteStore } from '../../router/src/infra/db/stores/postgres-route-store.ts';
import { StorageDamagedError, withStorage } from '../../router/src/infra/db/stores/storage-errors.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aMessage, aPerson, aReply, NODE } from './adapters.ts';

describe('an unavailable database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    await database.open().execute(sql`
      CREATE FUNCTION raise_error(code text) RETURNS void LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'made to fail' USING ERRCODE = code; END $$`);
  });
  afterAll(() => database.drop());

  it('is reported by each method of each store when nothing listens', async () => {
    const url = new URL(database.url);
    url.port = '1';
    const postgres = new Postgres(url.href, { connectTimeoutMs: 2_000 });
    const inbox = new PostgresInbox(postgres);
    const outbox = new PostgresOutbox(postgres);
    const routes = new PostgresRouteStore(postgres);
    const log = new PostgresMessageLog(postgres);
    const claim = { chatId: '1', node: NODE, epoch: 1 };
    const id = '00000000-0000-4000-8000-000000000000';
    const calls: Array<() => Promise<unknown>> = [
      () => inbox.add(aMessage('a', aPerson()), NODE),
      () => inbox.nextTurn(claim),
      () => inbox.finishTurn('1', { state: 'answered', replies: [] }),
      () => inbox.deadLetterUnreadable(claim, { reason: 'X', error: 'x' }),
      () => inbox.openChats([]),
      () => inbox.claimChats([claim], NODE),
      () => inbox.releaseChats(NODE),
      () => inbox.setAlone('1', true),
      () => outbox.addDirect(aReply('a', '5493777000111@s.whatsapp.net')),
      () => outbox.undelivered('a', { limit: 1 }),
      () => outbox.markSending('1'),
      () => outbox.markSent('1'),
      () => outbox.markDead('1', { sentence: 'x' }),
      () => outbox.markRefused('a', 'X', { sentence: 'x' }),
      () => outbox.release('1', { sentence: 'x' }),
      () => outbox.recordReceipts('a', [{ waMessageId: 'X', state: 'read', atMs: 1 }]),
      () => outbox.findByWaId('a', 'X'),
      () => routes.get(id),
      () => routes.list(),
      () => routes.update(id, { priority: 1 }),
      () => routes.delete(id),
      () => routes.candidates({ accountId: 'a', environment: 'lab', channelIds: [] }),
      () => log.messages({ limit: 1 }),
      () => log.message('1'),
      () => log.deadLetters({ limit: 1 }),
      () => log.openWork(),
      () => log.outgoingWork('a'),
      () => log.firstContacts('a'),
    ];
    for (const call of calls) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect(error, String(call)).toBeInstanceOf(StorageUnavailableError);
      expect(error).toMatchObject({ disposition: 'retry', code: 'STORAGE_UNAVAILABLE' });
      expect((error as Error).message).not.toContain('postgres:');
    }
    await postgres.close();
  });

  it('is reported to the call whose connection it closes, and serves the next call', async () => {
    const postgres = database.open({ poolSize: 1 });
    const outbox = new PostgresOutbox(postgres);
    await postgres.query(sql`SELECT 1`);
    const blocker = new pg.Client({ connectionString: database.url });
    await blocker.connect();
    try {
      await blocker.query('BEGIN; LOCK TABLE outbox');
      const waiting = outbox.markSent('1').catch((thrown: unknown) => thrown);
      await untilWaiting(blocker);
      await blocker.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`);
      expect(await waiting).toBeInstanceOf(StorageUnavailableError);
      await blocker.query('ROLLBACK');
      await expect(outbox.markSent('1')).resolves.toBeUndefined();
    } finally {
      await blocker.end();
    }
  });

  it('is reported when no connection becomes free in time', async () => {
    const postgres = database.open({ poolSize: 1, connectTimeoutMs: 300 });
    const outbox = new PostgresOutbox(postgres);
    await postgres.transaction(async (transaction) => {
      await transaction.query(sql`SELECT 1`);
      await expect(outbox.markSent('1')).rejects.toThrow(StorageUnavailableError);
      const started = withStorage('starting', () => postgres.transaction(async () => undefined));
      await expect(started).rejects.toThrow(StorageUnavailableError);
    });
  });

  it.each(['40P01', '40001', '57014', '53300', '55P03', '57P03', '42P01'])(
    'is reported for error %s of the server',
    async (code) => {
      const error = await failWith(code).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StorageUnavailableError);
      expect((error as Error).message).toContain(code);
    },
  );

  it.each(['22021', '22001', '22003', '22P02', '23505', '23514', '23502', '54000'])(
    'does not retry a value refused with error %s',
    async (code) => {
      const error = await failWith(code).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StorageRejectedError);
      expect(error).toMatchObject({ disposition: 'dead', message: expect.stringContaining(code) });
    },
  );

  it.each([
    ['53100', 'full', /disk of the database is full/],
    ['25006', 'read-only', /is read-only/],
    ['42501', 'rights', /lacks a privilege.*made to fail/],
    ['42P01', 'schema', /not those of this version.*made to fail/],
    ['42703', 'schema', /not those of this version/],
    ['42883', 'schema', /not those of this version/],
  ])(
    'reports the problem behind error %s, which an operator must fix: %s',
    async (code, trouble, sentence) => {
      const postgres = database.open({ poolSize: 1 });
      const error = await withStorage('failing', () =>
        postgres.execute(sql`SELECT raise_error(${code})`),
      ).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StorageTroubleError);
      expect(error).toMatchObject({
        disposition: 'retry',
        trouble,
        message: expect.stringMatching(sentence),
      });
    },
  );

  it.each(['XX001', 'XX002', '0A000'])('does not retry a read that fails with error %s', async (code) => {
    const error = await failWith(code).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StorageDamagedError);
    expect(error).toMatchObject({ disposition: 'dead', message: expect.stringContaining(code) });
  });

  it('reports a constraint violation', async () => {
    const route = {
      accountId: 'a',
      channelId: '*',
      agentEndpoint: 'x',
      priority: 0,
      enabled: true,
      config: {},
    };
    const environment = 'neither' as Environment;
    const created = new PostgresRouteStore(database.open()).create({ ...route, environment });
    await expect(created).rejects.toThrow(StorageRejectedError);
  });

  it('passes on an error of wa2ai', async () => {
    const own = new Wa2aiError('OWN', 'dead', { sentence: 'Own sentence.' });
    await expect(withStorage('trying', () => Promise.reject(own))).rejects.toBe(own);
  });

  /** Makes the server raise an error with this SQLSTATE in a statement. */
  function failWith(code: string): Promise<unknown> {
    const postgres = database.open({ poolSize: 1 });
    return withStorage('failing', () => postgres.execute(sql`SELECT raise_error(${code})`));
  }

  async function untilWaiting(client: pg.Client): Promise<void> {
    for (let looks = 0; looks < 2_000; looks++) {
      const { rowCount } = await client.query(`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      if (rowCount) return;
    }
    throw new Error('nothing waits for the lock');
  }
});
