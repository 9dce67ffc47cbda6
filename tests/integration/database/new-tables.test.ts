import { randomBytes } from 'node:crypto';
import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresJournal } from '../../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { aMessage, answered, aPerson, aReply, NODE, newClaimOf } from '../../contracts/adapters.ts';
import { testDatabase } from '../../support/database.ts';

const ACCOUNT = 'shop';
const SCOPE = { accountId: ACCOUNT, generation: 1 };
const ROWS = 5_000;
/** What grows with each message or session. A chat is found by whatever index the server chooses until it has statistics. */
const TABLES = ['auth_key', 'journal', 'message', 'outbox'];
/** The server keeps the plans of a statement after so many runs. */
const RUNS_BEFORE_A_KEPT_PLAN = 6;

const database = testDatabase();
let postgres: Postgres;
beforeAll(async () => {
  postgres = database.open({ poolSize: 1 });
});

async function insertRows(): Promise<void> {
  await postgres.execute(sql`
    INSERT INTO auth_key (account_id, generation, category, key_id, value)
    SELECT ${ACCOUNT}, 1, 'session', 'old' || n, 'v' FROM generate_series(1, ${ROWS}::integer) n`);
  await postgres.execute(sql`
    INSERT INTO chat (account_id, phone, reply_to)
    SELECT ${ACCOUNT}, '3556' || lpad(n::text, 7, '0'), 'p' || n FROM generate_series(1, ${ROWS}::integer) n`);
  await postgres.execute(sql`
    INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at, finished_at)
    SELECT account_id, id, 'M' || id, 'text', 'hello', 'answered', id, now(), now() FROM chat`);
  await postgres.execute(sql`
    INSERT INTO outbox (account_id, chat_id, message_id, wa_message_id, to_jid, text, state)
    SELECT account_id, chat_id, id, 'R' || id, '1@lid', 'hello', 'read' FROM message m
    WHERE NOT EXISTS (SELECT 1 FROM outbox o WHERE o.message_id = m.id)`);
}

async function rowsRead(): Promise<number> {
  await postgres.execute(sql`SELECT pg_stat_force_next_flush()`);
  const [{ rows } = { rows: 0 }] = await postgres.query<{ rows: number }>(sql`
    SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = ANY (${TABLES}))::float8
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ANY (${TABLES}))::float8 AS rows`);
  return rows;
}

/** The rows that are read to receive one message, to answer it, and to store what WhatsApp says of the reply. */
async function rowsOfAMessage(): Promise<number> {
  const [inbox, outbox] = [new PostgresInbox(postgres), new PostgresOutbox(postgres)];
  const [keys, journal] = [new PostgresKeyStore(postgres), new PostgresJournal(postgres)];
  const person = aPerson();
  const name = { category: 'session', keyId: `${person.lid}.0` };
  const ciphertextHash = randomBytes(32).toString('hex');
  const before = await rowsRead();
  await keys.read(SCOPE, [name, { category: 'session', keyId: 'old7' }]);
  await keys.commit(SCOPE, { puts: [{ ...name, value: 'v' }], deletes: [], journal: [] });
  await keys.commit(SCOPE, {
    puts: [{ ...name, value: 'w' }],
    deletes: [{ category: 'pre-key', keyId: '1' }],
    journal: [
      {
        ciphertextHash,
        stanzaOrder: 1n,
        waMessageId: 'W',
        plaintext: Buffer.from('p'),
        stanza: Buffer.from('{}'),
      },
    ],
  });
  const message = aMessage(ACCOUNT, person);
  const stored = await inbox.add(message, NODE);
  // As an encrypted edit needs it.
  await inbox.original(message, message.waMessageId);
  const claim = newClaimOf(stored);
  await inbox.nextTurn(claim);
  const reply = aReply(ACCOUNT, `${person.phone}@s.whatsapp.net`);
  const { replies } = await inbox.finishTurn(stored.messageId, answered([reply]), { claim });
  const outboxId = replies[0]?.outboxId ?? '';
  await outbox.markSending(outboxId);
  await outbox.markSent(outboxId);
  const receipt = { waMessageId: reply.waMessageId, atMs: Date.now() };
  await outbox.recordReceipts(ACCOUNT, [
    { ...receipt, state: 'acked' },
    { ...receipt, state: 'read' },
  ]);
  await journal.forget(ACCOUNT, [ciphertextHash]);
  return (await rowsRead()) - before;
}

it('a message reads few rows although the tables have grown since the server made its plans', async () => {
  for (const table of TABLES) {
    await postgres.execute(sql`ALTER TABLE ${raw(table)} SET (autovacuum_enabled = off)`);
  }
  for (let run = 0; run < RUNS_BEFORE_A_KEPT_PLAN; run++) await rowsOfAMessage();
  await insertRows();
  const rows = await rowsOfAMessage();
  console.log(`rows read for a message: ${rows} beside ${ROWS} older ones`);
  expect(rows).toBeLessThan(200);
}, 120_000);
