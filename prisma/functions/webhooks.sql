-- Webhooks: events that are sent to other programs. The triggers store each event in the transaction that it reports.
-- They exist from the first webhook on: without one, messages cost nothing more.

-- Publishes the node message `webhooks-changed` when the transaction commits, also for rows that wa2ai did not change.
CREATE OR REPLACE FUNCTION webhook_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"webhooks-changed"}}');
  RETURN NULL;
END $$;

-- Not after an UPDATE of the counters of failures.
CREATE OR REPLACE TRIGGER webhook_changed AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF is_enabled ON webhook
  FOR EACH STATEMENT EXECUTE FUNCTION webhook_changed();

-- Whether an enabled webhook wants an event.
CREATE OR REPLACE FUNCTION webhook_wants(p_event text, p_account text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT 1 FROM webhook w
    WHERE w.is_enabled AND p_event = ANY (w.events) AND (w.account_id IS NULL OR w.account_id = p_account))
$$;

-- Stores an event for each enabled webhook that wants it, and wakes the nodes when the transaction commits. `p_chat`: 0
-- for an event of no chat.
CREATE OR REPLACE FUNCTION webhook_store(p_event text, p_account text, p_chat bigint, p_facts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  v_event_id text := gen_random_uuid()::text;
BEGIN
  -- Not the beginning of the transaction: the log is in the order of the ids.
  INSERT INTO webhook_delivery (webhook_id, event_id, event, account_id, chat_id, facts, created_at)
    SELECT w.id, v_event_id, p_event, p_account, p_chat, p_facts, clock_timestamp() FROM webhook w
    WHERE w.is_enabled AND p_event = ANY (w.events) AND (w.account_id IS NULL OR w.account_id = p_account);
  IF FOUND THEN
    PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"webhook-event"}}');
  END IF;
END $$;

-- The addresses of a chat.
CREATE OR REPLACE FUNCTION webhook_chat(p_chat bigint) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('phone', c.phone, 'lid', c.lid, 'groupId', c.group_id, 'username', c.username) FROM chat c WHERE c.id = p_chat
$$;

-- A message was stored. One that cannot be decrypted is reported when a readable copy comes.
CREATE OR REPLACE FUNCTION webhook_on_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF webhook_wants('message', NEW.account_id) THEN
    PERFORM webhook_store('message', NEW.account_id, NEW.chat_id, jsonb_build_object(
      'id', NEW.id::text, 'waMessageId', NEW.wa_message_id, 'senderPhone', NEW.sender_phone, 'senderLid', NEW.sender_lid,
      'pushName', NEW.push_name, 'kind', NEW.kind, 'text', NEW.text, 'quotedText', NEW.quoted_text, 'editOf', NEW.edit_of,
      'mentions', NEW.mentions, 'details', NEW.details, 'media', NEW.media, 'viewOnce', NEW.view_once, 'reason', NEW.reason,
      'sentAtMs', (extract(epoch FROM NEW.sent_at) * 1000)::bigint, 'chat', webhook_chat(NEW.chat_id)));
  END IF;
  RETURN NULL;
END $$;

-- A message to a person was queued, or WhatsApp reported its delivery.
CREATE OR REPLACE FUNCTION webhook_on_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_event text := CASE WHEN NEW.state IN ('acked', 'delivered', 'read') THEN 'delivery' ELSE 'reply' END;
  v_facts jsonb;
BEGIN
  IF webhook_wants(v_event, NEW.account_id) THEN
    v_facts := jsonb_build_object('id', NEW.id::text, 'waMessageId', NEW.wa_message_id, 'replyToId', NEW.message_id::text,
      'chat', webhook_chat(NEW.chat_id));
    PERFORM webhook_store(v_event, NEW.account_id, NEW.chat_id, v_facts || CASE v_event
      WHEN 'delivery' THEN jsonb_build_object('state', NEW.state)
      ELSE jsonb_build_object('kind', coalesce(NEW.special ->> 'kind', NEW.media ->> 'kind', 'text'), 'text', NEW.text,
        'media', NEW.media, 'byHand', NEW.by_hand) END);
  END IF;
  RETURN NULL;
