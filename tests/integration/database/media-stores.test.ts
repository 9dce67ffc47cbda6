import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MediaStore, StoreName } from '../../../router/src/core/ports/media.ts';
import { PostgresMessageLog } from '../../../router/src/features/chats/postgres-message-log.ts';
import { AgentTransport } from '../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../router/src/infra/agents/transport/egress.ts';
import { systemClock } from '../../../router/src/infra/clock/system-clock.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresMessageFiles } from '../../../router/src/infra/db/stores/postgres-message-files.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresReplyTokens } from '../../../router/src/infra/db/stores/postgres-reply-tokens.ts';
import { FileUpkeep } from '../../../router/src/infra/db/upkeep/file-upkeep.ts';
import { DiskMediaStore, ReplyFileStores } from '../../../router/src/infra/media/disk-media-store.ts';
import { S3MediaStore } from '../../../router/src/infra/media/s3-media-store.ts';
import { aMessage, anAccount, answered, aPerson, aReply, NODE } from '../../contracts/adapters.ts';
import { S3Server } from '../../doubles/s3-server.ts';
import { testDatabase } from '../../support/database.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { quietLog } from '../../support/quiet-log.ts';

const DAY_MS = 86_400_000;
const database = testDatabase();
let folder: string;
let server: S3Server;
let stores: { disk: MediaStore; s3: MediaStore };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-media-'));
  server = await S3Server.start();
  const deps = { transport: new AgentTransport(new Egress('any')), clock: systemClock };
  stores = {
    disk: new DiskMediaStore({ folder, maxBytes: 10_000_000 }),
    s3: new S3MediaStore(server.settings, deps),
  };
});

afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** A node that writes new files to this store. */
function aNode(use: StoreName | undefined, readable: MediaStore[] = [stores.disk, stores.s3]) {
  const files = new ReplyFileStores({ stores: readable, use, log: quietLog });
  const postgres = database.open({ files });
  return {
    postgres,
    inbox: new PostgresInbox(postgres),
    files: new PostgresMessageFiles(postgres),
    outbox: new PostgresOutbox(postgres),
    log: new PostgresMessageLog(postgres),
    tokens: new PostgresReplyTokens(postgres),
  };
}

type Node = ReturnType<typeof aNode>;

const bytes = Buffer.from([0, 1, 2, 255]);
const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: bytes.length };

/** A reply with a file, by the end of a turn. */
async function replyWithFile(node: Node, accountId = anAccount(), file: Buffer = Buffer.from(bytes)) {
  const { messageId } = await node.inbox.add(aMessage(accountId, aPerson()), NODE);
  const text = aReply(accountId, '5493777000111@s.whatsapp.net');
  const reply = { ...aReply(accountId, '5493777000111@s.whatsapp.net', ''), media, file };
  const { replies } = await node.inbox.finishTurn(messageId, answered([text, reply]));
  const outboxId = replies[1]?.outboxId ?? '';
  return { outboxId, accountId, messageId, waMessageId: reply.waMessageId };
}

const rowOf = async ({ postgres }: Node, outboxId: string) => {
  const [row] = await postgres.query<{ bytes: Buffer | null; store: string | null; location: string | null }>(
    sql`SELECT bytes, store, location FROM outbox_file WHERE outbox_id = ${outboxId}::bigint`,
  );
  return row;
};

