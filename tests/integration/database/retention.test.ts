import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RetentionDays } from '../../../router/src/config/live-settings.ts';
import { PostgresAccountStore } from '../../../router/src/features/accounts/postgres-account-store.ts';
import { PostgresMessageLog } from '../../../router/src/features/chats/postgres-message-log.ts';
import { PostgresDeadLetters } from '../../../router/src/features/dead-letters/dead-letters.ts';
import {
  PostgresNpcChainEvents,
  PostgresNpcTransactions,
} from '../../../router/src/features/npc/postgres-npc-chain.ts';
import {
  PostgresNpcEmotions,
  PostgresNpcMemories,
  PostgresNpcTrades,
} from '../../../router/src/features/npc/postgres-npc-memories.ts';
import { PostgresNpcTasks } from '../../../router/src/features/npc/postgres-npc-tasks.ts';
import { PostgresRemoteTasks } from '../../../router/src/features/tasks/postgres-remote-tasks.ts';
import { retentionRules } from '../../../router/src/features.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresKeyStore } from '../../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresMessageFiles } from '../../../router/src/infra/db/stores/postgres-message-files.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresReplyTokens } from '../../../router/src/infra/db/stores/postgres-reply-tokens.ts';
import { Retention } from '../../../router/src/infra/db/upkeep/retention.ts';
import { DbosTasks } from '../../../router/src/infra/engine/dbos-tasks.ts';
import { aMessage, anAccount, answered, aPerson, aReply, NODE } from '../../contracts/adapters.ts';
import { countRows, createTestDatabase, testDatabase } from '../../support/database.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { SPENDING } from '../../support/npc-tasks.ts';
import { quietLog } from '../../support/quiet-log.ts';

const DAY_MS = 86_400_000;
const limits: RetentionDays = {
  text: 90,
  outbox: 30,
  files: 20,
  exchanges: 7,
  deadLetters: 60,
  workflows: 1,
  journal: 7,
  oldKeys: 30,
  webhooks: 30,
  audit: 10,
};

const database = testDatabase();
let postgres: Postgres;
let inbox: PostgresInbox;
let outbox: PostgresOutbox;
let log: PostgresMessageLog;
let accountId: string;

beforeAll(async () => {
  postgres = database.open();
  inbox = new PostgresInbox(postgres);
  outbox = new PostgresOutbox(postgres);
  log = new PostgresMessageLog(postgres);
  // DBOS creates its tables with the first task.
  const tasks = new DbosTasks({
    databaseUrl: database.url,
    postgres,
    nodeId: 'n1',
    functions: { 'delete-account': async () => ({ deletedRows: 0 }) },
    exclusively: (work) => work(),
    log: quietLog,
  });
  await tasks.start({ kind: 'delete-account', id: 'first', input: { accountId: 'none' } });
  await tasks.stop();
});

beforeEach(() => {
  accountId = anAccount();
});

/** One run at the time that many days from now. */
function runIn(days: number, change: Partial<RetentionDays> = {}, client = postgres) {
  const clock = new FakeClock(Date.now() + days * DAY_MS);
  return new Retention({
    postgres: client,
    rules: retentionRules(),
    limits: () => ({ ...limits, ...change }),
    clock,
    log: quietLog,
  }).runOnce();
}

async function answeredMessage(state: 'acked' | 'sent' = 'acked') {
  const person = aPerson();
  const message = aMessage(accountId, person, { text: 'secret', quotedText: 'quoted' });
  const stored = await inbox.add(message, NODE);
  const reply = aReply(accountId, `${person.phone}@s.whatsapp.net`, 'answer');
  const {
    replies: [row],
  } = await inbox.finishTurn(stored.messageId, { ...answered([reply]), trace: [{ a: 1 }] });
  await outbox.markSending(row?.outboxId ?? '');
  await outbox.markSent(row?.outboxId ?? '');
  if (state === 'acked') {
    await outbox.recordReceipts(accountId, [
      { waMessageId: reply.waMessageId, state: 'acked', atMs: Date.now() },
    ]);
  }
  return { message, reply, messageId: stored.messageId };
}

