import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { PostgresChatStore } from '../../../router/src/features/chats/postgres-chat-store.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresChatHistory } from '../../../router/src/infra/db/stores/postgres-chat-history.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { aMessage, answered, aPerson, aReply, NODE, newClaimOf } from '../../contracts/adapters.ts';
import { testDatabase } from '../../support/database.ts';

const ACCOUNT = 'shop';
const CHATS = 100_000;

const database = testDatabase();
let postgres: Postgres;
beforeAll(async () => {
  postgres = database.open({ poolSize: 1 });
});

/** Chats with everything that policies store, each with an answered message and its reply. */
async function insertChats(first: number, count: number): Promise<void> {
  await postgres.execute(sql`
    INSERT INTO chat (account_id, phone, lid, reply_to, policy_state, paused_at, paused_until, access, access_asked_at)
    SELECT ${ACCOUNT}, '3556' || lpad(n::text, 7, '0'), '8' || lpad(n::text, 9, '0'), '8' || lpad(n::text, 9, '0') || '@lid',
      '{"sessions": {"chat": {"number": 3, "startMs": 1}}, "quotas": {"1": {"startMs": 1, "count": 2}}, "contextMs": 1}',
      CASE WHEN n % 50 = 0 THEN now() END, CASE WHEN n % 50 = 0 THEN now() + interval '1 hour' END,
      CASE n % 20 WHEN 0 THEN 'approved' WHEN 1 THEN 'pending' END, CASE WHEN n % 20 < 2 THEN now() - interval '1 day' END
    FROM generate_series(${first}::integer, ${first + count - 1}::integer) n`);
  await postgres.execute(sql`
    INSERT INTO message (account_id, chat_id, wa_message_id, sender_lid, kind, text, state, stanza_order, sent_at, finished_at)
    SELECT c.account_id, c.id, 'M' || c.id, c.lid, 'text', 'hello', 'answered', c.id, now(), now() FROM chat c
    WHERE NOT EXISTS (SELECT 1 FROM message m WHERE m.chat_id = c.id)`);
  await postgres.execute(sql`
    INSERT INTO outbox (account_id, chat_id, message_id, wa_message_id, to_jid, text, state)
    SELECT m.account_id, m.chat_id, m.id, 'R' || m.id, '1@lid', 'hello', 'read' FROM message m
    WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.message_id = m.id)`);
  await postgres.execute(sql`
    INSERT INTO person_session (account_id, person, chat_ids)
    SELECT account_id, lid, ARRAY[id] FROM chat WHERE account_id = ${ACCOUNT} AND lid IS NOT NULL ON CONFLICT DO NOTHING`);
  await postgres.execute(sql`VACUUM ANALYZE chat, message, outbox, person_session`);
}

async function rowsRead(): Promise<number> {
  await postgres.execute(sql`SELECT pg_stat_force_next_flush()`);
  const tables = sql`('chat', 'message', 'outbox', 'person_session', 'lid_mapping', 'dead_letter')`;
  const [{ rows } = { rows: 0 }] = await postgres.query<{ rows: number }>(sql`
    SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ${tables})::float8
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ${tables})::float8 AS rows`);
  return rows;
}

/** The rows that are read for one message of a new person, with all that policies look up for it. */
async function rowsOfATurn(): Promise<number> {
  const inbox = new PostgresInbox(postgres);
  const outbox = new PostgresOutbox(postgres);
  const chats = new PostgresChatStore(postgres);
  const history = new PostgresChatHistory(postgres);
  const person = aPerson();
  const before = await rowsRead();
  const stored = await inbox.add(aMessage(ACCOUNT, person), NODE);
  const { chatId, messageId } = stored;
  const claim = newClaimOf(stored);
  await inbox.nextTurn(claim);
  await inbox.waiting(chatId, 50);
  await chats.askAccess(chatId);
  await chats.usePersonSession(ACCOUNT, person.lid, chatId);
  await history.pastTurns(chatId, messageId, 20);
  await history.unanswered(chatId, messageId, ['chat-paused', 'owner-message'], 20);
  await history.answeredTurns(chatId, 20);
  const reply = aReply(ACCOUNT, `${person.phone}@s.whatsapp.net`);
  const patch = { quotas: { [person.lid]: { startMs: 1, count: 1 } } };
  const { replies } = await inbox.finishTurn(
    messageId,
    { ...answered([reply]), statePatch: patch },
    { claim },
  );
  await outbox.markSending(replies[0]?.outboxId ?? '');
  const { row } = await outbox.addDirect(aReply(ACCOUNT, `${person.phone}@s.whatsapp.net`));
  await outbox.firstContact(row.id);
  await outbox.isUnasked(row.id);
  await chats.turnFacts(ACCOUNT, [person.phone]);
  await chats.pause(chatId, { forMs: 1_000 });
  await chats.resume(chatId);
  return (await rowsRead()) - before;
}

it(`a turn reads as many rows with ${CHATS} chats that have state as with 100`, async () => {
  await insertChats(1, 100);
  await rowsOfATurn();
  const few = await rowsOfATurn();
  await insertChats(101, CHATS - 100);
  await rowsOfATurn();
  const many = await rowsOfATurn();
  console.log(`rows read for a turn: ${few} with 100 chats, ${many} with ${CHATS}`);
  expect(many).toBeLessThan(200);
}, 120_000);
