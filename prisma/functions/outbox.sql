-- The outbox. Isolation level and lock order: see chats.sql.

-- Adds a message that is not a reply. An idempotency key that was used before returns its row.
CREATE OR REPLACE FUNCTION outbox_add_direct(
  p_account text, p_phone text, p_lid text, p_group text, p_to text, p_wa_id text, p_text text, p_key text
) RETURNS TABLE (outcome text, outbox_id bigint) LANGUAGE plpgsql AS $$
DECLARE
  c chat := chat_of(p_account, p_phone, p_lid, p_group, p_to);
  o outbox;
BEGIN
  INSERT INTO outbox (account_id, chat_id, idempotency_key, wa_message_id, to_jid, text)
    VALUES (p_account, c.id, p_key, p_wa_id, p_to, p_text)
    ON CONFLICT (account_id, idempotency_key) DO NOTHING RETURNING * INTO o;
  IF FOUND THEN
    UPDATE chat SET active_at = now() WHERE id = c.id;
    RETURN QUERY SELECT 'queued', o.id;
    RETURN;
  END IF;
  SELECT * INTO o FROM outbox WHERE account_id = p_account AND idempotency_key = p_key;
  RETURN QUERY SELECT CASE WHEN o.chat_id = c.id AND o.text = p_text THEN 'known' ELSE 'conflict' END, o.id;
END $$;
