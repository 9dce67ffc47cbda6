-- Chats: one person or one group each. Called by the functions of inbox.sql and outbox.sql.
--
-- All functions are written for READ COMMITTED: each statement sees what others committed before it started.
-- Lock order: the account's advisory lock for joins, then chats by id, then messages, then the outbox.

-- Serializes joins of chats within an account. Take it before any row is locked.
CREATE OR REPLACE FUNCTION lock_joins(p_account text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended('wa2ai chats of ' || p_account, 0));
$$;

-- Records that a LID and a number are one person. Each has one partner; the newest record wins.
CREATE OR REPLACE FUNCTION learn_lid(p_account text, p_lid text, p_phone text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM lid_mapping WHERE account_id = p_account AND lid = p_lid AND phone = p_phone) THEN
    RETURN;
  END IF;
  PERFORM lock_joins(p_account);
  DELETE FROM lid_mapping WHERE account_id = p_account AND phone = p_phone AND lid <> p_lid;
  INSERT INTO lid_mapping (account_id, lid, phone) VALUES (p_account, p_lid, p_phone)
    ON CONFLICT (account_id, lid) DO UPDATE SET phone = excluded.phone, learned_at = now();
END $$;

-- Whether the person of two chats wrote a message of theirs; otherwise the account did.
CREATE OR REPLACE FUNCTION is_from_person(m message, kept chat, gone chat) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(m.sender_phone IN (kept.phone, gone.phone), false)
    OR coalesce(m.sender_lid IN (kept.lid, gone.lid), false);
$$;

-- Whether the messages of a chat get no answer now.
CREATE OR REPLACE FUNCTION is_paused(c chat) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT c.paused_at IS NOT NULL AND (c.paused_until IS NULL OR c.paused_until > now());
$$;

-- Merges two chats of one person into the older row. A worker of the older chat continues; a worker of the other one
-- finds no chat and ends, so no message has two workers.
CREATE OR REPLACE FUNCTION merge_chats(kept chat, gone chat) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- The same message of one sender may be stored under both addresses. A readable copy replaces one that could not be
  -- decrypted. At most one copy is answered, and none if one was answered.
  DELETE FROM message m USING message twin
    WHERE m.chat_id IN (kept.id, gone.id) AND m.kind = 'undecryptable' AND m.state = 'ignored'
      AND twin.chat_id = CASE m.chat_id WHEN kept.id THEN gone.id ELSE kept.id END
      AND twin.wa_message_id = m.wa_message_id AND twin.kind <> 'undecryptable'
      AND is_from_person(twin, kept, gone) = is_from_person(m, kept, gone);
  UPDATE message m SET state = 'ignored', reason = 'duplicate', finished_at = now()
    FROM message twin
    WHERE m.chat_id IN (kept.id, gone.id) AND m.state = 'received'
      AND twin.chat_id = CASE m.chat_id WHEN kept.id THEN gone.id ELSE kept.id END
      AND twin.wa_message_id = m.wa_message_id
      AND is_from_person(twin, kept, gone) = is_from_person(m, kept, gone)
      AND (m.chat_id = gone.id OR twin.state <> 'received');
  -- Messages first: a turn that ends now has locked its message, so the next statement sees its outbox rows.
  UPDATE message SET chat_id = kept.id WHERE chat_id = gone.id;
  UPDATE outbox SET chat_id = kept.id WHERE chat_id = gone.id;
  UPDATE dead_letter SET chat_id = kept.id WHERE chat_id = gone.id;
  UPDATE person_question SET chat_id = kept.id WHERE chat_id = gone.id;
  DELETE FROM chat WHERE id = gone.id;
  UPDATE chat SET active_at = greatest(kept.active_at, gone.active_at) WHERE id = kept.id;
  IF is_paused(gone) AND NOT is_paused(kept) THEN
    UPDATE chat SET paused_at = gone.paused_at, paused_until = gone.paused_until, pause_reason = gone.pause_reason
      WHERE id = kept.id;
  END IF;
  IF kept.worker_node IS NULL THEN
    UPDATE chat SET worker_epoch = greatest(kept.worker_epoch, gone.worker_epoch), reply_to = gone.reply_to
      WHERE id = kept.id;
  END IF;