describe.each([
  ['database', undefined],
  ['disk', 'disk'],
  ['s3', 's3'],
] as Array<[string, StoreName | undefined]>)('files of replies with the store %s', (_, use) => {
  it('are stored with the end of a turn, a late answer, and a message of a program', async () => {
    const node = aNode(use);
    const ids = [(await replyWithFile(node)).outboxId];

    const accountId = anAccount();
    const { messageId } = await node.inbox.add(aMessage(accountId, aPerson()), NODE);
    const token = await node.tokens.issue(messageId);
    await node.inbox.finishTurn(messageId, { state: 'answered', reason: 'agent-later', replies: [] });
    const late = await node.tokens.redeem(token, [
      { ...aReply(accountId, 'x@s.whatsapp.net', ''), media, file: Buffer.from(bytes) },
    ]);
    if (late.outcome !== 'stored') throw new Error(late.outcome);
    ids.push(late.replies[0]?.outboxId ?? '');

    const file = { source: 'image', bytes: Buffer.from(bytes) };
    const message = { ...aReply(accountId, '5493777000111@s.whatsapp.net', ''), media };
    const { row } = await node.outbox.addDirect(message, { file });
    ids.push(row.id);

    for (const id of ids) {
      const stored = await rowOf(node, id);
      expect([stored?.store, stored?.bytes === null]).toEqual(use ? [use, true] : [null, false]);
      expect(Buffer.from((await aNode(undefined).outbox.fileOf(id))?.bytes ?? [])).toEqual(bytes);
    }
  });

  it('are stored once when the end of a turn is stored again', async () => {
    const node = aNode(use);
    const accountId = anAccount();
    const { messageId } = await node.inbox.add(aMessage(accountId, aPerson()), NODE);
    const reply = {
      ...aReply(accountId, '5493777000111@s.whatsapp.net', ''),
      media,
      file: Buffer.from(bytes),
    };
    const first = await node.inbox.finishTurn(messageId, answered([reply]));
    expect((await node.inbox.finishTurn(messageId, answered([reply]))).replies).toEqual(first.replies);
    const found = [];
    for (const store of [stores.disk, stores.s3]) for await (const file of store.list()) found.push(file);
    expect(found).toHaveLength(use ? 1 : 0);
  });
});

/** A message with a file, which was loaded once. */
async function messageWithFile(node: Node, file: Buffer = Buffer.from(bytes)) {
  const message = aMessage(anAccount(), aPerson(), {
    kind: 'image',
    text: '',
    media: { kind: 'image', mimeType: 'image/png', reference: 'the way' },
  });
  const { messageId } = await node.inbox.add(message, NODE);
  await node.files.save(messageId, file);
  return { messageId, message };
}

describe.each([
  ['database', undefined],
  ['disk', 'disk'],
  ['s3', 's3'],
] as Array<[string, StoreName | undefined]>)('files of people with the store %s', (_, use) => {
  it('are stored once, and read on every node, also after the turn', async () => {
    const node = aNode(use);
    const { messageId } = await messageWithFile(node);
    await node.files.save(messageId, Buffer.from('other'));
    await node.inbox.finishTurn(messageId, answered());
    expect(Buffer.from((await aNode(undefined).files.load(messageId)) ?? [])).toEqual(bytes);
  });

  it('are not given any more when the author takes the message back', async () => {
    const node = aNode(use);
    const { messageId, message } = await messageWithFile(node);
    const deletion = { ...message, waMessageId: `${message.waMessageId}-x`, text: '', media: undefined };
    await node.inbox.add({ ...deletion, deletes: message.waMessageId }, NODE);
    expect(await node.files.load(messageId)).toBeUndefined();
    await node.files.save(messageId, bytes);
    expect(await node.files.load(messageId)).toBeUndefined();
  });
});

describe('a store', () => {
  it('that cannot be used leaves the file to the database', async () => {
    server.status = 503;
    const node = aNode('s3');
    const { outboxId } = await replyWithFile(node);
    expect(await rowOf(node, outboxId)).toMatchObject({ store: null, location: null });
    expect(Buffer.from((await node.outbox.fileOf(outboxId))?.bytes ?? [])).toEqual(bytes);
  });

  it('that is away for a time is asked again; one without settings is named', async () => {
    const node = aNode('s3');
    const { outboxId } = await replyWithFile(node);
    server.status = 500;
    await expect(node.outbox.fileOf(outboxId)).rejects.toMatchObject({ disposition: 'retry' });
    await expect(aNode(undefined, [stores.disk]).outbox.fileOf(outboxId)).rejects.toThrow(/store "s3"/);
    server.status = undefined;
    expect(Buffer.from((await node.outbox.fileOf(outboxId))?.bytes ?? [])).toEqual(bytes);
  });
});

