-- Chats: one person or one group each. Called by the functions of inbox.sql and outbox.sql.
--
-- All functions are written for READ COMMITTED: each statement sees what others committed before it started.
-- Lock order: the account's advisory lock for joins, then chats by id, then messages, then the outbox. A commit of keys stores
-- messages of several chats in the order of their stanzas: it waits for no lock longer than LOCK_TIMEOUT
-- (postgres-key-store.ts), so that no deadlock lasts.

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

-- Whether a chat is paused now.
CREATE OR REPLACE FUNCTION is_paused(c chat) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT c.paused_at IS NOT NULL AND (c.paused_until IS NULL OR c.paused_until > now());
$$;

-- After how many seconds messages to a chat disappear; NULL for never.
CREATE OR REPLACE FUNCTION chat_timer(p_chat bigint) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT nullif(timer_seconds, 0) FROM chat WHERE id = p_chat
$$;

-- What the owner decided about a chat; NULL if the owner was not asked, or not in the last days.
CREATE OR REPLACE FUNCTION access_of(c chat) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN c.access = 'pending' AND c.access_asked_at < now() - interval '7 days' THEN NULL ELSE c.access END;
$$;

-- Reasons of messages that are answered when the owner approves their chat.
CREATE OR REPLACE FUNCTION access_reasons() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['access-pending', 'access-over-limit'];
$$;

-- Makes messages of a chat unanswered again, in their order, except those that are old or whose text was removed.
CREATE OR REPLACE FUNCTION requeue_ignored(p_chat bigint, p_reasons text[]) RETURNS void LANGUAGE sql AS $$
  UPDATE message SET state = 'received', reason = NULL, error = NULL, finished_at = NULL
  WHERE chat_id = p_chat AND state = 'ignored' AND reason = ANY (p_reasons)
    AND received_at > now() - interval '7 days' AND (text <> '' OR kind <> 'text');
$$;

-- Stores that the owner is asked about a chat, at most three chats of an account in an hour.
CREATE OR REPLACE FUNCTION chat_ask_access(p_chat bigint) RETURNS TABLE (
  access text, asked_at_ms double precision, owner_phone text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c chat;
BEGIN
  SELECT * INTO c FROM chat WHERE id = p_chat;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('wa2ai access of ' || c.account_id, 0));
  SELECT * INTO c FROM chat WHERE id = p_chat FOR UPDATE;
  access := access_of(c);
  IF access IS NULL AND (
      SELECT count(*) FROM chat o WHERE o.account_id = c.account_id AND o.access_asked_at > now() - interval '1 hour') >= 3 THEN
    access := 'over-limit';
  ELSIF access IS NULL THEN
    UPDATE chat SET access = 'pending', access_asked_at = now() WHERE id = p_chat RETURNING * INTO c;
    access := 'pending';
  END IF;
  asked_at_ms := (extract(epoch FROM c.access_asked_at) * 1000)::bigint;
  owner_phone := (SELECT a.phone FROM account a WHERE a.id = c.account_id);
  RETURN NEXT;
END $$;

