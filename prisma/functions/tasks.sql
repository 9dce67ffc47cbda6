-- Tasks of agents that outlive a turn. Lock order: the task, its message, the outbox; isolation level: see chats.sql.

-- Closes the open tasks whose turn reported them, and returns the open ones that their turn left running, oldest first.
-- Only the newest task of a message at the route of its answer is one of these.
CREATE OR REPLACE FUNCTION remote_task_unfollowed(p_limit integer) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
  UPDATE remote_task SET state = 'ended', ended_at = now() WHERE id IN (
    SELECT t.id FROM remote_task t JOIN message m ON m.id = t.message_id
    WHERE t.state = 'open' AND m.state <> 'received' AND (
      m.state <> 'answered' OR m.reason IS DISTINCT FROM 'task-started' OR m.route_id IS DISTINCT FROM t.route_id
      OR EXISTS (SELECT 1 FROM remote_task n WHERE n.message_id = t.message_id AND n.id > t.id))
    FOR UPDATE OF t SKIP LOCKED)
    AND state = 'open';
  RETURN QUERY
    SELECT t.id FROM remote_task t JOIN message m ON m.id = t.message_id
    WHERE t.state = 'open' AND m.state = 'answered' AND m.reason = 'task-started'
    ORDER BY t.id LIMIT p_limit;
END $$;

-- Stores a report of a task and its replies, after the replies that the message has. Only the report that follows the
-- last stored one is stored, and none after the end; the rest changes nothing and returns nothing. A failed task makes its
-- message dead, with a dead letter. `p_files` is that of inbox_finish_turn.
CREATE OR REPLACE FUNCTION remote_task_report(
  p_task bigint, p_number integer, p_position text, p_end text, p_reason text, p_error text,
  p_to text[], p_wa_ids text[], p_texts text[], p_files jsonb, p_phrase jsonb
) RETURNS TABLE (
  outbox_id bigint, message_id bigint, chat_id bigint, account_id text, to_jid text, wa_message_id text, text text, media jsonb,
  timer_seconds integer
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t remote_task;
  m message;
  v_first integer;
BEGIN
  SELECT * INTO t FROM remote_task r WHERE r.id = p_task FOR UPDATE;
  IF NOT FOUND OR t.state <> 'open' OR t.reports <> p_number - 1 THEN
    RETURN;
  END IF;
  SELECT * INTO m FROM message g WHERE g.id = t.message_id FOR UPDATE;
  IF NOT FOUND OR m.state <> 'answered' THEN
    RETURN;
  END IF;
  UPDATE remote_task r SET reports = p_number, position = coalesce(p_position, r.position),
      state = CASE WHEN p_end IS NULL THEN 'open' ELSE 'ended' END, ended_at = CASE WHEN p_end IS NULL THEN NULL ELSE now() END
    WHERE r.id = p_task;
  SELECT coalesce(max(o.ordinal) + 1, 0) INTO v_first FROM outbox o WHERE o.message_id = m.id;
  INSERT INTO outbox (account_id, chat_id, message_id, ordinal, wa_message_id, to_jid, text, media, timer_seconds, state)
    SELECT m.account_id, m.chat_id, m.id, r.ordinal - 1 + v_first, r.wa_id, r.to_jid, r.text,
      p_files -> (r.ordinal::integer - 1) -> 'media', chat_timer(m.chat_id), first_reply_state(m.chat_id)
    FROM unnest(p_to, p_wa_ids, p_texts) WITH ORDINALITY AS r (to_jid, wa_id, text, ordinal)
    ORDER BY r.ordinal;
  IF p_files IS NOT NULL THEN
    INSERT INTO outbox_file (outbox_id, bytes, store, location)
      SELECT o.id, decode(f.file ->> 'bytes', 'base64'), f.file ->> 'store', f.file ->> 'location'
      FROM outbox o CROSS JOIN LATERAL (SELECT p_files -> (o.ordinal - v_first) AS file) AS f
      WHERE o.message_id = m.id AND o.ordinal >= v_first AND o.media IS NOT NULL;
  END IF;
  IF p_end = 'failed' THEN
    UPDATE message g SET state = 'dead', reason = p_reason, error = p_error, phrase = p_phrase, finished_at = now()
      WHERE g.id = m.id;
    INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, phrase, attempts, trace)
      VALUES (m.account_id, m.chat_id, m.id, p_reason, p_error, p_phrase, m.attempts, m.trace)
      ON CONFLICT ((coalesce(outbox_id, message_id))) DO UPDATE SET chat_id = excluded.chat_id, reason = excluded.reason,
        error = excluded.error, phrase = excluded.phrase, attempts = excluded.attempts, trace = excluded.trace, failed_at = now(),
        replayed_at = NULL, closed_at = NULL;
  ELSIF p_end IS NOT NULL THEN
    UPDATE message g SET reason = NULL WHERE g.id = m.id;
  END IF;
  RETURN QUERY
    SELECT o.id, o.message_id, o.chat_id, o.account_id, o.to_jid, o.wa_message_id, o.text, o.media, o.timer_seconds
    FROM outbox o WHERE o.message_id = m.id AND o.ordinal >= v_first AND o.state <> 'draft' ORDER BY o.ordinal;
END $$;