END $$;

-- A message or reply was given up.
CREATE OR REPLACE FUNCTION webhook_on_dead_letter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF webhook_wants('dead-letter', NEW.account_id) THEN
    PERFORM webhook_store('dead-letter', NEW.account_id, NEW.chat_id, jsonb_build_object(
      'id', coalesce(NEW.outbox_id, NEW.message_id)::text, 'deadLetterId', NEW.id::text,
      'direction', CASE WHEN NEW.outbox_id IS NULL THEN 'incoming' ELSE 'outgoing' END,
      'reason', NEW.reason, 'error', NEW.error, 'attempts', NEW.attempts, 'chat', webhook_chat(NEW.chat_id)));
  END IF;
  RETURN NULL;
END $$;

-- The state of an account changed.
CREATE OR REPLACE FUNCTION webhook_on_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF webhook_wants('account-state', NEW.id) THEN
    PERFORM webhook_store('account-state', NEW.id, 0,
      jsonb_build_object('state', NEW.state, 'reason', NEW.reason, 'number', NEW.phone));
  END IF;
  RETURN NULL;
END $$;

-- Creates the triggers of one table, unless they exist. Waits for running writes of the table. With the rights of the owner of
-- the tables: the user of a running node may have none to create triggers. Call it for one table per transaction, so that it
-- never waits for a second table while writers wait for the first.
CREATE OR REPLACE FUNCTION webhook_watch(p_table text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = p_table::regclass AND t.tgname = 'webhook_insert') THEN
    RETURN;
  END IF;
  CASE p_table
    WHEN 'message' THEN
      CREATE TRIGGER webhook_insert AFTER INSERT ON message FOR EACH ROW
        WHEN (NEW.kind <> 'undecryptable' AND NEW.reason IS DISTINCT FROM 'own-message')
        EXECUTE FUNCTION webhook_on_message();
      CREATE TRIGGER webhook_update AFTER UPDATE OF kind ON message FOR EACH ROW
        WHEN (OLD.kind = 'undecryptable' AND NEW.kind <> 'undecryptable' AND NEW.reason IS DISTINCT FROM 'own-message')
        EXECUTE FUNCTION webhook_on_message();
    WHEN 'outbox' THEN
      CREATE TRIGGER webhook_insert AFTER INSERT ON outbox FOR EACH ROW
        WHEN (NEW.state <> 'draft') EXECUTE FUNCTION webhook_on_outbox();
      CREATE TRIGGER webhook_update AFTER UPDATE OF state ON outbox FOR EACH ROW
        WHEN (OLD.state = 'draft' AND NEW.state = 'queued'
          OR NEW.state IN ('acked', 'delivered', 'read') AND NEW.state <> OLD.state)
        EXECUTE FUNCTION webhook_on_outbox();
    WHEN 'dead_letter' THEN
      CREATE TRIGGER webhook_insert AFTER INSERT ON dead_letter FOR EACH ROW EXECUTE FUNCTION webhook_on_dead_letter();
      CREATE TRIGGER webhook_update AFTER UPDATE OF failed_at ON dead_letter FOR EACH ROW
        EXECUTE FUNCTION webhook_on_dead_letter();
    WHEN 'account' THEN
      CREATE TRIGGER webhook_insert AFTER INSERT ON account FOR EACH ROW EXECUTE FUNCTION webhook_on_account();
      CREATE TRIGGER webhook_update AFTER UPDATE OF state, reason ON account FOR EACH ROW
        WHEN (NEW.state <> OLD.state OR NEW.reason IS DISTINCT FROM OLD.reason) EXECUTE FUNCTION webhook_on_account();
  END CASE;
END $$;
