import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatClaim } from '../../router/src/core/ports/inbox.ts';
import type { Postgres } from '../../router/src/infra/db/postgres.ts';
import { messageDocument, PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aMessage, answered, aPerson, drain, NODE, newClaimOf } from './adapters.ts';

describe('concurrent calls for one chat, in the inbox in PostgreSQL', () => {
  let database: TestDatabase;
  let postgres: Postgres;
  let inbox: PostgresInbox;
  /** A connection whose transaction is not committed yet. */
  let other: pg.Client;
  beforeEach(async () => {
    database = await createTestDatabase();
    postgres = database.open();
    inbox = new PostgresInbox(postgres);
    other = new pg.Client({ connectionString: database.url });
    await other.connect();
  });
  afterEach(async () => {
    await other.end();
    await database.drop();
  });

  it('do not release a chat while a message is being stored', async () => {
    const person = aPerson();
    const claim = newClaimOf(await inbox.add(aMessage('a', person, { text: 'first' }), NODE));
    await answerOldest(claim);
    await other.query('BEGIN');
    await storeUncommitted(person.phone, person.lid, 'second');
    const turn = inbox.nextTurn(claim);
    await untilSomebodyWaits();
    await other.query('COMMIT');
    expect((await turn)?.message.text).toBe('second');
  });

  it('do not release a chat with the end of a turn while a message is being stored, without waiting for it', async () => {
    const person = aPerson();
    const stored = await inbox.add(aMessage('a', person), NODE);
    const claim = newClaimOf(stored);
    await other.query('BEGIN');
    await storeUncommitted(person.phone, person.lid, 'second');
    expect(await inbox.finishTurn(stored.messageId, answered(), { claim })).toMatchObject({
      isClaimed: true,
    });
    await other.query('COMMIT');
    expect(await drain(inbox, claim)).toEqual(['second']);
  });

  it('claim the chat for a message that arrives while the end of a turn releases it', async () => {
    const person = aPerson();
    const first = await inbox.add(aMessage('a', person), NODE);
    const claim = newClaimOf(first);
    await other.query('BEGIN');
    await other.query(`UPDATE message SET state = 'answered' WHERE id = $1`, [first.messageId]);
    const { rows } = await other.query('SELECT inbox_release($1, $2, $3, 0) AS is_claimed', [
      claim.chatId,
      claim.node,
      claim.epoch,
    ]);
    expect(rows).toEqual([{ is_claimed: false }]);
    const stored = inbox.add(aMessage('a', person, { text: 'in time' }), NODE);
    await untilSomebodyWaits();
    await other.query('COMMIT');
    expect(await drain(inbox, newClaimOf(await stored))).toEqual(['in time']);
  });

  it.each(['both', 'phone', 'lid'] as const)(
    'claim the chat for a message that arrives by %s while its worker releases it',
    async (form) => {
      const { phone, lid } = aPerson();
      const claim = newClaimOf(await inbox.add(aMessage('a', { phone, lid }), NODE));
      await answerOldest(claim);
      await other.query('BEGIN');
      const closing = await other.query('SELECT * FROM inbox_next_turn($1, $2, $3, true)', [
        claim.chatId,
        claim.node,
        claim.epoch,
      ]);
      expect(closing.rows).toEqual([]);
      const address = { both: { phone, lid }, phone: { phone }, lid: { lid } }[form];
      const stored = inbox.add(aMessage('a', address, { text: 'in time' }), NODE);
      await untilSomebodyWaits();
      await other.query('COMMIT');
      expect(await drain(inbox, newClaimOf(await stored))).toEqual(['in time']);
    },
  );

  it('return all fields of a message that is stored while the worker waits to release its chat', async () => {
    const stored = await inbox.add(aMessage('a', aPerson()), NODE);
    const { messageId } = stored;
    const claim = newClaimOf(stored);
    await answerOldest(claim);
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM chat WHERE id = $1 FOR UPDATE', [claim.chatId]);
    const next = inbox.nextTurn(claim);
    await untilSomebodyWaits();
    await other.query(`UPDATE message SET state = 'received', to_us = 'mention' WHERE id = $1`, [messageId]);
    await other.query('COMMIT');
    expect(await next).toMatchObject({ messageId, toUs: 'mention' });
  });

  it('move the reply of a turn that ends while its chat is joined to another', async () => {
    const { phone, lid } = aPerson();
    const older = await inbox.add(aMessage('a', { phone }), NODE);
    const younger = await inbox.add(aMessage('a', { lid }), NODE);
    await other.query('BEGIN');
    await other.query(
      `SELECT * FROM inbox_finish_turn($1, 'answered', NULL, NULL, NULL, 1, 1, NULL, '{x@lid}', '{WA1}', '{hello}')`,
      [younger.messageId],
    );
    const joining = inbox.add(aMessage('a', { phone, lid }), NODE);
    await untilSomebodyWaits();
    await other.query('COMMIT');
    expect((await joining).chatId).toBe(older.chatId);
    const {
      replies: [reply],
    } = await inbox.finishTurn(younger.messageId, answered());
    expect(reply).toMatchObject({ chatId: older.chatId, message: { text: 'hello' } });
  });

  it('store a message in the joined chat when it waited for the join', async () => {
    const { phone, lid } = aPerson();
    const older = await inbox.add(aMessage('a', { phone }), NODE);
    await inbox.add(aMessage('a', { lid }), NODE);
    await other.query('BEGIN');
    await storeUncommitted(phone, lid, 'joins');
    const stored = inbox.add(aMessage('a', { lid }, { text: 'waited' }), NODE);
    await untilSomebodyWaits();
    await other.query('COMMIT');
    expect((await stored).chatId).toBe(older.chatId);
    expect(await drain(inbox, newClaimOf(older))).toHaveLength(4);
  });

  async function answerOldest(claim: ChatClaim): Promise<void> {
    const turn = await inbox.nextTurn(claim);
    await inbox.finishTurn(turn?.messageId ?? '', answered());
  }

  async function storeUncommitted(phone: string, lid: string, text: string): Promise<void> {
    const message = aMessage('a', { phone, lid }, { text, waMessageId: text });
    const { document } = messageDocument(postgres, message);
    await other.query('SELECT * FROM inbox_add($1, $2)', [document, NODE]);
  }

  async function untilSomebodyWaits(): Promise<void> {
    for (let looks = 0; looks < 5_000; looks++) {
      await other.query('SELECT pg_stat_clear_snapshot()'); // within a transaction pg_stat_activity would not change
      const { rowCount } = await other.query(`SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      if (rowCount) return;
    }
    throw new Error('nobody waits for the lock');
  }
});
