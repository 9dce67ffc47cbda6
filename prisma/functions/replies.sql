-- Answers that agents give later, by a token. Isolation level and lock order: see chats.sql; a message comes after its chat.

-- What a token is good for now: unknown | used | expired | valid. A message is answered later once, by any of its tokens,
-- and not when its turn ended with the agent's own answer.
CREATE OR REPLACE FUNCTION reply_token_state(p_hash bytea) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce((
    SELECT CASE
      WHEN m.state = 'answered' AND (m.reason IS NULL OR m.reason IN ('draft', 'draft-dropped')) THEN 'used'
      WHEN EXISTS (SELECT 1 FROM reply_token u WHERE u.message_id = m.id AND u.used_at IS NOT NULL) THEN 'used'
      WHEN t.expires_at <= now() THEN 'expired'
      ELSE 'valid' END
    FROM reply_token t JOIN message m ON m.id = t.message_id WHERE t.token_hash = p_hash), 'unknown')
$$;

-- Stores the replies of a late answer, once. A message that was given up counts as answered then. The lock of the message
-- keeps this apart from the end of its turn and from other uses of its tokens. Returns one row with the outcome alone, or
-- one for each reply; none for a draft.
CREATE OR REPLACE FUNCTION reply_later(
  p_hash bytea, p_wa_ids text[], p_texts text[], p_files jsonb
) RETURNS TABLE (
  outcome text, outbox_id bigint, message_id bigint, chat_id bigint, account_id text, to_jid text, wa_message_id text,
  text text, media jsonb, timer_seconds integer
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  m message;
  v_to text;
  v_first integer;
BEGIN
  SELECT f.* INTO m FROM reply_token t JOIN message f ON f.id = t.message_id WHERE t.token_hash = p_hash
    FOR UPDATE OF f;
  outcome := reply_token_state(p_hash);
  IF outcome <> 'valid' THEN
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE reply_token SET used_at = now() WHERE token_hash = p_hash;
  IF m.state = 'dead' THEN
    UPDATE message SET state = 'answered', reason = 'agent-later', error = NULL WHERE id = m.id;
    UPDATE dead_letter SET replayed_at = now(), error = error || ' The agent answered later.',
        phrase = jsonb_build_object('code', 'agent.answered-later',
          'values', jsonb_build_object('error', coalesce(phrase, to_jsonb(error))))
      WHERE chat_id = m.chat_id AND message_id = m.id AND outbox_id IS NULL AND replayed_at IS NULL;
  END IF;
  SELECT c.reply_to INTO v_to FROM chat c WHERE c.id = m.chat_id;
  SELECT coalesce(max(o.ordinal) + 1, 0) INTO v_first FROM outbox o WHERE o.message_id = m.id;
  INSERT INTO outbox (account_id, chat_id, message_id, ordinal, wa_message_id, to_jid, text, media, timer_seconds, state)
    SELECT m.account_id, m.chat_id, m.id, r.ordinal - 1 + v_first, r.wa_id, v_to, r.text,
      p_files -> (r.ordinal::integer - 1) -> 'media', chat_timer(m.chat_id), first_reply_state(m.chat_id)
    FROM unnest(p_wa_ids, p_texts) WITH ORDINALITY AS r (wa_id, text, ordinal) ORDER BY r.ordinal;
  IF p_files IS NOT NULL THEN
    INSERT INTO outbox_file (outbox_id, bytes, store, location)
      SELECT o.id, decode(f.file ->> 'bytes', 'base64'), f.file ->> 'store', f.file ->> 'location'
      FROM outbox o CROSS JOIN LATERAL (SELECT p_files -> (o.ordinal - v_first) AS file) AS f
      WHERE o.message_id = m.id AND o.ordinal >= v_first AND o.media IS NOT NULL;
  END IF;
  RETURN QUERY
    SELECT 'stored', o.id, o.message_id, o.chat_id, o.account_id, o.to_jid, o.wa_message_id, o.text, o.media, o.timer_seconds
    FROM outbox o WHERE o.message_id = m.id AND o.ordinal >= v_first AND o.state <> 'draft' ORDER BY o.ordinal;
END $$;
