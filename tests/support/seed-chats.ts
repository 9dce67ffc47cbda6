import sql from 'sql-template-tag';
import type { Postgres } from '../../router/src/infra/storage/postgres.ts';

/**
 * Fills a database with chats of people, each with the same number of messages, and a reply to each answered one. Chat n is of
 * `Person n`; 1 of 20 chats has an unanswered message, 1 of 100 a dead letter, 1 of 50 a pause, 1 of 10 the tag `vip`. The
 * chats with the highest numbers were active last.
 * @param given.messages received, in all chats
 */
export async function seedChats(
  postgres: Pick<Postgres, 'execute'>,
  given: { accountId?: string; chats: number; messages: number },
): Promise<void> {
  const { accountId = 'default', chats, messages } = given;
  const each = Math.ceil(messages / chats);
  await postgres.execute(sql`
    INSERT INTO chat (account_id, phone, lid, reply_to, active_at, paused_at, tags)
    SELECT ${accountId}, '3556' || lpad(n::text, 7, '0'), '8' || lpad(n::text, 9, '0'), '8' || lpad(n::text, 9, '0') || '@lid',
      now() - (${chats}::integer - n) * interval '1 minute', CASE WHEN n % 50 = 0 THEN now() END,
      CASE WHEN n % 10 = 0 THEN ARRAY['vip'] ELSE '{}' END
    FROM generate_series(1, ${chats}::integer) n`);
  await postgres.execute(sql`
    INSERT INTO message (account_id, chat_id, wa_message_id, sender_phone, sender_lid, push_name, kind, text, state, reason,
      error, stanza_order, sent_at, received_at, finished_at, attempts, agent_ms)
    SELECT c.account_id, c.id, 'M' || c.id || '-' || k, c.phone, c.lid, 'Person ' || c.number, 'text',
      'Question ' || k || ' of person ' || c.number, s.state, CASE s.state WHEN 'dead' THEN 'AGENT_TIMEOUT' END,
      CASE s.state WHEN 'dead' THEN 'The agent did not answer in time.' END, k * 1000000::bigint + c.id, at.time, at.time,
      CASE s.state WHEN 'received' THEN NULL ELSE at.time END, 1, 120
    FROM (SELECT *, substr(phone, 5)::integer AS number FROM chat WHERE account_id = ${accountId}) c
    CROSS JOIN generate_series(1, ${each}::integer) k
    CROSS JOIN LATERAL (SELECT c.active_at - (${each}::integer - k) * interval '1 second' AS time) at
    CROSS JOIN LATERAL (SELECT CASE WHEN k = ${each}::integer AND c.number % 20 = 1 THEN 'received'
      WHEN k = ${each}::integer AND c.number % 100 = 2 THEN 'dead' ELSE 'answered' END AS state) s
    ORDER BY k, c.id`);
  await postgres.execute(sql`
    INSERT INTO outbox (account_id, chat_id, message_id, wa_message_id, to_jid, text, state, attempts, queued_at, sent_at,
      acked_at, delivered_at, read_at)
    SELECT m.account_id, m.chat_id, m.id, 'R' || m.id, m.sender_lid || '@lid', 'Answer to: ' || m.text, 'read', 1, m.received_at,
      m.received_at, m.received_at, m.received_at, m.received_at
    FROM message m WHERE m.account_id = ${accountId} AND m.state = 'answered' ORDER BY m.id`);
  await postgres.execute(sql`
    INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, attempts)
    SELECT account_id, chat_id, id, reason, error, attempts FROM message
    WHERE account_id = ${accountId} AND state = 'dead'`);
  await postgres.execute(sql`VACUUM ANALYZE chat, message, outbox, dead_letter`);
}
