-- The inbox. Storing a message or ending a turn changes several rows under the lock of the chat; as a function each is
-- one round trip and one transaction. Isolation level and lock order: see chats.sql.

-- Stores a message and marks the chat as having a worker. `start_epoch` is set if the caller must start that worker.
CREATE OR REPLACE FUNCTION inbox_add(
  p_account text, p_wa_id text, p_phone text, p_lid text, p_group text, p_reply_to text,
  p_sender_phone text, p_sender_lid text, p_push_name text,
  p_kind text, p_text text, p_quoted text, p_edit_of text, p_ignored text,
  p_sent_at_ms bigint, p_stanza_order bigint, p_media jsonb DEFAULT NULL, p_media_ref text DEFAULT NULL
) RETURNS TABLE (outcome text, message_id bigint, chat_id bigint, start_epoch integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c chat;
  v_sender_phone text := p_sender_phone;
  v_sender_lid text := p_sender_lid;
  v_reason text := p_ignored;
  v_id bigint;
  v_stored boolean;
BEGIN
  IF p_group IS NOT NULL THEN
    IF v_sender_phone IS NOT NULL AND v_sender_lid IS NOT NULL THEN
      PERFORM learn_lid(p_account, v_sender_lid, v_sender_phone);
    ELSIF v_sender_lid IS NOT NULL THEN
      SELECT k.phone INTO v_sender_phone FROM lid_mapping k WHERE k.account_id = p_account AND k.lid = v_sender_lid;
    ELSIF v_sender_phone IS NOT NULL THEN
      SELECT k.lid INTO v_sender_lid FROM lid_mapping k WHERE k.account_id = p_account AND k.phone = v_sender_phone;
    END IF;
  END IF;
  c := chat_of(p_account, p_phone, p_lid, p_group, p_reply_to);
  IF p_group IS NULL AND (v_sender_lid = c.lid OR v_sender_phone = c.phone) THEN
    v_sender_phone := coalesce(c.phone, v_sender_phone);
    v_sender_lid := coalesce(c.lid, v_sender_lid);
  END IF;

  IF p_edit_of IS NOT NULL AND v_reason IS NULL AND NOT EXISTS (
    SELECT 1 FROM message m WHERE m.account_id = p_account AND m.chat_id = c.id AND m.wa_message_id = p_wa_id
  ) THEN
    -- An edit of an unanswered message replaces its text. The exception is the oldest one while a worker runs: an
    -- agent may already have it, so its edit is answered as a separate message.
    UPDATE message SET text = p_text WHERE id = (
      SELECT m.id FROM message m
      WHERE m.chat_id = c.id AND m.state = 'received' AND (m.wa_message_id = p_edit_of OR m.edit_of = p_edit_of)
        AND (m.sender_lid = v_sender_lid OR m.sender_phone = v_sender_phone)
        AND NOT (c.loop_running AND m.id = (
          SELECT o.id FROM message o WHERE o.chat_id = c.id AND o.state = 'received'
          ORDER BY o.stanza_order, o.id LIMIT 1))
      ORDER BY m.stanza_order DESC, m.id DESC LIMIT 1);
    IF FOUND THEN
      v_reason := 'edit-applied';
    END IF;
  END IF;

  -- A readable copy replaces one that could not be decrypted.
  INSERT INTO message AS m (
    account_id, chat_id, wa_message_id, sender_phone, sender_lid, push_name, kind, text, quoted_text, edit_of,
    state, reason, stanza_order, sent_at, finished_at, media, media_ref
  ) VALUES (
    p_account, c.id, p_wa_id, v_sender_phone, v_sender_lid, p_push_name, p_kind, p_text, p_quoted, p_edit_of,
    CASE WHEN v_reason IS NULL THEN 'received' ELSE 'ignored' END, v_reason,
    p_stanza_order, to_timestamp(p_sent_at_ms / 1000.0), CASE WHEN v_reason IS NULL THEN NULL ELSE now() END,
    CASE WHEN v_reason IS NULL THEN p_media END, CASE WHEN v_reason IS NULL THEN p_media_ref END
  ) ON CONFLICT (account_id, chat_id, wa_message_id) DO UPDATE SET
    kind = excluded.kind, text = excluded.text, quoted_text = excluded.quoted_text, edit_of = excluded.edit_of,
    push_name = coalesce(excluded.push_name, m.push_name), state = excluded.state, reason = excluded.reason,
    finished_at = excluded.finished_at, media = excluded.media, media_ref = excluded.media_ref
    WHERE m.kind = 'undecryptable' AND m.state = 'ignored' AND excluded.kind <> 'undecryptable'
  RETURNING m.id INTO v_id;
  v_stored := FOUND;
  IF NOT v_stored THEN
    SELECT m.id INTO v_id FROM message m
      WHERE m.account_id = p_account AND m.chat_id = c.id AND m.wa_message_id = p_wa_id;
  END IF;

  IF NOT c.loop_running AND ((v_stored AND v_reason IS NULL) OR EXISTS (
    SELECT 1 FROM message m WHERE m.chat_id = c.id AND m.state = 'received'
  )) THEN
    UPDATE chat SET loop_running = true, loop_epoch = c.loop_epoch + 1,
        reply_to = CASE WHEN v_stored AND v_reason IS NULL THEN p_reply_to ELSE reply_to END
      WHERE id = c.id RETURNING loop_epoch INTO start_epoch;
  ELSIF v_stored AND v_reason IS NULL AND c.reply_to <> p_reply_to THEN
    UPDATE chat SET reply_to = p_reply_to WHERE id = c.id;
  END IF;
  outcome := CASE WHEN v_stored THEN 'stored' ELSE 'known' END;
  message_id := v_id;
  chat_id := c.id;
  RETURN NEXT;
END $$;

-- Returns the oldest unanswered message of a chat whose worker has this epoch. If there is none and p_close is set, the
-- worker is closed. Reading needs no lock: only the worker ends messages. Closing checks again under the lock, so a
-- message stored meanwhile is either returned here or starts the next worker.
CREATE OR REPLACE FUNCTION inbox_next_turn(p_chat bigint, p_epoch integer, p_close boolean DEFAULT true) RETURNS TABLE (
  message_id bigint, account_id text, wa_message_id text, sender_phone text, sender_lid text, push_name text,
  kind text, text text, quoted_text text, sent_at timestamptz, chat_phone text, chat_lid text, group_id text,
  reply_to text, attempts integer, received_at timestamptz, replied_at timestamptz, media jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_locked boolean := false;
BEGIN
  LOOP
    RETURN QUERY
      SELECT m.id, m.account_id, m.wa_message_id, m.sender_phone, m.sender_lid, m.push_name, m.kind, m.text,
             m.quoted_text, m.sent_at, c.phone, c.lid, c.group_id, c.reply_to, m.attempts,
             m.received_at, (SELECT o.queued_at FROM outbox o WHERE o.chat_id = c.id ORDER BY o.id DESC LIMIT 1),
             m.media
      FROM chat c JOIN message m ON m.chat_id = c.id AND m.state = 'received'
      WHERE c.id = p_chat AND c.loop_epoch = p_epoch AND c.loop_running
      ORDER BY m.stanza_order, m.id LIMIT 1;
    EXIT WHEN FOUND OR NOT p_close;
    IF v_locked THEN
      UPDATE chat SET loop_running = false WHERE id = p_chat;
      EXIT;
    END IF;
    PERFORM 1 FROM chat WHERE id = p_chat AND loop_epoch = p_epoch AND loop_running FOR UPDATE;
    EXIT WHEN NOT FOUND;
    v_locked := true;
  END LOOP;
END $$;

-- Finishes a turn once: the message's state, its replies, its dead letter. Returns the replies written by this call, or,
-- for a turn that was finished before, all replies of the message. A replayed message may have replies of its first turn.
-- `p_files` has the file of each reply or null: {"media": {...}, "bytes": base64}. The media reference is removed unless
-- the message can be replayed.
CREATE OR REPLACE FUNCTION inbox_finish_turn(
  p_message bigint, p_state text, p_reason text, p_error text, p_route text, p_attempts integer, p_agent_ms integer,
  p_trace jsonb, p_to text[], p_wa_ids text[], p_texts text[], p_files jsonb DEFAULT NULL
) RETURNS TABLE (
  outbox_id bigint, chat_id bigint, account_id text, to_jid text, wa_message_id text, text text, media jsonb
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_account text;
  v_chat bigint;
  v_first integer := 0;
  v_reason text := CASE WHEN p_state = 'answered' THEN p_reason ELSE coalesce(p_reason, 'unspecified') END;
BEGIN
  UPDATE message m SET state = p_state, reason = v_reason, error = p_error, route_id = p_route,
      attempts = coalesce(p_attempts, 0), agent_ms = p_agent_ms, trace = p_trace, finished_at = now(),
      media_ref = CASE WHEN p_state = 'dead' THEN m.media_ref END
    WHERE m.id = p_message AND m.state = 'received'
    RETURNING m.account_id, m.chat_id INTO v_account, v_chat;
  IF FOUND THEN
    SELECT coalesce(max(o.ordinal) + 1, 0) INTO v_first FROM outbox o WHERE o.message_id = p_message;
    INSERT INTO outbox (account_id, chat_id, message_id, ordinal, wa_message_id, to_jid, text, media)
      SELECT v_account, v_chat, p_message, r.ordinal - 1 + v_first, r.wa_id, r.to_jid, r.text,
        p_files -> (r.ordinal::integer - 1) -> 'media'
      FROM unnest(p_to, p_wa_ids, p_texts) WITH ORDINALITY AS r (to_jid, wa_id, text, ordinal)
      ORDER BY r.ordinal;
    IF p_files IS NOT NULL THEN
      INSERT INTO outbox_file (outbox_id, bytes)
        SELECT o.id, decode(p_files -> (o.ordinal - v_first) ->> 'bytes', 'base64') FROM outbox o
        WHERE o.message_id = p_message AND o.ordinal >= v_first AND o.media IS NOT NULL;
    END IF;
    IF p_state = 'dead' THEN
      INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, attempts, trace)
        VALUES (v_account, v_chat, p_message, v_reason, coalesce(p_error, v_reason), coalesce(p_attempts, 0), p_trace)
        ON CONFLICT ((coalesce(outbox_id, message_id))) DO UPDATE SET chat_id = excluded.chat_id, reason = excluded.reason,
          error = excluded.error, attempts = excluded.attempts, trace = excluded.trace, failed_at = now(),
          replayed_at = NULL, closed_at = NULL;
    END IF;
  END IF;
  RETURN QUERY
    SELECT o.id, o.chat_id, o.account_id, o.to_jid, o.wa_message_id, o.text, o.media
    FROM outbox o WHERE o.message_id = p_message AND o.ordinal >= v_first ORDER BY o.ordinal;
END $$;

-- Dead-letters the oldest unanswered message of a chat whose worker has this epoch, without reading its values: the row
-- may be damaged. Returns its id, or NULL if there is none.
CREATE OR REPLACE FUNCTION inbox_bury(p_chat bigint, p_epoch integer, p_reason text, p_error text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
  v_account text;
BEGIN
  UPDATE message SET state = 'dead', reason = p_reason, error = p_error, finished_at = now()
    WHERE id = (
      SELECT m.id FROM chat c JOIN message m ON m.chat_id = c.id AND m.state = 'received'
      WHERE c.id = p_chat AND c.loop_epoch = p_epoch AND c.loop_running
      ORDER BY m.stanza_order, m.id LIMIT 1)
    RETURNING id, account_id INTO v_id, v_account;
  IF FOUND THEN
    INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, attempts)
      VALUES (v_account, p_chat, v_id, p_reason, p_error, 0)
        ON CONFLICT ((coalesce(outbox_id, message_id))) DO UPDATE SET chat_id = excluded.chat_id, reason = excluded.reason,
          error = excluded.error, attempts = excluded.attempts, trace = excluded.trace, failed_at = now(),
          replayed_at = NULL, closed_at = NULL;
  END IF;
  RETURN v_id;
END $$;

-- Moves the chat to a new worker and returns its epoch; closes the worker and returns NULL if there is nothing to answer.
-- Idempotent: a repeated call after a crash returns the same epoch.
CREATE OR REPLACE FUNCTION inbox_renew_loop(p_chat bigint, p_epoch integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_epoch integer;
  v_open boolean;
BEGIN
  SELECT loop_epoch INTO v_epoch FROM chat
    WHERE id = p_chat AND loop_epoch IN (p_epoch, p_epoch + 1) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  v_open := EXISTS (SELECT 1 FROM message WHERE chat_id = p_chat AND state = 'received');
  IF v_epoch = p_epoch THEN
    UPDATE chat SET loop_running = v_open, loop_epoch = p_epoch + v_open::integer WHERE id = p_chat;
  END IF;
  RETURN CASE WHEN v_open THEN p_epoch + 1 END;
END $$;

-- Returns the chats with unanswered messages and the epochs of their workers; a chat without a worker gets one. A chat
-- whose row is locked is skipped: the next sweep finds it.
CREATE OR REPLACE FUNCTION inbox_open_loops() RETURNS TABLE (chat_id bigint, epoch integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE chat SET loop_running = true, loop_epoch = loop_epoch + 1
    WHERE id IN (
      SELECT c.id FROM chat c
      WHERE NOT c.loop_running AND c.id IN (SELECT m.chat_id FROM message m WHERE m.state = 'received')
      FOR UPDATE SKIP LOCKED);
  RETURN QUERY
    SELECT c.id, c.loop_epoch FROM chat c
    WHERE c.loop_running AND c.id IN (SELECT m.chat_id FROM message m WHERE m.state = 'received')
    ORDER BY c.id;
END $$;