describe('FileUpkeep', () => {
  const upkeep = (node: Node, maxDiskBytes = 10_000_000, clock = new FakeClock(Date.now() + 2 * DAY_MS)) =>
    new FileUpkeep({
      postgres: node.postgres,
      stores: [stores.disk, stores.s3],
      maxDiskBytes,
      clock,
      log: quietLog,
    });
  const run = (each: FileUpkeep) => each.run(new AbortController().signal);
  const countOf = async (store: MediaStore) => {
    let count = 0;
    for await (const _ of store.list()) count += 1;
    return count;
  };

  it.each(['disk', 's3'] as const)(
    'removes files of %s without a row, when they are a day old',
    async (use) => {
      const node = aNode(use);
      const kept = await replyWithFile(node);
      const gone = await replyWithFile(node);
      const keptOfPerson = await messageWithFile(node);
      const goneOfPerson = await messageWithFile(node);
      await node.postgres.execute(sql`DELETE FROM outbox WHERE id = ${gone.outboxId}::bigint`);
      await node.postgres.execute(
        sql`DELETE FROM message_file WHERE message_id = ${goneOfPerson.messageId}::bigint`,
      );
      await run(upkeep(node, 10_000_000, new FakeClock(Date.now() + 3_600_000)));
      expect(await countOf(stores[use])).toBe(4);
      await run(upkeep(node));
      expect(await countOf(stores[use])).toBe(2);
      expect(Buffer.from((await node.files.load(keptOfPerson.messageId)) ?? [])).toEqual(bytes);
      expect(Buffer.from((await node.outbox.fileOf(kept.outboxId))?.bytes ?? [])).toEqual(bytes);
    },
  );

  it('makes room on the disk with the oldest files of delivered replies only', async () => {
    const node = aNode('disk');
    const sent = await replyWithFile(node, anAccount(), Buffer.alloc(60, 1));
    const waiting = await replyWithFile(node, anAccount(), Buffer.alloc(60, 2));
    await node.outbox.recordReceipts(sent.accountId, [
      { waMessageId: sent.waMessageId, state: 'acked', atMs: Date.now() },
    ]);
    await run(upkeep(node, 100));
    expect(await node.outbox.fileOf(sent.outboxId)).toBeUndefined();
    expect((await node.outbox.fileOf(waiting.outboxId))?.bytes).toHaveLength(60);
    expect(await countOf(stores.disk)).toBe(1);
    const shown = await node.log.message(sent.messageId);
    expect(JSON.stringify(shown)).not.toContain('"location"');
  });

  it('makes room on the disk with the oldest files of people first', async () => {
    const node = aNode('disk');
    const sent = await replyWithFile(node, anAccount(), Buffer.alloc(60, 1));
    const { messageId } = await messageWithFile(node, Buffer.alloc(60, 2));
    await node.outbox.recordReceipts(sent.accountId, [
      { waMessageId: sent.waMessageId, state: 'acked', atMs: Date.now() },
    ]);
    await run(upkeep(node, 100));
    expect(await node.files.load(messageId)).toBeUndefined();
    expect((await node.outbox.fileOf(sent.outboxId))?.bytes).toHaveLength(60);
  });

  it('continues with the other stores when one cannot be used, and waits six hours', async () => {
    const node = aNode('disk');
    const gone = await replyWithFile(node);
    await node.postgres.execute(sql`DELETE FROM outbox WHERE id = ${gone.outboxId}::bigint`);
    const clock = new FakeClock(Date.now() + 2 * DAY_MS);
    const each = upkeep(node, 10_000_000, clock);
    server.status = 500;
    await run(each);
    expect(await countOf(stores.disk)).toBe(0);
    const asked = server.requests.length;
    await run(each);
    expect(server.requests).toHaveLength(asked);
  });
});