END $$;

-- Returns the chat of an address, locked. Creates it if there is none, and merges it with the person's other chat.
CREATE OR REPLACE FUNCTION chat_of(p_account text, p_phone text, p_lid text, p_group text, p_reply_to text) RETURNS chat
LANGUAGE plpgsql AS $$
DECLARE
  c chat;
  by_lid chat;
  by_phone chat;
  v_phone text;
  v_lid text;
BEGIN
  IF p_group IS NOT NULL THEN
    SELECT * INTO c FROM chat WHERE account_id = p_account AND group_id = p_group FOR UPDATE;
    IF NOT FOUND THEN
      INSERT INTO chat (account_id, group_id, reply_to) VALUES (p_account, p_group, p_reply_to)
        ON CONFLICT (account_id, group_id) DO UPDATE SET reply_to = excluded.reply_to
        RETURNING * INTO c;
    END IF;
    RETURN c;
  END IF;

  -- The common case: the chat exists and there is nothing to merge.
  IF p_phone IS NOT NULL AND p_lid IS NOT NULL THEN
    SELECT * INTO c FROM chat WHERE account_id = p_account AND lid = p_lid AND phone = p_phone FOR UPDATE;
  ELSIF p_lid IS NOT NULL THEN
    SELECT * INTO c FROM chat WHERE account_id = p_account AND lid = p_lid AND (phone IS NOT NULL OR NOT EXISTS
      (SELECT 1 FROM lid_mapping k WHERE k.account_id = p_account AND k.lid = p_lid)) FOR UPDATE;
  ELSE
    SELECT * INTO c FROM chat WHERE account_id = p_account AND phone = p_phone AND (lid IS NOT NULL OR NOT EXISTS
      (SELECT 1 FROM lid_mapping k WHERE k.account_id = p_account AND k.phone = p_phone)) FOR UPDATE;
  END IF;
  IF FOUND THEN
    RETURN c;
  END IF;

  PERFORM lock_joins(p_account);
  v_phone := p_phone;
  v_lid := p_lid;
  IF v_phone IS NOT NULL AND v_lid IS NOT NULL THEN
    PERFORM learn_lid(p_account, v_lid, v_phone);
  ELSIF v_phone IS NULL THEN
    SELECT phone INTO v_phone FROM lid_mapping WHERE account_id = p_account AND lid = v_lid;
  ELSE
    SELECT lid INTO v_lid FROM lid_mapping WHERE account_id = p_account AND phone = v_phone;
  END IF;
  PERFORM 1 FROM chat WHERE account_id = p_account AND (lid = v_lid OR phone = v_phone) ORDER BY id FOR UPDATE;
  SELECT * INTO by_lid FROM chat WHERE account_id = p_account AND lid = v_lid;
  SELECT * INTO by_phone FROM chat WHERE account_id = p_account AND phone = v_phone;

  IF by_phone.lid <> v_lid THEN
    -- Numbers are reassigned to other people, LIDs are not: remove the number from its former person.
    UPDATE chat SET phone = NULL WHERE id = by_phone.id;
    by_phone := NULL;
  END IF;
  IF by_lid.id IS NULL AND by_phone.id IS NULL THEN
    INSERT INTO chat (account_id, phone, lid, reply_to) VALUES (p_account, v_phone, v_lid, p_reply_to)
      RETURNING * INTO c;
    RETURN c;
  END IF;
  IF by_lid.id < by_phone.id THEN
    PERFORM merge_chats(by_lid, by_phone);
  ELSIF by_lid.id > by_phone.id THEN
    PERFORM merge_chats(by_phone, by_lid);
  END IF;
  UPDATE chat SET phone = coalesce(v_phone, phone), lid = coalesce(v_lid, lid)
    WHERE id = least(by_lid.id, by_phone.id)
    RETURNING * INTO c;
  RETURN c;
END $$;