-- Claims a chat for p_node if it has unanswered messages and no worker, and p_node is given. Returns the claim.
CREATE OR REPLACE FUNCTION claim_if_unanswered(c chat, p_node text) RETURNS TABLE (
  worker_node text, worker_epoch integer, is_new_worker boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  is_new_worker := p_node IS NOT NULL AND c.worker_node IS NULL
    AND EXISTS (SELECT 1 FROM message m WHERE m.chat_id = c.id AND m.state = 'received');
  IF is_new_worker THEN
    UPDATE chat SET worker_node = p_node, worker_epoch = c.worker_epoch + 1 WHERE id = c.id RETURNING * INTO c;
  END IF;
  worker_node := c.worker_node;
  worker_epoch := c.worker_epoch;
  RETURN NEXT;
END $$;

-- Stores the owner's decision about a chat. After `approved`, its waiting messages are unanswered again, and the chat is
-- claimed for p_node if it has no worker.
CREATE OR REPLACE FUNCTION chat_decide_access(p_chat bigint, p_access text, p_node text) RETURNS TABLE (
  worker_node text, worker_epoch integer, is_new_worker boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c chat;
BEGIN
  UPDATE chat SET access = p_access WHERE id = p_chat RETURNING * INTO c;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF p_access = 'approved' THEN
    PERFORM requeue_ignored(p_chat, access_reasons());
  END IF;
  RETURN QUERY SELECT * FROM claim_if_unanswered(c, p_node);
END $$;

-- Ends the pause of a chat. With p_node, messages that got no answer because of a pause are unanswered again, and the chat is
-- claimed for p_node if it has no worker.
CREATE OR REPLACE FUNCTION chat_resume(p_chat bigint, p_node text) RETURNS TABLE (
  worker_node text, worker_epoch integer, is_new_worker boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c chat;
BEGIN
  UPDATE chat SET paused_at = NULL, paused_until = NULL, pause_reason = NULL, pause_mode = NULL,
      policy_state = CASE WHEN pause_mode = 'auto-reply-loop' THEN coalesce(policy_state, '{}')
        || jsonb_build_object('loopFromMs', (extract(epoch FROM now()) * 1000)::bigint) ELSE policy_state END
    WHERE id = p_chat RETURNING * INTO c;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF p_node IS NOT NULL THEN
    PERFORM requeue_ignored(p_chat, ARRAY['chat-paused', 'auto-reply-loop']);
  END IF;
  RETURN QUERY SELECT * FROM claim_if_unanswered(c, p_node);
END $$;

-- Applies what the account's owner wrote by hand to the chat: `takeover` pauses it for `forMs` from the time of the message,
-- unless it is paused longer; `pause` (without `forMs`: until it is resumed) and `resume` are commands. Messages of a
-- takeover go along with the next one that an agent gets.
CREATE OR REPLACE FUNCTION owner_wrote(c chat, p_effect jsonb, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_is_paused boolean := is_paused(c) AND c.pause_mode IS DISTINCT FROM 'auto-reply-loop';
  v_for interval := (p_effect ->> 'forMs')::bigint * interval '1 millisecond';
  v_context jsonb := jsonb_build_object('contextMs', ceil(extract(epoch FROM now()) * 1000)::bigint);
BEGIN
  IF p_effect ->> 'kind' = 'resume' THEN
    UPDATE chat SET paused_at = NULL, paused_until = NULL, pause_reason = NULL, pause_mode = NULL WHERE id = c.id;
  ELSIF p_effect ->> 'kind' = 'pause' THEN
    UPDATE chat SET paused_at = now(), paused_until = now() + v_for, pause_reason = '#pause', pause_mode = NULL
      WHERE id = c.id;
  ELSIF v_is_paused AND c.paused_until IS NULL THEN
    UPDATE chat SET policy_state = coalesce(policy_state, '{}') || v_context WHERE id = c.id;
  ELSE
    UPDATE chat SET policy_state = coalesce(policy_state, '{}') || v_context,
        paused_at = CASE WHEN v_is_paused THEN paused_at ELSE now() END,
        paused_until = greatest(CASE WHEN v_is_paused THEN paused_until END, least(p_at, now()) + v_for),
        pause_reason = CASE WHEN v_is_paused THEN pause_reason ELSE 'The owner wrote in the chat.' END,
        pause_mode = CASE WHEN v_is_paused THEN pause_mode END
      WHERE id = c.id;
  END IF;
END $$;

-- How a chat is paused now: listen-only | approve | auto-reply-loop; NULL if it is not.
CREATE OR REPLACE FUNCTION pause_mode_of(c chat) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN is_paused(c) THEN coalesce(c.pause_mode, 'listen-only') END;
$$;

-- The first state of an answer in a chat: `draft` where the owner approves answers.
CREATE OR REPLACE FUNCTION first_reply_state(p_chat bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE (SELECT pause_mode_of(c) FROM chat c WHERE c.id = p_chat) WHEN 'approve' THEN 'draft' ELSE 'queued' END;
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
  UPDATE webhook_delivery SET chat_id = kept.id WHERE webhook_id IN (SELECT w.id FROM webhook w)
    AND account_id = gone.account_id AND chat_id = gone.id AND state = 'pending';
  DELETE FROM chat WHERE id = gone.id;
  UPDATE chat SET active_at = greatest(kept.active_at, gone.active_at),
      timer_seconds = greatest(kept.timer_seconds, gone.timer_seconds),
      is_locked = kept.is_locked OR gone.is_locked, username = coalesce(gone.username, kept.username),
      policy_state = CASE WHEN gone.policy_state IS NULL THEN policy_state
        ELSE gone.policy_state || coalesce(policy_state, '{}') END,
      route_id = coalesce(kept.route_id, gone.route_id),
      tags = ARRAY(SELECT DISTINCT tag FROM unnest(kept.tags || gone.tags) AS tag ORDER BY tag),
      notes = coalesce(kept.notes || E'\n' || gone.notes, kept.notes, gone.notes)
    WHERE id = kept.id;
  IF gone.access IS NOT NULL AND kept.access IS DISTINCT FROM gone.access THEN
    -- A refusal counts most, then an approval.
    UPDATE chat SET access_asked_at = coalesce(kept.access_asked_at, gone.access_asked_at),
        access = CASE WHEN 'refused' IN (kept.access, gone.access) THEN 'refused'
          WHEN 'approved' IN (kept.access, gone.access) THEN 'approved' ELSE 'pending' END
      WHERE id = kept.id;
  END IF;
  IF EXISTS (SELECT 1 FROM chat WHERE id = kept.id AND access = 'approved') THEN
    PERFORM requeue_ignored(kept.id, access_reasons());
  END IF;
  IF is_paused(gone) AND NOT is_paused(kept) THEN
    UPDATE chat SET paused_at = gone.paused_at, paused_until = gone.paused_until, pause_reason = gone.pause_reason,
        pause_mode = gone.pause_mode
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

-- Stores whether the owner has locked a chat on the phone. Nothing is stored about a chat that is not known and not locked.
CREATE OR REPLACE FUNCTION chat_lock(
  p_account text, p_phone text, p_lid text, p_group text, p_reply_to text, p_is_locked boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  c chat;
BEGIN
  IF NOT p_is_locked AND NOT EXISTS (
      SELECT 1 FROM chat WHERE account_id = p_account AND (phone = p_phone OR lid = p_lid OR group_id = p_group)) THEN
    RETURN NULL;
  END IF;
  c := chat_of(p_account, p_phone, p_lid, p_group, p_reply_to);
  IF c.is_locked = p_is_locked THEN
    RETURN NULL;
  END IF;
  UPDATE chat SET is_locked = p_is_locked WHERE id = c.id;
  RETURN c.id;
END $$;