describe('retention', () => {
  it('removes reply tokens that expired more than a week ago, and keeps the others', async () => {
    const day = 86_400_000;
    const { messageId } = await answeredMessage('sent');
    await postgres.execute(sql`UPDATE message SET reason = 'agent-later' WHERE id = ${messageId}::bigint`);
    const issue = (validMs: number) => new PostgresReplyTokens(postgres, validMs).issue(messageId);
    const [gone, expired, valid] = [await issue(-7 * day - 60_000), await issue(-6 * day), await issue(day)];
    await runIn(0);
    const tokens = new PostgresReplyTokens(postgres);
    expect(await tokens.stateOf(gone)).toBe('unknown');
    expect(await tokens.stateOf(expired)).toBe('expired');
    expect(await tokens.stateOf(valid)).toBe('valid');
  });

  it('removes attempts to sign in that no longer count', async () => {
    for (const [key, minutes] of Object.entries({ 'name:old': 61, 'name:new': 59 })) {
      await postgres.execute(sql`
        INSERT INTO login_attempt (key, count, last_at, allowed_at)
        VALUES (${key}, 3, now() - ${minutes}::integer * interval '1 minute', now())`);
    }
    await runIn(0);
    const left = await postgres.query<{ key: string }>(sql`SELECT key FROM login_attempt`);
    expect(left).toEqual([{ key: 'name:new' }]);
  });

  it('removes nodes that ended an hour ago without leaving', async () => {
    for (const [id, minutes] of Object.entries({ 'gone-long': 61, 'gone-now': 59 })) {
      await postgres.execute(sql`
        INSERT INTO node (id, lock_key, host, url, version, seen_at)
        VALUES (${id}, 7, 'h', '', '0', now() - ${minutes}::integer * interval '1 minute')`);
    }
    await runIn(0);
    const left = await postgres.query<{ id: string }>(sql`SELECT id FROM node WHERE id LIKE 'gone-%'`);
    expect(left).toEqual([{ id: 'gone-now' }]);
  });

  it('removes no row before its time', async () => {
    const { messageId, reply } = await answeredMessage();
    await runIn(29, { workflows: 0 });
    expect(await log.message(messageId)).toMatchObject({ text: 'secret', trace: [{ a: 1 }] });
    expect(await outbox.findByWaId(accountId, reply.waMessageId)).toMatchObject({
      message: { text: 'answer' },
    });
  });

  it('removes texts and keeps the row, so that a message delivered again is recognized', async () => {
    const { message, messageId } = await answeredMessage();
    expect((await runIn(91)).text).toBeGreaterThan(0);
    expect(await log.message(messageId)).toMatchObject({ text: '', quotedText: undefined, trace: undefined });
    expect(await inbox.add(message, NODE)).toMatchObject({ outcome: 'known' });
    expect((await runIn(91)).text).toBe(0);
  });

  it('removes the secrets of messages with their texts, also of messages without text', async () => {
    const secret = Buffer.alloc(32, 7);
    const answeredOne = aMessage(accountId, aPerson(), { secret });
    const { messageId } = await inbox.add(answeredOne, NODE);
    const own = aMessage(accountId, aPerson(), { secret, ignoredReason: 'own-message' });
    await inbox.add(own, NODE);
    await runIn(91);
    expect(await inbox.original(answeredOne, answeredOne.waMessageId)).toMatchObject({ secret });
    expect(await inbox.original(own, own.waMessageId)).not.toHaveProperty('secret');
    await inbox.finishTurn(messageId, answered([]));
    await runIn(91);
    expect(await inbox.original(answeredOne, answeredOne.waMessageId)).toMatchObject({ isOfSender: true });
    expect(await inbox.original(answeredOne, answeredOne.waMessageId)).not.toHaveProperty('secret');
  });

  it('removes the file descriptions of messages and the file bytes of replies with their rows', async () => {
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
    const stored = await inbox.add(
      aMessage(accountId, aPerson(), { text: '', media: { ...media, reference: 'the way' } }),
      NODE,
    );
    const messageId = stored.messageId;
    const file = { ...aReply(accountId, `${aPerson().phone}@s.whatsapp.net`, ''), media };
    const {
      replies: [row],
    } = await inbox.finishTurn(messageId, answered([{ ...file, file: Buffer.from('png') }]));
    await outbox.recordReceipts(accountId, [
      { waMessageId: file.waMessageId, state: 'acked', atMs: Date.now() },
    ]);
    const files = () => countRows(postgres, sql`outbox_file WHERE outbox_id = ${row?.outboxId}::bigint`);
    await outbox.keepContent(row?.outboxId ?? '', Buffer.from('uploaded'));
    await runIn(19);
    expect(await outbox.fileOf(row?.outboxId ?? '')).toMatchObject({ bytes: Buffer.from('png') });
    await runIn(29);
    expect(await files()).toBe(1);
    expect(await outbox.fileOf(row?.outboxId ?? '')).toBeUndefined();
    // A phone may request the message again.
    expect(await outbox.findByWaId(accountId, file.waMessageId)).toMatchObject({
      content: Buffer.from('uploaded'),
    });
    await runIn(91);
    expect(await files()).toBe(0);
    const kept = sql`SELECT media, media_ref FROM message WHERE id = ${messageId}::bigint`;
    expect(await postgres.query(kept)).toEqual([{ media: null, media_ref: null }]);
    expect((await runIn(91)).text).toBe(0);
  });

  it('removes files of people by their age, except of messages that wait or can be replayed', async () => {
    const files = new PostgresMessageFiles(postgres);
    const media = { kind: 'image' as const, mimeType: 'image/png', reference: 'the way' };
    const withFile = async () => {
      const { messageId } = await inbox.add(aMessage(accountId, aPerson(), { text: '', media }), NODE);
      await files.save(messageId, Buffer.from('png'));
      return messageId;
    };
    const [done, dead, waiting] = [await withFile(), await withFile(), await withFile()];
    await inbox.finishTurn(done, answered());
    await inbox.finishTurn(dead, {
      state: 'dead',
      reason: 'AGENT_TIMEOUT',
      error: 'It failed.',
      replies: [],
    });
    const kept = async () =>
      (await Promise.all([done, dead, waiting].map((id) => files.load(id)))).map(
        (file) => file !== undefined,
      );
    await runIn(19);
    expect(await kept()).toEqual([true, true, true]);
    await runIn(21);
    expect(await kept()).toEqual([false, true, true]);
  });

  it('removes exchanges with agents after their time, and with the texts when these go earlier', async () => {
    const exchange = {
      attempt: 1,
      at: '2026-01-31T12:00:00.000Z',
      ms: 12,
      request: { method: 'POST', url: 'http://agent/run', headers: {}, body: 'secret', bytes: 6 },
    };
    const exchanged = async () => {
      const { messageId } = await inbox.add(aMessage(accountId, aPerson(), { text: 'secret' }), NODE);
      await inbox.finishTurn(messageId, { ...answered([]), exchanges: [exchange] });
      return messageId;
    };
    const first = await exchanged();
    await runIn(6);
    expect(await log.exchanges(first)).toEqual([exchange]);
    expect((await runIn(8)).exchanges).toBe(1);
    expect(await log.exchanges(first)).toEqual([]);
    const second = await exchanged();
    await runIn(6, { text: 5 });
    expect(await log.exchanges(second)).toEqual([]);
  });

  it('removes ended tasks at agents with the texts, and no running ones', async () => {
    const tasks = new PostgresRemoteTasks(postgres);
    const { messageId } = await inbox.add(aMessage(accountId, aPerson()), NODE);
    const owner = { accountId, messageId, routeId: anAccount() };
    await tasks.add(owner, 'ended');
    await tasks.add(owner, 'running');
    await inbox.finishTurn(messageId, { ...answered(), reason: 'task-started', routeId: owner.routeId });
    await tasks.unfollowed(10_000);
    await runIn(91);
    expect(await tasks.ofMessage(owner)).toEqual([{ remoteId: 'running', isOpen: true }]);
  });

  it('removes ended tasks of the NPC server and what the NPC felt, and keeps its memories and trades', async () => {
    const scope = { npc: accountId, peer: 'admin' };
    const [ended, running] = [`${accountId}_ended`, `${accountId}_running`];
    const npcTasks = new PostgresNpcTasks(postgres);
    for (const taskId of [ended, running]) {
      await npcTasks.open({ taskId, owner: 'admin', type: 'memory', params: { content: 'secret' } });
    }
    await npcTasks.finish(ended, { status: 'completed', result: {} });
    const emotion = { taskId: ended, trigger: 'gift', intensity: 80 };
    await new PostgresNpcEmotions(postgres).add(scope, emotion);
    const memories = new PostgresNpcMemories(postgres);
    const memory = { taskId: ended, memoryType: 'event', content: {}, importance: 50, text: 'gate' };
    await memories.add(scope, memory);
    const trades = new PostgresNpcTrades(postgres);
    const terms = { direction: 'sell', item: 'sword', quantity: 1, price: '5', total: '5' } as const;
    await trades.offer(scope, { ...terms, maker: 'peer', expiresAtMs: 0 }, ended);

    await runIn(limits.text - 1);
    expect(await npcTasks.find(ended)).toBeDefined();
    await runIn(limits.text + 1);
    expect(await npcTasks.find(ended)).toBeUndefined();
    expect(await npcTasks.find(running)).toBeDefined();
    expect(await countRows(postgres, sql`npc_emotion WHERE npc = ${accountId}`)).toBe(0);
    expect(await memories.recall(scope, 'gate', { isMatchOnly: true })).toHaveLength(1);
    expect(await trades.list({ scope, limit: 9 })).toHaveLength(1);
  });

  it('removes a conversation at an agent that nobody continued, and none that is used without a change', async () => {
    const tasks = new PostgresRemoteTasks(postgres);
    const sessionOf = (sessionId: string) => ({ accountId, routeId: 'r', sessionId });
    for (const name of ['left', 'continued']) await tasks.saveSession(sessionOf(name), { contextId: name });
    await postgres.execute(
      sql`UPDATE agent_session SET used_at = now() - interval '80 days' WHERE account_id = ${accountId}`,
    );
    expect(await tasks.session(sessionOf('continued'))).toEqual({ contextId: 'continued' });
    await runIn(11);
    expect(await tasks.session(sessionOf('left'))).toBeUndefined();
    expect(await tasks.session(sessionOf('continued'))).toEqual({ contextId: 'continued' });
  });

  it('removes ended transactions and events of chains with the texts, and keeps those that wait and the cursor', async () => {
    const transactions = new PostgresNpcTransactions(postgres);
    const chainEvents = new PostgresNpcChainEvents(postgres);
    const signed = async (nonce: number) => ({ hash: `0x${nonce}`, raw: '0x' });
    for (const [minNonce, taskId] of ['ended', 'waiting'].entries()) {
      await transactions.addOnce({ taskId, chainId: 1, wallet: '0xw', minNonce, spends: SPENDING }, signed);
    }
    await transactions.settle('ended', 'succeeded');
    const place = { blockNumber: 1n, transactionHash: '0x0', logIndex: 0 };
    const event = { kind: 'duel-created' as const, ...place, values: {} };
    await chainEvents.store('a chain', [event], { from: undefined, to: 1n });
    await runIn(89);
    expect(await transactions.ofTask('ended')).toBeDefined();
    expect(await chainEvents.list({ limit: 9 })).toMatchObject([{ taskId: 'ended' }]);
    await runIn(91);
    expect(await transactions.ofTask('ended')).toBeUndefined();
    expect(await transactions.ofTask('waiting')).toBeDefined();
    expect(await chainEvents.list({ limit: 9 })).toEqual([]);
    expect(await chainEvents.cursor('a chain')).toBe(1n);
  });

  it('keeps unfinished rows of any age', async () => {
    const waiting = await inbox.add(aMessage(accountId, aPerson(), { text: 'unanswered' }), NODE);
    const { reply } = await answeredMessage('sent');
    const { row } = await outbox.addDirect(aReply(accountId, `${aPerson().phone}@s.whatsapp.net`));
    await runIn(3_000);
    expect(await log.message(waiting.messageId)).toMatchObject({ text: 'unanswered' });
    expect(await outbox.findByWaId(accountId, reply.waMessageId)).toBeDefined();
    expect(await outbox.findByWaId(accountId, row.waMessageId)).toBeDefined();
  });

  it('removes acknowledged replies after their time', async () => {
    const { reply } = await answeredMessage();
    await runIn(31);
    expect(await outbox.findByWaId(accountId, reply.waMessageId)).toBeUndefined();
  });

  it('keeps the content of a dead letter as long as the dead letter, and removes both together', async () => {
    const stored = await inbox.add(aMessage(accountId, aPerson(), { text: 'died' }), NODE);
    await inbox.finishTurn(stored.messageId, { state: 'dead', reason: 'AGENT_TIMEOUT', replies: [] });
    const { row } = await outbox.addDirect(aReply(accountId, `${aPerson().phone}@s.whatsapp.net`));
    await outbox.markDead(row.id, { sentence: 'No such chat.' });

    await runIn(59, { text: 1, outbox: 14 });
    const open = await new PostgresDeadLetters(postgres).open({ accountId }, 9);
    expect(open).toHaveLength(2);
    expect(await log.message(stored.messageId)).toMatchObject({ text: 'died' });
    expect(await outbox.findByWaId(accountId, row.waMessageId)).toBeDefined();

    await runIn(61, { text: 1, outbox: 14 });
    expect(await log.deadLetters({ accountId, limit: 9 })).toEqual([]);
    expect(await log.message(stored.messageId)).toMatchObject({ text: '', state: 'dead' });
    expect(await outbox.findByWaId(accountId, row.waMessageId)).toBeUndefined();
  });

  it('removes records of ended tasks with their inputs and steps', async () => {
    const rowsOf = async (id: string) => {
      const [row] = await postgres.query<{ rows: number }>(sql`
        SELECT count(*)::integer AS rows FROM (
          SELECT workflow_uuid FROM dbos.workflow_status UNION ALL SELECT workflow_uuid FROM dbos.workflow_input
          UNION ALL SELECT workflow_uuid FROM dbos.workflow_output
          UNION ALL SELECT workflow_uuid FROM dbos.operation_outputs) AS w WHERE workflow_uuid = ${id}`);
      return row?.rows ?? 0;
    };
    for (const [id, status] of [
      ['ended', 'SUCCESS'],
      ['still-runs', 'PENDING'],
    ] as const) {
      await postgres.execute(sql`INSERT INTO dbos.workflow_status (workflow_uuid, status, name, created_at, updated_at)
        VALUES (${id}, ${status}, 'delete-account', 1, 1)`);
      await postgres.execute(
        sql`INSERT INTO dbos.workflow_input (workflow_uuid, inputs) VALUES (${id}, '[]')`,
      );
      await postgres.execute(
        sql`INSERT INTO dbos.workflow_output (workflow_uuid, output) VALUES (${id}, '1')`,
      );
      await postgres.execute(
        sql`INSERT INTO dbos.operation_outputs (workflow_uuid, function_id) VALUES (${id}, 0)`,
      );
    }
    expect((await runIn(2)).workflows).toBeGreaterThan(0);
    expect([await rowsOf('ended'), await rowsOf('still-runs')]).toEqual([0, 4]);
    await postgres.execute(sql`DELETE FROM dbos.workflow_status WHERE workflow_uuid = 'still-runs'`);
  });

  it('removes keys that a logout archived, and none in use', async () => {
    const accounts = new PostgresAccountStore(postgres);
    const keys = new PostgresKeyStore(postgres);
    await accounts.save(accountId, { state: 'open' });
    const put = (generation: number) =>
      keys.commit(
        { accountId, generation },
        { puts: [{ category: 'session', keyId: 'x', value: '1' }], deletes: [], journal: [] },
      );
    const has = async (generation: number) =>
      (await keys.read({ accountId, generation }, [{ category: 'session', keyId: 'x' }])).length === 1;
    await put(1);
    await accounts.nextGeneration(accountId);
    await put(2);
    await runIn(29);
    expect([await has(1), await has(2)]).toEqual([true, true]);
    await runIn(31);
    expect([await has(1), await has(2)]).toEqual([false, true]);
  });

  it('removes journal leftovers whose message is stored, and no others', async () => {
    const message = aMessage(accountId, aPerson());
    await inbox.add(message, NODE);
    const entry = (waMessageId: string) => ({
      ciphertextHash: `hash of ${waMessageId}`,
      stanzaOrder: 1n,
      waMessageId,
      plaintext: new Uint8Array([1]),
      stanza: new Uint8Array([2]),
    });
    const journal = [entry(message.waMessageId), entry('NOT-STORED')];
    await new PostgresKeyStore(postgres).commit(
      { accountId, generation: 1 },
      { puts: [], deletes: [], journal },
    );
    await runIn(8);
    const left = sql`SELECT wa_message_id FROM journal WHERE account_id = ${accountId}`;
    expect(await postgres.query(left)).toEqual([{ wa_message_id: 'NOT-STORED' }]);
  });

  it('removes all due rows in batches', async () => {
    await postgres.execute(sql`INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, attempts)
      SELECT ${accountId}, 0, n, 'x', 'x', 0 FROM generate_series(1, 1234) AS n`);
    const clock = new FakeClock(Date.now() + 61 * DAY_MS);
    const run = new Retention({
      postgres,
      rules: retentionRules(),
      limits: () => limits,
      clock,
      log: quietLog,
    }).runOnce();
    for (let batches = 0; batches < 2; batches++) {
      await clock.untilSleeping();
      await clock.advanceMs(50);
    }
    expect((await run).deadLetters).toBeGreaterThanOrEqual(1234);
  });

  it('removes the log of webhooks, and earlier the events that were not delivered when texts are kept shorter', async () => {
    const events = (state: string) =>
      countRows(postgres, sql`webhook_delivery WHERE account_id = ${accountId} AND state = ${state}`);
    await postgres.execute(sql`
      INSERT INTO webhook_delivery (webhook_id, event_id, event, account_id, chat_id, facts, state)
      VALUES ('w', 'e1', 'message', ${accountId}, 1, NULL, 'delivered'), ('w', 'e2', 'message', ${accountId}, 1, '{}', 'pending')`);
    await runIn(29);
    expect([await events('delivered'), await events('pending')]).toEqual([1, 1]);
    await runIn(29, { text: 28 });
    expect([await events('delivered'), await events('pending')]).toEqual([1, 0]);
    expect(await runIn(31)).toHaveProperty('webhooks');
    expect(await events('delivered')).toBe(0);
  });

  it('removes the other kinds although one fails', async () => {
    const accounts = new PostgresAccountStore(postgres);
    await accounts.save(accountId, { state: 'open' });
    const change = { puts: [{ category: 'session', keyId: 'x', value: '1' }], deletes: [], journal: [] };
    await new PostgresKeyStore(postgres).commit({ accountId, generation: 1 }, change);
    await accounts.nextGeneration(accountId);
    await postgres.execute(sql`ALTER TABLE dead_letter RENAME TO away`);
    try {
      const removed = await runIn(31);
      expect(removed).toHaveProperty('oldKeys');
      expect(removed).not.toHaveProperty('deadLetters');
    } finally {
      await postgres.execute(sql`ALTER TABLE away RENAME TO dead_letter`);
    }
    expect(await countRows(postgres, sql`auth_key WHERE account_id = ${accountId}`)).toBe(0);
  });

  it('does not read the rows that it keeps', async () => {
    const own = await createTestDatabase();
    try {
      const connection = own.open({ poolSize: 1 });
      const { chatId } = await new PostgresInbox(connection).add(aMessage('a', aPerson()), NODE);
      await connection.execute(sql`
        INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at, finished_at)
        SELECT 'a', ${BigInt(chatId)}, 'M' || i, 'text', 'hello', 'answered', i, now(), now() FROM generate_series(1, 5000) i`);
      await connection.execute(sql`
        INSERT INTO outbox (account_id, chat_id, wa_message_id, to_jid, text, state, acked_at)
        SELECT 'a', ${BigInt(chatId)}, 'R' || i, 'a@lid', 'hello', 'read', now() FROM generate_series(1, 5000) i`);
      await connection.execute(sql`
        INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, attempts)
        SELECT 'a', ${BigInt(chatId)}, i, 'x', 'x', 0 FROM generate_series(1, 5000) i`);
      await connection.execute(sql`VACUUM ANALYZE message, outbox, dead_letter`);
      const rowsRead = async () => {
        await connection.execute(sql`SELECT pg_stat_force_next_flush()`);
        const [{ rows } = { rows: 0 }] = await connection.query<{ rows: number }>(sql`
          SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS rows FROM pg_stat_user_tables
          WHERE relname IN ('message', 'outbox', 'dead_letter')`);
        return rows;
      };
      const before = await rowsRead();
      await runIn(1, {}, connection);
      expect((await rowsRead()) - before).toBeLessThan(10);
    } finally {
      await own.drop();
    }
  });

  it('runs once at a time for each kind, and keeps rows without a limit', async () => {
    const { messageId } = await answeredMessage();
    const other = database.open();
    await other.transaction(async (transaction) => {
      await transaction.query(sql`SELECT pg_advisory_xact_lock(hashtextextended('wa2ai retention', 0))`);
      expect(await runIn(91)).toEqual({});
    });
    await runIn(3_000, { text: 0 });
    expect(await log.message(messageId)).toMatchObject({ text: 'secret' });
  });
});
