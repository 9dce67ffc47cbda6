-- The outbox. Isolation level and lock order: see chats.sql.

-- Adds a message that is not a reply. An idempotency key that was used before returns its row. `p_by_hand_ms`: a person wrote
-- it, and the chat is paused for so long (owner_wrote). `p_source`: what its file was made of; the file of a repeat has neither `p_bytes` nor
-- `p_stored`, the place in a store.
CREATE OR REPLACE FUNCTION outbox_add_direct(
  p_account text, p_phone text, p_lid text, p_group text, p_to text, p_wa_id text, p_text text, p_key text,
  p_by_hand_ms bigint DEFAULT NULL, p_special jsonb DEFAULT NULL, p_quote jsonb DEFAULT NULL,
  p_media jsonb DEFAULT NULL, p_bytes bytea DEFAULT NULL, p_source text DEFAULT NULL, p_mentions jsonb DEFAULT NULL,
  p_stored jsonb DEFAULT NULL
) RETURNS TABLE (outcome text, outbox_id bigint) LANGUAGE plpgsql AS $$
DECLARE
  c chat := chat_of(p_account, p_phone, p_lid, p_group, p_to);
  o outbox;
BEGIN
  INSERT INTO outbox (account_id, chat_id, idempotency_key, wa_message_id, to_jid, text, by_hand, special, quote, media,
      mentions, timer_seconds)
    VALUES (p_account, c.id, p_key, p_wa_id, p_to, p_text, p_by_hand_ms IS NOT NULL, p_special, p_quote, p_media,
      p_mentions, nullif(c.timer_seconds, 0))
    ON CONFLICT (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING RETURNING * INTO o;
  IF FOUND THEN
    IF p_source IS NOT NULL THEN
      IF p_bytes IS NULL AND p_stored IS NULL THEN
        RAISE not_null_violation USING MESSAGE = 'the first message of the key was removed meanwhile';
      END IF;
      INSERT INTO outbox_file (outbox_id, bytes, store, location, source)
        VALUES (o.id, p_bytes, p_stored ->> 'store', p_stored ->> 'location', p_source);
    END IF;
    UPDATE chat SET active_at = now() WHERE id = c.id;
    IF p_by_hand_ms > 0 THEN
      PERFORM owner_wrote(c, jsonb_build_object('kind', 'takeover', 'forMs', p_by_hand_ms), now());
    END IF;
    RETURN QUERY SELECT 'queued', o.id;
    RETURN;
  END IF;
  SELECT * INTO o FROM outbox WHERE account_id = p_account AND idempotency_key = p_key;
  RETURN QUERY SELECT CASE WHEN o.chat_id = c.id AND o.text = p_text
    AND o.special - 'secret' - 'atMs' IS NOT DISTINCT FROM p_special - 'secret' - 'atMs'
    AND (SELECT f.source FROM outbox_file f WHERE f.outbox_id = o.id) IS NOT DISTINCT FROM p_source THEN 'known' ELSE 'conflict' END, o.id;
END $$;
