-- Answers that wait for the owner. Isolation level and lock order: see chats.sql.

-- Queues the parts of the draft of a message, once, and returns them; with p_text in place of their texts, and then without the
-- parts that had nothing but text.
CREATE OR REPLACE FUNCTION draft_approve(p_message bigint, p_text text) RETURNS TABLE (
  outbox_id bigint, message_id bigint, chat_id bigint, account_id text, to_jid text, wa_message_id text, text text,
  media jsonb, quote jsonb, timer_seconds integer
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_first bigint;
  v_ids bigint[];
BEGIN
  PERFORM 1 FROM message m WHERE m.id = p_message FOR UPDATE;
  SELECT min(o.id) INTO v_first FROM outbox o WHERE o.message_id = p_message AND o.state = 'draft';
  IF v_first IS NULL THEN
    RETURN;
  END IF;
  IF p_text IS NOT NULL THEN
    DELETE FROM outbox o WHERE o.message_id = p_message AND o.state = 'draft' AND o.id <> v_first AND o.media IS NULL;
    UPDATE outbox o SET text = CASE o.id WHEN v_first THEN p_text ELSE '' END
      WHERE o.message_id = p_message AND o.state = 'draft';
  END IF;
  WITH queued AS (
    UPDATE outbox o SET state = 'queued', queued_at = now() WHERE o.message_id = p_message AND o.state = 'draft'
    RETURNING o.id)
  SELECT array_agg(q.id) INTO v_ids FROM queued q;
  UPDATE message m SET reason = NULL WHERE m.id = p_message AND m.reason = 'draft';
  RETURN QUERY
    SELECT o.id, o.message_id, o.chat_id, o.account_id, o.to_jid, o.wa_message_id, o.text, o.media, o.quote, o.timer_seconds
    FROM outbox o WHERE o.id = ANY (v_ids) ORDER BY o.ordinal;
END $$;

-- Removes the draft of a message. Returns whether there was one.
CREATE OR REPLACE FUNCTION draft_drop(p_message bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_is_dropped boolean;
BEGIN
  PERFORM 1 FROM message m WHERE m.id = p_message FOR UPDATE;
  DELETE FROM outbox o WHERE o.message_id = p_message AND o.state = 'draft';
  v_is_dropped := FOUND;
  UPDATE message m SET reason = 'draft-dropped' WHERE m.id = p_message AND m.reason = 'draft';
  RETURN v_is_dropped;
END $$;
