import { randomBytes } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatClaim } from '../../../router/src/core/ports/inbox.ts';
import { DAMAGED_VALUE } from '../../../router/src/core/ports/key-store.ts';
import { PostgresChatStore } from '../../../router/src/features/chats/postgres-chat-store.ts';
import { PostgresMessageLog } from '../../../router/src/features/chats/postgres-message-log.ts';
import { PostgresDeadLetters } from '../../../router/src/features/dead-letters/dead-letters.ts';
import {
  type RunningPostgres,
  startEmbeddedPostgres,
} from '../../../router/src/infra/db/embedded/embedded-postgres.ts';
import { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresJournal } from '../../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { StorageDamagedError } from '../../../router/src/infra/db/stores/storage-errors.ts';
import { applyMigrations } from '../../../router/src/infra/db/upkeep/migrations.ts';
import { aMessage, aPerson, aReply, NODE, newClaimOf } from '../../contracts/adapters.ts';
import { quietLog } from '../../support/quiet-log.ts';

const BLOCK_BYTES = 8_192;
const ACCOUNT = 'default';
const scope = { accountId: ACCOUNT, generation: 1 };
const ana = aPerson();
const bo = aPerson();

/** Long enough for several blocks outside the row, and too random to be compressed. */
const long = () => randomBytes(24_000).toString('base64');

let dataDir: string;
let server: RunningPostgres;
let postgres: Postgres;
let claim: ChatClaim;
let otherClaim: ChatClaim;
const rows = { route: '', victimReply: '', otherReply: '' };

/**
 * Tables store long values in separate blocks (TOAST). In each table the first row has one, and one of its blocks
 * is overwritten: PostgreSQL reports a wrong checksum whenever that value is read.
 */
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-damaged-'));
  server = await startEmbeddedPostgres({ dataDir, log: quietLog });
  await applyMigrations(server.url, join(import.meta.dirname, '../../../prisma'));
  postgres = new Postgres(server.url);
  await fill();
  const files = await Promise.all(
    ['journal', 'auth_key', 'route', 'message', 'outbox'].map((table) => fileOfLongValues(table)),
  );
  await postgres.close();
  await server.stop();
  for (const file of files) await makeNoise(file, 1);
  server = await startEmbeddedPostgres({ dataDir, log: quietLog });
  postgres = new Postgres(server.url);
}, 60_000);

