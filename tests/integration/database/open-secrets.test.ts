import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../../router/src/core/messages/inbound-message.ts';
import { secretColumns } from '../../../router/src/features.ts';
import { openSecrets } from '../../../router/src/infra/db/encryption/re-encrypt.ts';
import type { SecretCipher } from '../../../router/src/infra/db/encryption/secret-cipher.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresJournal } from '../../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { aMessage, answered, aPerson, aReply } from '../../contracts/adapters.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quietLog } from '../../support/quiet-log.ts';

const SECRETS = {
  credentials: 'secret-credentials-4711',
  session: 'secret-session-4711',
  plaintext: 'secret-plaintext-4711',
  mediaKey: 'secret-media-key-4711',
  message: 'secret-of-a-message-of-32-bytes.',
  upload: 'secret-upload-4711',
  header: 'secret-bearer-4711',
};

const scope = { accountId: 'a', generation: 1 };

const newKey = () => randomBytes(32).toString('base64');

let database: TestDatabase;
let client: pg.Client;
let folder: string;
let keyFile: string;

beforeEach(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-secrets-'));
  keyFile = join(folder, 'keys');
});
afterEach(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Opens the secrets as a start with these lines as its key file; without lines it has none. */
async function start(lines?: string[], nodeId = 'n1'): Promise<SecretCipher> {
  if (lines) await writeFile(keyFile, lines.join('\n'));
  return openSecrets(client, {
    keyFile: lines && keyFile,
    dataDir: undefined,
    nodeId,
    columns: async () => secretColumns(),
    log: quietLog,
  });
}

/** Stores one of each secret, as the service would. */
async function store(secrets: SecretCipher): Promise<Ids> {
  const postgres = database.open({ secrets });
  await new PostgresKeyStore(postgres).commit(scope, {
    puts: [
      { category: 'creds', keyId: 'creds', value: SECRETS.credentials },
      { category: 'session', keyId: '1.0', value: SECRETS.session },
    ],
    deletes: [],
    journal: [
      {
        ciphertextHash: 'h1',
        stanzaOrder: 1n,
        waMessageId: 'M1',
        plaintext: Buffer.from(SECRETS.plaintext),
        stanza: Buffer.from('<message>'),
      },
    ],
  });
  const media = { kind: 'image' as const, mimeType: 'image/jpeg', sizeBytes: 4, reference: SECRETS.mediaKey };
  const inbox = new PostgresInbox(postgres);
  const message = aMessage('a', aPerson(), { kind: 'image', media, secret: Buffer.from(SECRETS.message) });
  const { messageId } = await inbox.add(message, 'n1');
  const other = await inbox.add(aMessage('a', aPerson()), 'n1');
  const file = {
    media: { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 },
    file: Buffer.from('png'),
  };
  const {
    replies: [reply],
  } = await inbox.finishTurn(
    other.messageId ?? '',
    answered([{ ...aReply('a', '5493777000111@s.whatsapp.net'), ...file }]),
  );
  const outboxId = reply?.outboxId ?? '';
  await new PostgresOutbox(postgres).keepContent(outboxId, Buffer.from(SECRETS.upload));
  const route = await new PostgresRouteStore(postgres).create({
    accountId: 'a',
    channelId: '*',
    agentEndpoint: 'http://127.0.0.1:8000',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: {
      agent: { kind: 'adk', settings: { appName: 'app', headers: { authorization: SECRETS.header } } },
    },
  });
  return { message, messageId, outboxId, routeId: route.id };
}

interface Ids {
  message: InboundMessage;
  messageId: string;
  outboxId: string;
  routeId: string;
}

/** Reads the same values back through the stores. */
async function read(
  postgres: Postgres,
  { message, messageId, outboxId, routeId }: Ids,
): Promise<typeof SECRETS> {
  const keys = new PostgresKeyStore(postgres);
  const route = await new PostgresRouteStore(postgres).get(routeId);
  const keyValue = async (category: string, keyId: string) =>
    (await keys.read(scope, [{ category, keyId }]))[0]?.value ?? '';
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
  return {
    credentials: await keyValue('creds', 'creds'),
    session: await keyValue('session', '1.0'),
    plaintext: text((await new PostgresJournal(postgres).find('a', 'h1'))?.plaintext),
    mediaKey: (await new PostgresInbox(postgres).mediaReference(messageId)) ?? '',
    message: text((await new PostgresInbox(postgres).original(message, message.waMessageId))?.secret),
    upload: text((await new PostgresOutbox(postgres).fileOf(outboxId))?.content),
    header: JSON.stringify(route?.config ?? {}).match(/secret-bearer-4711/)?.[0] ?? '',
  };
}

/** All values of all tables as text; bytes decoded as UTF-8. */
async function rawTables(): Promise<string> {
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query(`SELECT * FROM "${name}"`);
    for (const value of rows.flatMap((row) => Object.values(row))) {
      texts.push(Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value));
    }
  }
  return texts.join('\n');
}

