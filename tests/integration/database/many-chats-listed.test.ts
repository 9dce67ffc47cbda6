import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { chatPage, messagePage } from '../../../router/src/features/chats/messages-api.ts';
import { PostgresChatStore } from '../../../router/src/features/chats/postgres-chat-store.ts';
import { PostgresMessageLog } from '../../../router/src/features/chats/postgres-message-log.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { testDatabase } from '../../support/database.ts';
import { seedChats } from '../../support/seed-chats.ts';

const CHATS = 10_000;
const MESSAGES = 100_000;
const PAGE = 50;

const database = testDatabase();
let postgres: Postgres;
let chats: PostgresChatStore;
let log: PostgresMessageLog;
beforeAll(async () => {
  postgres = database.open({ poolSize: 1 });
  chats = new PostgresChatStore(postgres);
  log = new PostgresMessageLog(postgres);
  await seedChats(database.url, { chats: CHATS, messages: MESSAGES });
  await list({});
}, 120_000);

const list = (query: Partial<Parameters<typeof chatPage>[1]>) =>
  chatPage(chats, { order: 'active', accountId: 'default', limit: PAGE, ...query });

/** Rows of these tables that `work` reads, by sequential scans and by indexes, and how long it takes. */
async function costOf(work: () => Promise<unknown>, tables: string[]) {
  const before = await rowsRead(tables);
  const beganAt = performance.now();
  await work();
  const ms = Math.round(performance.now() - beganAt);
  return { rows: (await rowsRead(tables)) - before, ms };
}

async function rowsRead(tables: string[]): Promise<number> {
  await postgres.execute(sql`SELECT pg_stat_force_next_flush()`);
  const [{ rows } = { rows: 0 }] = await postgres.query<{ rows: number }>(sql`
    SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = ANY(${tables}))::float8
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ANY(${tables}))::float8 AS rows`);
  return rows;
}

it('reads the first view of many chats without reading their messages', async () => {
  const cost = await costOf(() => list({}), ['message', 'outbox']);
  console.log(`first view: ${cost.rows} rows of messages, ${cost.ms} ms`);
  // At most 5 messages of each state, and one reply, of each chat of the page. (PostgreSQL reads the few dead letters whole.)
  expect(cost.rows).toBeLessThan(PAGE * 40);
  const { data } = await list({});
  expect(data).toHaveLength(PAGE);
  expect(data[0]).toMatchObject({ lastMessage: { text: expect.any(String) }, name: expect.any(String) });
});

it('reads unanswered and failed messages only for their filters', async () => {
  for (const query of [{ hasUnanswered: true }, { hasFailed: true }]) {
    const cost = await costOf(() => list(query), ['message', 'outbox']);
    console.log(`${JSON.stringify(query)}: ${cost.rows} rows of messages, ${cost.ms} ms`);
    expect(cost.rows).toBeLessThan(PAGE * 40 + CHATS / 10);
  }
});

it('finds the chats that wait for an operator without reading the others', async () => {
  await postgres.execute(sql`
    UPDATE message SET received_at = now() - interval '1 hour' WHERE state = 'received'`);
  const tables = ['chat', 'message', 'outbox', 'person_question'];
  const cost = await costOf(() => list({ needsYou: true }), tables);
  console.log(`that wait: ${cost.rows} rows, ${cost.ms} ms`);
  // The twentieth with an unanswered message, and the fiftieth that is paused.
  expect(cost.rows).toBeLessThan(PAGE * 40 + CHATS / 5);
  const { data } = await list({ order: 'needs' });
  expect(data).toHaveLength(PAGE);
  expect(data.every(({ needs }) => needs !== undefined)).toBe(true);
});

it('searches all chats with at most one message of each state read for a chat', async () => {
  const cost = await costOf(() => list({ text: 'nobody has this name' }), ['message', 'outbox']);
  console.log(`search: ${cost.rows} rows of messages, ${cost.ms} ms`);
  expect(cost.rows).toBeLessThan(CHATS * 4);
  const found = await list({ text: 'Person 4321' });
  expect(found.data).toMatchObject([{ name: 'Person 4321' }]);
});

it('finds chats by a tag in an index, which no claim of a chat writes', async () => {
  const tagged = 100_000;
  await postgres.execute(sql`
    INSERT INTO chat (account_id, phone, reply_to, tags)
    SELECT 'tagged', '77' || n, 'x', CASE WHEN n % 1000 = 0 THEN ARRAY['press'] WHEN n % 10 = 0 THEN ARRAY['vip'] ELSE '{}' END
    FROM generate_series(1, ${tagged}::integer) n`);
  await postgres.execute(sql`ANALYZE chat`);
  const query = { accountId: 'tagged', tag: 'press' };
  const plan = await postgres.query<{ 'QUERY PLAN': string }>(sql`
    EXPLAIN SELECT c.id FROM chat c WHERE c.account_id = 'tagged' AND c.tags @> ARRAY['press']::text[] AND c.tags <> '{}'`);
  expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toContain('chat_tags_idx');
  const cost = await costOf(() => list(query), ['chat']);
  console.log(`by tag: ${cost.rows} rows of chats, ${cost.ms} ms`);
  expect(cost.rows).toBeLessThan(2_000);
  expect((await list({ ...query, limit: 200 })).data).toHaveLength(tagged / 1_000);

  const hot = async () => {
    await postgres.execute(sql`SELECT pg_stat_force_next_flush()`);
    const [row] = await postgres.query<{ hot: number }>(sql`
      SELECT n_tup_hot_upd::float8 AS hot FROM pg_stat_user_tables WHERE relname = 'chat'`);
    return row?.hot ?? 0;
  };
  await postgres.execute(sql`VACUUM chat`);
  const before = await hot();
  const [chat] = (await list(query)).data;
  for (let n = 0; n < 5; n++) {
    await postgres.execute(sql`UPDATE chat SET active_at = now() WHERE id = ${chat?.id}::bigint`);
  }
  expect((await hot()) - before).toBeGreaterThanOrEqual(4);
});

it('finds the chats of a route in an index', async () => {
  await postgres.execute(sql`
    UPDATE chat SET route_id = CASE WHEN tags = '{press}' THEN 'press' ELSE 'usual' END WHERE account_id = 'tagged'`);
  await postgres.execute(sql`VACUUM ANALYZE chat`);
  const query = { accountId: 'tagged', routeId: 'press' };
  const cost = await costOf(() => list(query), ['chat']);
  console.log(`by route: ${cost.rows} rows of chats, ${cost.ms} ms`);
  expect(cost.rows).toBeLessThan(2_000);
  expect((await list({ ...query, limit: 200 })).data).toHaveLength(100);
});

it('reads a page of one conversation without reading other chats', async () => {
  const [chat] = (await list({ limit: 1 })).data;
  const page = { direction: 'all' as const, chatId: chat?.id, limit: PAGE };
  const cost = await costOf(
    () => messagePage(log, page),
    ['message', 'outbox', 'outbox_file', 'dead_letter'],
  );
  console.log(`conversation: ${cost.rows} rows of messages, ${cost.ms} ms`);
  expect(cost.rows).toBeLessThan(1_000);
});

it('visits each chat once, page by page', async () => {
  const seen = new Set<string>();
  let after: { activeAtMs: number; id: string } | undefined;
  for (let pages = 0; pages < 40; pages += 1) {
    const rows = await chats.list({ accountId: 'default', limit: 250, after });
    for (const { id } of rows) seen.add(id);
    const last = rows.at(-1);
    after = last && { activeAtMs: last.activeAt.getTime(), id: last.id };
  }
  expect(seen.size).toBe(CHATS);
});