afterAll(async () => {
  await postgres.close();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function fill(): Promise<void> {
  const entry = (hash: string, order: bigint, plaintext: string) => ({
    ciphertextHash: hash,
    stanzaOrder: order,
    waMessageId: hash.toUpperCase(),
    plaintext: Buffer.from(plaintext),
    stanza: Buffer.from('{"attrs":{}}'),
  });
  const keys = new PostgresKeyStore(postgres);
  const put = (keyId: string, value: string) => ({ category: 'session', keyId, value });
  await keys.commit(scope, {
    puts: [put('a', long())],
    deletes: [],
    journal: [entry('a', 1n, long())],
  });
  await keys.commit(scope, {
    puts: [put('b', 'whole')],
    deletes: [],
    journal: [entry('b', 2n, 'whole'), entry('c', 3n, 'whole')],
  });

  const routes = new PostgresRouteStore(postgres);
  const route = {
    accountId: ACCOUNT,
    agentEndpoint: 'http://127.0.0.1:1',
    environment: 'lab' as const,
    priority: 0,
    enabled: true,
  };
  rows.route = (
    await routes.create({
      ...route,
      channelId: '*',
      config: { agent: { kind: 'abi', settings: { functions: [long()] } } },
    })
  ).id;
  await routes.create({
    ...route,
    channelId: ana.phone,
    config: { agent: { kind: 'adk', settings: { appName: 'a' } } },
  });

  const inbox = new PostgresInbox(postgres);
  claim = newClaimOf(await inbox.add(aMessage(ACCOUNT, ana, { text: long() }), NODE));
  await inbox.add(aMessage(ACCOUNT, ana, { text: 'second' }), NODE);
  otherClaim = newClaimOf(await inbox.add(aMessage(ACCOUNT, bo, { text: 'of another chat' }), NODE));

  const outbox = new PostgresOutbox(postgres);
  const reply = (text: string) => outbox.addDirect(aReply(ACCOUNT, `${bo.phone}@s.whatsapp.net`, text));
  rows.victimReply = (await reply(long())).row.id;
  rows.otherReply = (await reply('whole')).row.id;
}

/** The file of the long values of a table, relative to the data folder. */
async function fileOfLongValues(table: string): Promise<string> {
  const [row] = await postgres.query<{ path: string }>(sql`
    SELECT pg_relation_filepath(reltoastrelid) AS path FROM pg_class WHERE oid = ${table}::regclass`);
  return row?.path ?? '';
}

async function makeNoise(file: string, block: number): Promise<void> {
  const handle = await open(join(dataDir, 'postgres/data', file), 'r+');
  const { size } = await handle.stat();
  expect(size).toBeGreaterThan((block + 1) * BLOCK_BYTES);
  await handle.write(randomBytes(BLOCK_BYTES), 0, BLOCK_BYTES, block * BLOCK_BYTES);
  await handle.close();
}

describe('one damaged row', () => {
  it('of the journal is reported in its position, with its readable fields', async () => {
    const journal = new PostgresJournal(postgres);
    const entries = await journal.pending(ACCOUNT, { afterOrder: 0n, limit: 10 });
    expect(entries).toMatchObject([
      { ciphertextHash: 'a', stanzaOrder: 1n, waMessageId: 'A', isDamaged: true },
      { ciphertextHash: 'b', plaintext: Buffer.from('whole') },
      { ciphertextHash: 'c', plaintext: Buffer.from('whole') },
    ]);
    expect(Buffer.from(entries[0]?.stanza ?? []).toString()).toBe('{"attrs":{}}');
    await expect(journal.find(ACCOUNT, 'a')).rejects.toThrow(StorageDamagedError);
    await journal.forget(ACCOUNT, ['b']);
    expect(await journal.pending(ACCOUNT, { afterOrder: 0n, limit: 10 })).toHaveLength(2);
  });

  it('of the keys is reported, and the other keys are read', async () => {
    const keys = new PostgresKeyStore(postgres);
    const names = ['a', 'b', 'absent'].map((keyId) => ({ category: 'session', keyId }));
    const read = async () => (await keys.read(scope, names)).map(({ keyId, value }) => [keyId, value]);
    expect(Object.fromEntries(await read())).toEqual({ a: DAMAGED_VALUE, b: 'whole' });
    // PostgreSQL must read the old value to replace it: the account stops with the reason.
    const put = (keyId: string) => ({ category: 'session', keyId, value: 'new' });
    const change = (keyId: string) => ({ puts: [put(keyId)], deletes: [], journal: [] });
    await expect(keys.commit(scope, change('a'))).rejects.toThrow(StorageDamagedError);
    await keys.commit(scope, change('b'));
    expect(Object.fromEntries(await read())).toEqual({ a: DAMAGED_VALUE, b: 'new' });
  });

  it('of the routes is reported with the reason, and the other routes apply', async () => {
    const routes = new PostgresRouteStore(postgres);
    const damage = 'the database cannot read its config';
    const query = { accountId: ACCOUNT, environment: 'lab' as const, channelIds: [ana.phone] };
    for (const found of [await routes.candidates(query), await routes.list()]) {
      expect(found).toMatchObject([
        { id: rows.route, channelId: '*', config: {}, damage },
        { channelId: ana.phone, config: { agent: { kind: 'adk', settings: { appName: 'a' } } } },
      ]);
      expect(found[1]).not.toHaveProperty('damage');
    }
    expect(await routes.get(rows.route)).toMatchObject({ damage });
  });

  it('of the inbox hides no chat of the list', async () => {
    const chats = await new PostgresChatStore(postgres).list({ accountId: ACCOUNT, limit: 9 });
    expect(chats.map(({ channelId }) => channelId).sort()).toEqual([ana.phone, bo.phone].sort());
  });

  it('of the inbox becomes a dead letter without being read, and delays no other chat', async () => {
    const inbox = new PostgresInbox(postgres);
    expect((await inbox.nextTurn(otherClaim))?.message.text).toBe('of another chat');
    await expect(inbox.nextTurn(claim)).rejects.toThrow(StorageDamagedError);
    const why = { reason: 'STORAGE_DAMAGED' as const, error: 'It cannot be read.' };
    const messageId = await inbox.deadLetterUnreadable(claim, why);
    expect((await inbox.nextTurn(claim))?.message.text).toBe('second');
    const log = new PostgresMessageLog(postgres);
    expect(await log.deadLetters({ limit: 5 })).toMatchObject([{ messageId, ...why }]);
    expect(await log.messages({ limit: 5 })).toMatchObject([
      { text: 'of another chat' },
      { text: 'second' },
      { id: messageId, text: '', state: 'dead', reason: 'STORAGE_DAMAGED' },
    ]);
    // A replay finds the row still damaged, and it becomes a dead letter again.
    const [letter] = await log.deadLetters({ limit: 1 });
    expect(await new PostgresDeadLetters(postgres).replay(letter?.id ?? '', NODE)).toMatchObject({
      outcome: 'replayed',
    });
  });

  it('of the outbox becomes a dead letter, and the replies behind it are sent', async () => {
    const outbox = new PostgresOutbox(postgres);
    const undelivered = await outbox.undelivered(ACCOUNT, { limit: 9 });
    expect(undelivered).toMatchObject([{ outboxId: rows.otherReply, message: { text: 'whole' } }]);
    expect(await outbox.markSending(rows.otherReply)).toBe(true);
    const letters = await new PostgresMessageLog(postgres).deadLetters({ limit: 5, reason: 'damaged' });
    expect(letters).toMatchObject([
      { outboxId: rows.victimReply, error: expect.stringMatching(/cannot read/) },
    ]);
  });
});