async function keysInUse(): Promise<string[]> {
  const { rows } = await client.query('SELECT DISTINCT key_id FROM data_key_use ORDER BY 1');
  return rows.map((row) => row.key_id);
}

describe('openSecrets', () => {
  it('leaves no secret readable in any table', async () => {
    const key = newKey();
    const ids = await store(await start([key]));
    const raw = await rawTables();
    expect(raw).toContain('http://127.0.0.1:8000');
    for (const secret of Object.values(SECRETS)) {
      expect(raw).not.toContain(secret);
      expect(raw).not.toContain(Buffer.from(secret).toString('base64').slice(0, 20));
      expect(raw).not.toContain(Buffer.from(secret).toString('hex'));
    }
    expect(await read(database.open({ secrets: await start([key]) }), ids)).toEqual(SECRETS);
  });

  it('encrypts with a new key what the former key encrypted, which is then no longer needed', async () => {
    const [former, current] = [newKey(), newKey()];
    const ids = await store(await start([former]));
    const rotated = await start([current, former]);
    expect(await keysInUse()).toEqual([rotated.writeKeyId]);
    const alone = await start([current]);
    expect(await read(database.open({ secrets: alone }), ids)).toEqual(SECRETS);
  });

  it('encrypts what was stored before there was a key', async () => {
    const ids = await store(await start());
    expect(await rawTables()).toContain(SECRETS.header);
    const secrets = await start([newKey()]);
    const raw = await rawTables();
    for (const secret of Object.values(SECRETS)) expect(raw).not.toContain(secret);
    expect(await read(database.open({ secrets }), ids)).toEqual(SECRETS);
    expect(await keysInUse()).toEqual([secrets.writeKeyId]);
  });

  it('takes a damaged secret of a message for none, so that an edit of it ends with a reason', async () => {
    const secrets = await start([newKey()]);
    const { message } = await store(secrets);
    await client.query(
      'UPDATE message SET secret = set_byte(secret, 40, get_byte(secret, 40) # 1) WHERE secret IS NOT NULL',
    );
    const found = await new PostgresInbox(database.open({ secrets })).original(message, message.waMessageId);
    expect(found).toMatchObject({ isOfSender: true });
    expect(found).not.toHaveProperty('secret');
  });

  it('keeps the former key in use while a live node may write with it', async () => {
    const [former, current] = [newKey(), newKey()];
    const before = await start([former], 'n2');
    const after = await start([current, former], 'n1');
    expect(await keysInUse()).toEqual([before.writeKeyId, after.writeKeyId].sort());
    await expect(start([current], 'n3')).rejects.toMatchObject({ code: 'DATABASE_KEY' });
    await start([current, former], 'n2');
    expect(await keysInUse()).toEqual([after.writeKeyId]);
  });

  it('keeps the former key in use while a value cannot be decrypted, and encrypts the others', async () => {
    const [former, current] = [newKey(), newKey()];
    const ids = await store(await start([former]));
    await client.query(
      `UPDATE auth_key SET value = overlay(value PLACING 'AAAA' FROM 30) WHERE key_id = '1.0'`,
    );
    const secrets = await start([current, former]);
    expect(await keysInUse()).toHaveLength(2);
    expect(await read(database.open({ secrets }), ids)).toEqual({ ...SECRETS, session: '' });
  });

  it.each([
    [
      'without the setting',
      undefined,
      /encrypted with the key [0-9a-f]{8}, and WA2AI_DATA_KEY_FILE is not set/,
    ],
    [
      'with another key',
      [newKey()],
      /encrypted with the key [0-9a-f]{8}, which the key file .* does not contain/,
    ],
  ])('refuses a start %s with one sentence, and changes nothing', async (_when, other, sentence) => {
    const key = newKey();
    const ids = await store(await start([key]));
    await expect(start(other)).rejects.toMatchObject({
      code: 'DATABASE_KEY',
      message: expect.stringMatching(sentence),
    });
    expect(await read(database.open({ secrets: await start([key]) }), ids)).toEqual(SECRETS);
  });

  it('refuses the embedded database when its key file is gone, and creates no other one', async () => {
    const embedded = () =>
      openSecrets(client, {
        keyFile: undefined,
        dataDir: folder,
        nodeId: 'n1',
        columns: async () => secretColumns(),
        log: quietLog,
      });
    await store(await embedded());
    await rm(join(folder, 'data-key'));
    await expect(embedded()).rejects.toMatchObject({
      code: 'DATABASE_KEY',
      message: expect.stringMatching(/the key file .*data-key is missing. Restore it from a backup/),
    });
  });
});
