-- The inbox. Storing a message or ending a turn changes several rows under the lock of the chat; as a function each is
-- one round trip and one transaction. Isolation level and lock order: see chats.sql.

-- The people whom a message mentions, with both addresses, and with the name that the person's last message to the chat
-- or the account itself has. Only the chat's newest messages are searched.
CREATE OR REPLACE FUNCTION named_mentions(p_account text, p_chat bigint, p_mentions jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
           'phone', coalesce(w.phone, k.phone), 'lid', coalesce(w.lid, k.lid), 'tag', w.tag,
           'name', coalesce(said.push_name, own.push_name))) ORDER BY w.place)
  FROM (
    SELECT e ->> 'phone' AS phone, e ->> 'lid' AS lid, e ->> 'tag' AS tag, place
    FROM jsonb_array_elements(p_mentions) WITH ORDINALITY AS given (e, place)
  ) w
  LEFT JOIN LATERAL (
    SELECT l.phone, l.lid FROM lid_mapping l
    WHERE l.account_id = p_account AND (l.lid = w.lid OR l.phone = w.phone) LIMIT 1
  ) k ON true
  LEFT JOIN LATERAL (
    SELECT r.push_name FROM (
      SELECT m.id, m.push_name, m.sender_phone, m.sender_lid FROM message m
      WHERE m.chat_id = p_chat ORDER BY m.id DESC LIMIT 1000
    ) r
    WHERE r.push_name IS NOT NULL AND (r.sender_phone IN (w.phone, k.phone) OR r.sender_lid IN (w.lid, k.lid))
    ORDER BY r.id DESC LIMIT 1
  ) said ON true
  LEFT JOIN LATERAL (
    SELECT a.push_name FROM account a
    WHERE a.id = p_account AND (a.phone IN (w.phone, k.phone) OR a.lid IN (w.lid, k.lid))
  ) own ON true
$$;

-- WhatsApp's id of the newest edit that replaced the text of a message.
CREATE OR REPLACE FUNCTION newest_edit(m message) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT e.wa_message_id FROM message e
  WHERE e.chat_id = m.chat_id AND e.id > m.id AND e.reason = 'edit-applied'
    AND e.edit_of IN (m.wa_message_id, m.edit_of)
    AND (e.sender_lid = m.sender_lid OR e.sender_phone = m.sender_phone)
  ORDER BY e.id DESC LIMIT 1
$$;

-- Stores a message. A chat that has something to answer and no worker is claimed for p_node; `worker_node` and
-- `worker_epoch` are the claim after the call, `is_new_worker` says that this call made it. `next_turn` has what
-- inbox_next_turn would read besides the given values if the new message is the chat's only unanswered one. `p` has the
-- values (postgres-inbox.ts): `owner` is what a message of the account's owner does to the chat (owner_wrote); a message that
-- wa2ai itself sent does nothing. `trace` is that of a message that is ignored.
CREATE OR REPLACE FUNCTION inbox_add(p jsonb, p_node text) RETURNS TABLE (
  outcome text, message_id bigint, chat_id bigint, worker_node text, worker_epoch integer, is_new_worker boolean,
  next_turn jsonb, changed bigint
) ROWS 1
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  p_account text := p ->> 'account';
  p_wa_id text := p ->> 'waId';
  p_phone text := p ->> 'phone';
  p_lid text := p ->> 'lid';
  p_group text := p ->> 'group';
  p_username text := p ->> 'username';
  p_reply_to text := p ->> 'replyTo';
  p_push_name text := p ->> 'pushName';
  p_kind text := p ->> 'kind';
  p_quoted text := p ->> 'quoted';
  p_edit_of text := p ->> 'editOf';
  p_deletes text := p ->> 'deletes';
  p_sent_at timestamptz := to_timestamp((p ->> 'sentAtMs')::bigint / 1000.0);
  p_stanza_order bigint := (p ->> 'stanzaOrder')::bigint;
  p_media jsonb := p -> 'media';
  p_media_ref text := p ->> 'mediaRef';
  p_mentions jsonb := p -> 'mentions';
  p_to_us text := p ->> 'toUs';
  p_details jsonb := p -> 'details';
  p_timer integer := (p ->> 'timer')::integer;
  p_view_once text := p ->> 'viewOnce';
  p_secret bytea := decode(p ->> 'secret', 'base64');
  p_trace jsonb := p -> 'trace';
  c chat;
  known message;
  v_sender_phone text := p ->> 'senderPhone';
  v_sender_lid text := p ->> 'senderLid';
  v_reason text := p ->> 'ignored';
  v_text text := p ->> 'text';
  v_owner jsonb := p -> 'owner';
  v_is_known boolean;
  v_stored boolean := true;
  v_received_at timestamptz;
  v_details jsonb;
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
  IF p_username <> c.username OR (p_username IS NOT NULL AND c.username IS NULL) THEN
    -- Its former person gave it up. A chat that is locked keeps it until its own next message: waiting here could end in a
    -- deadlock.
    UPDATE chat SET username = NULL WHERE id IN (
      SELECT id FROM chat WHERE account_id = p_account AND username = p_username AND id <> c.id FOR UPDATE SKIP LOCKED);
    UPDATE chat SET username = p_username WHERE id = c.id RETURNING * INTO c;
  END IF;
  IF p_group IS NULL AND (v_sender_lid = c.lid OR v_sender_phone = c.phone) THEN
    v_sender_phone := coalesce(c.phone, v_sender_phone);
    v_sender_lid := coalesce(c.lid, v_sender_lid);
  END IF;

  -- The chat's lock makes this check safe. A message id belongs to its sender: WhatsApp lets every member of a group
  -- choose ids, so the same id of another member is another message.
  SELECT * INTO known FROM message m
    WHERE m.account_id = p_account AND m.chat_id = c.id AND m.wa_message_id = p_wa_id
      AND (m.sender_lid = v_sender_lid OR m.sender_phone = v_sender_phone
        OR coalesce(m.sender_lid, m.sender_phone, v_sender_lid, v_sender_phone) IS NULL)
    LIMIT 1;
  v_is_known := FOUND;
  IF p_timer <> c.timer_seconds AND NOT v_is_known THEN
    UPDATE chat SET timer_seconds = p_timer WHERE id = c.id;
  END IF;

  IF v_owner IS NOT NULL THEN
    IF EXISTS (SELECT 1 FROM outbox o WHERE o.account_id = p_account AND o.wa_message_id = p_wa_id) THEN
      v_owner := NULL;
      v_text := '';
      v_reason := 'own-message';
    END IF;
  END IF;
  IF p_edit_of IS NOT NULL AND v_reason IS NULL AND NOT v_is_known THEN
    -- An edit of an unanswered message replaces its text; the turn that runs with the former text cannot end (`edits`). An
    -- agent that may have the former text gets the message under the id of the edit, so that it is not taken for a repeat.
    -- A task that an agent opened for the message goes on, and the edit is answered as a separate message.
    UPDATE message m SET text = v_text, mentions = named_mentions(p_account, c.id, p_mentions),
        details = CASE WHEN p_details ? 'card' THEN coalesce(m.details, '{}') || jsonb_build_object('card', p_details -> 'card')
          ELSE m.details END,
        to_us = coalesce(p_to_us, m.to_us), edits = m.edits + 1, cleared_attempts = m.attempts,
        edit_id = CASE WHEN m.attempts > 0 OR m.merged_into IS NOT NULL THEN p_wa_id ELSE m.edit_id END
      WHERE (m.state = 'received' OR m.reason = ANY (access_reasons())) AND m.id = (
          SELECT w.id FROM message w
          WHERE w.chat_id = c.id AND (w.state = 'received' OR w.reason = ANY (access_reasons())) AND (w.wa_message_id = p_edit_of OR w.edit_of = p_edit_of)
            AND (w.sender_lid = v_sender_lid OR w.sender_phone = v_sender_phone)
          ORDER BY w.stanza_order DESC, w.id DESC LIMIT 1)
        AND NOT EXISTS (SELECT 1 FROM remote_task r WHERE r.message_id = m.id)
      RETURNING m.id INTO changed;
    IF FOUND THEN
      v_reason := 'edit-applied';
    END IF;
  ELSIF p_deletes IS NOT NULL AND NOT v_is_known THEN
    -- Only its author takes a message back; in a group an admin may delete the bubble of another member. It may wait for the
    -- owner's approval, or go along as context.
    UPDATE message m SET state = 'ignored', reason = 'deleted-by-author', finished_at = now(), media_ref = NULL, secret = NULL
      WHERE m.chat_id = c.id AND (m.state = 'received'
          OR m.reason = ANY (access_reasons() || ARRAY['group-not-addressed', 'chat-paused'])) AND (m.wa_message_id = p_deletes OR m.edit_of = p_deletes)
        AND (m.sender_lid = v_sender_lid OR m.sender_phone = v_sender_phone)
      RETURNING m.id INTO changed;
  END IF;

  IF v_reason IS NULL AND p_details IS NOT NULL THEN
    v_details := CASE WHEN p_details ? 'quoted' THEN
      jsonb_set(p_details, '{quoted}', named_mentions(p_account, c.id, jsonb_build_array(p_details -> 'quoted')) -> 0)
      ELSE p_details END;
  ELSIF p_details ? 'of' THEN
    -- What a deletion or a reaction is about.
    v_details := jsonb_build_object('of', p_details -> 'of');
  END IF;

  IF NOT v_is_known THEN
    INSERT INTO message (
      account_id, chat_id, wa_message_id, sender_phone, sender_lid, push_name, kind, text, quoted_text, edit_of,
      state, reason, stanza_order, sent_at, finished_at, media, media_ref,
      mentions, to_us, details, view_once, secret, trace
    ) VALUES (
      p_account, c.id, p_wa_id, v_sender_phone, v_sender_lid, p_push_name, p_kind, v_text, p_quoted, p_edit_of,
      CASE WHEN v_reason IS NULL THEN 'received' ELSE 'ignored' END, v_reason,
      p_stanza_order, p_sent_at, CASE WHEN v_reason IS NULL THEN NULL ELSE now() END,
      CASE WHEN v_reason IS NULL THEN p_media END, CASE WHEN v_reason IS NULL THEN p_media_ref END,
      CASE WHEN v_reason IS NULL AND p_mentions IS NOT NULL THEN named_mentions(p_account, c.id, p_mentions) END, p_to_us, v_details, p_view_once,
      p_secret, p_trace
    ) RETURNING id, received_at INTO message_id, v_received_at;
  ELSE
    message_id := known.id;
    -- A readable copy replaces one that could not be decrypted.
    v_stored := known.kind = 'undecryptable' AND known.state = 'ignored' AND p_kind <> 'undecryptable';
    IF v_stored THEN
      UPDATE message SET kind = p_kind, text = v_text, quoted_text = p_quoted, edit_of = p_edit_of, to_us = p_to_us, view_once = p_view_once,
          push_name = coalesce(p_push_name, push_name),
          state = CASE WHEN v_reason IS NULL THEN 'received' ELSE 'ignored' END, reason = v_reason,
          finished_at = CASE WHEN v_reason IS NULL THEN NULL ELSE now() END,
          media = CASE WHEN v_reason IS NULL THEN p_media END,
          media_ref = CASE WHEN v_reason IS NULL THEN p_media_ref END,
          mentions = CASE WHEN v_reason IS NULL AND p_mentions IS NOT NULL THEN named_mentions(p_account, c.id, p_mentions) END, details = v_details,
          secret = p_secret, trace = p_trace
        WHERE id = known.id;
    END IF;
  END IF;

  IF v_owner IS NOT NULL AND v_stored THEN
    PERFORM owner_wrote(c, v_owner, p_sent_at);
  END IF;
  is_new_worker := c.worker_node IS NULL AND ((v_stored AND v_reason IS NULL) OR EXISTS (
    SELECT 1 FROM message m WHERE m.chat_id = c.id AND m.state = 'received'));
  IF is_new_worker THEN
    c.worker_node := p_node;
    c.worker_epoch := c.worker_epoch + 1;
    UPDATE chat SET worker_node = c.worker_node, worker_epoch = c.worker_epoch, active_at = now(),
        reply_to = CASE WHEN v_stored AND v_reason IS NULL THEN p_reply_to ELSE reply_to END
      WHERE id = c.id;
  ELSIF v_stored AND v_reason IS NULL AND c.reply_to <> p_reply_to THEN
    UPDATE chat SET reply_to = p_reply_to WHERE id = c.id;
  END IF;
  IF NOT v_is_known AND v_reason IS NULL AND NOT EXISTS (
      SELECT 1 FROM message m WHERE m.chat_id = c.id AND m.state = 'received' AND m.id <> message_id) THEN
    next_turn := jsonb_build_object(
      'sender_phone', v_sender_phone, 'sender_lid', v_sender_lid, 'chat_phone', c.phone, 'chat_lid', c.lid, 'chat_username', c.username,
      'received_at_ms', (extract(epoch FROM v_received_at) * 1000)::bigint,
      'replied_at_ms', (SELECT (extract(epoch FROM o.queued_at) * 1000)::bigint FROM outbox o
                        WHERE o.chat_id = c.id ORDER BY o.id DESC LIMIT 1),
      'is_paused', pause_mode_of(c) = 'listen-only', 'is_approving', pause_mode_of(c) = 'approve',
      'is_in_loop', pause_mode_of(c) = 'auto-reply-loop', 'access', access_of(c), 'policy_state', c.policy_state, 'details', v_details);
  END IF;
  outcome := CASE WHEN v_stored THEN 'stored' ELSE 'known' END;
  chat_id := c.id;
  worker_node := c.worker_node;
  worker_epoch := c.worker_epoch;
  RETURN NEXT;
END $$;

-- The message with this WhatsApp id of a chat, that of the given sender first, with whether that person wrote it. Persons are
-- known by each address that is stored with theirs.
CREATE OR REPLACE FUNCTION inbox_original(
  p_account text, p_wa_id text, p_phone text, p_lid text, p_group text, p_sender_phone text, p_sender_lid text
) RETURNS TABLE (m message, is_of_sender boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
  v_phone text := coalesce(p_phone, (SELECT k.phone FROM lid_mapping k WHERE k.account_id = p_account AND k.lid = p_lid));
  v_lid text := coalesce(p_lid, (SELECT k.lid FROM lid_mapping k WHERE k.account_id = p_account AND k.phone = p_phone));
  v_sender_phone text := coalesce(p_sender_phone,
    (SELECT k.phone FROM lid_mapping k WHERE k.account_id = p_account AND k.lid = p_sender_lid));
  v_sender_lid text := coalesce(p_sender_lid,
    (SELECT k.lid FROM lid_mapping k WHERE k.account_id = p_account AND k.phone = p_sender_phone));
BEGIN
  RETURN QUERY
    SELECT o, coalesce(o.sender_lid = v_sender_lid, false) OR coalesce(o.sender_phone = v_sender_phone, false) AS of_sender
    FROM message o
    WHERE o.account_id = p_account AND o.wa_message_id = p_wa_id AND o.chat_id IN (
      SELECT c.id FROM chat c WHERE c.account_id = p_account AND (c.group_id = p_group OR c.phone = v_phone OR c.lid = v_lid))
    ORDER BY of_sender DESC, o.id LIMIT 1;
END $$;

-- Returns the oldest unanswered message of a chat with this claim. If there is none and p_release is set, the claim is
-- released. Reading needs no lock: only the worker ends messages. Releasing checks again under the lock, so a message
-- stored meanwhile is either returned here or makes the next claim. It returns whole rows: the caller's statement cannot
-- read that message, it began before.
CREATE OR REPLACE FUNCTION inbox_next_turn(p_chat bigint, p_node text, p_epoch integer, p_release boolean)
RETURNS TABLE (m message, c chat, replied_at timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_locked boolean := false;
BEGIN
  LOOP
    RETURN QUERY
      SELECT m, c, (SELECT o.queued_at FROM outbox o WHERE o.chat_id = c.id ORDER BY o.id DESC LIMIT 1)
      FROM chat c JOIN message m ON m.chat_id = c.id AND m.state = 'received'
      WHERE c.id = p_chat AND c.worker_node = p_node AND c.worker_epoch = p_epoch
      ORDER BY m.stanza_order, m.id LIMIT 1;
    EXIT WHEN FOUND OR NOT p_release;
    IF v_locked THEN
      UPDATE chat SET worker_node = NULL WHERE id = p_chat;
      EXIT;
    END IF;
    PERFORM 1 FROM chat WHERE id = p_chat AND worker_node = p_node AND worker_epoch = p_epoch FOR UPDATE;
    EXIT WHEN NOT FOUND;
    v_locked := true;
  END LOOP;
END $$;

-- Finishes a turn once: the message's state, its replies, its dead letter. Returns the replies written by this call, or,
-- for a turn that was finished before, all replies of the message. A message that should wait for the owner stays `received`
-- if the owner approved its chat meanwhile. A replayed message may have replies of its first turn.
-- `p_files` has the file of each reply or null: {"media": {...}, "bytes": base64}; `p_quotes` its quote or null. The media reference is removed unless
-- the message can be replayed. `p_state_patch` has the parts of the chat's state that change. Nothing is
-- stored when the message has other `p_edits`, or one of `p_merged` has ended or has others than `p_merged_edits`. With an owner and epoch whose lease of the account is valid, the first reply is stored as
-- `sending`, as if it was marked after this call (postgres-outbox.ts, markSending), unless an older row of the chat waits.
-- `p_loop`: stopped | over pauses the chat because of an auto-reply loop, or ends such a pause.
-- With `p_is_draft` the replies wait for the owner (drafts.sql) and are not returned. `p_specials` has for each reply null or the edit
-- or deletion of a part (inbox_add_part) that it is.
CREATE OR REPLACE FUNCTION inbox_finish_turn(
  p_message bigint, p_state text, p_reason text, p_error text, p_route text, p_attempts integer, p_agent_ms integer,
  p_trace jsonb, p_to text[], p_wa_ids text[], p_texts text[], p_files jsonb DEFAULT NULL,
  p_owner text DEFAULT NULL, p_epoch bigint DEFAULT NULL, p_quotes jsonb DEFAULT NULL, p_state_patch jsonb DEFAULT NULL,
  p_is_draft boolean DEFAULT false, p_loop text DEFAULT NULL,
  p_edits integer DEFAULT NULL, p_merged bigint[] DEFAULT NULL, p_merged_edits integer[] DEFAULT NULL,
  p_specials jsonb DEFAULT NULL, p_phrase jsonb DEFAULT NULL
) RETURNS TABLE (
  outbox_id bigint, chat_id bigint, account_id text, to_jid text, wa_message_id text, text text, media jsonb, quote jsonb,
  special jsonb, timer_seconds integer, is_sending boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_account text;
  v_chat bigint;
  v_attempts integer;
  v_first integer := 0;
  v_is_sending boolean := false;
  v_is_new_route boolean := p_route IS NOT NULL AND EXISTS (
    SELECT 1 FROM message m JOIN chat c ON c.id = m.chat_id WHERE m.id = p_message AND c.route_id IS DISTINCT FROM p_route);
  v_reason text := CASE WHEN p_state = 'answered' THEN p_reason ELSE coalesce(p_reason, 'unspecified') END;
BEGIN
  IF p_state = 'ignored' AND p_reason = ANY (access_reasons()) THEN
    -- The owner may have approved the chat meanwhile: the turn is taken again then.
    PERFORM 1 FROM chat c WHERE c.id = (SELECT m.chat_id FROM message m WHERE m.id = p_message) FOR UPDATE;
    IF EXISTS (SELECT 1 FROM message m JOIN chat c ON c.id = m.chat_id
        WHERE m.id = p_message AND m.state = 'received' AND c.access = 'approved') THEN
      RETURN;
    END IF;
  END IF;
  IF v_is_new_route OR p_state_patch IS NOT NULL OR p_loop IS NOT NULL OR p_merged IS NOT NULL THEN
    -- Before the messages: inbox_add locks in this order too.
    PERFORM 1 FROM chat WHERE id = (SELECT m.chat_id FROM message m WHERE m.id = p_message) FOR NO KEY UPDATE;
  END IF;
  IF p_merged IS NOT NULL THEN
    IF EXISTS (
        SELECT 1 FROM unnest(p_merged, p_merged_edits) AS line (id, edits) JOIN message m ON m.id = line.id
        WHERE m.state <> 'received' OR m.edits <> line.edits)
      AND EXISTS (SELECT 1 FROM message m WHERE m.id = p_message AND m.state = 'received') THEN
      RETURN;
    END IF;
  END IF;
  UPDATE message m SET state = p_state, reason = v_reason, error = p_error, phrase = p_phrase, route_id = p_route,
      attempts = coalesce(p_attempts, m.attempts), agent_ms = p_agent_ms, trace = p_trace, finished_at = now()
    WHERE m.id = p_message AND m.state = 'received' AND m.edits = coalesce(p_edits, m.edits)
    RETURNING m.account_id, m.chat_id, m.attempts INTO v_account, v_chat, v_attempts;
  IF FOUND THEN
    IF p_state_patch IS NOT NULL THEN
      UPDATE chat SET policy_state = coalesce(policy_state, '{}') || p_state_patch WHERE id = v_chat;
    END IF;
    IF v_is_new_route THEN
      UPDATE chat SET route_id = p_route WHERE id = v_chat;
    END IF;
    IF p_loop = 'stopped' THEN
      UPDATE chat c SET paused_at = now(), paused_until = NULL, pause_mode = 'auto-reply-loop',
          pause_reason = 'Two programs answered each other.'
        WHERE c.id = v_chat AND NOT is_paused(c);
    ELSIF p_loop = 'over' THEN
      UPDATE chat c SET paused_at = NULL, paused_until = NULL, pause_reason = NULL, pause_mode = NULL
        WHERE c.id = v_chat AND c.pause_mode = 'auto-reply-loop';
    END IF;
    IF p_merged IS NOT NULL THEN
      UPDATE message m SET state = 'ignored', reason = 'merged', merged_into = p_message, route_id = p_route,
          finished_at = now(),
          trace = jsonb_build_array(jsonb_build_object('step', 'pace', 'outcome', 'merged', 'messageId', p_message::text,
            'sentence', 'The message is part of the question that ends with this later message.',
            'phrase', jsonb_build_object('code', 'pace.part')))
        WHERE m.id = ANY (p_merged);
    END IF;
    SELECT coalesce(max(o.ordinal) + 1, 0) INTO v_first FROM outbox o WHERE o.message_id = p_message;
    v_is_sending := p_owner IS NOT NULL AND NOT p_is_draft AND EXISTS (SELECT 1 FROM lease_held(v_account, p_owner, p_epoch))
      AND NOT EXISTS (
        SELECT 1 FROM outbox o WHERE o.account_id = v_account AND o.chat_id = v_chat AND o.state = 'queued');
    INSERT INTO outbox (account_id, chat_id, message_id, ordinal, wa_message_id, to_jid, text, media, quote, special,
        timer_seconds, state, attempts, attempted_at)
      SELECT v_account, v_chat, p_message, r.ordinal - 1 + v_first, r.wa_id, r.to_jid, r.text,
        p_files -> (r.ordinal::integer - 1) -> 'media', nullif(p_quotes -> (r.ordinal::integer - 1), 'null'),
        nullif(p_specials -> (r.ordinal::integer - 1), 'null'), chat_timer(v_chat), s.state, s.attempts, s.attempted_at
      FROM unnest(p_to, p_wa_ids, p_texts) WITH ORDINALITY AS r (to_jid, wa_id, text, ordinal)
      CROSS JOIN LATERAL (
        SELECT 'sending' AS state, 1 AS attempts, now() AS attempted_at WHERE v_is_sending AND r.ordinal = 1
        UNION ALL SELECT CASE WHEN p_is_draft THEN 'draft' ELSE 'queued' END, 0, NULL WHERE NOT v_is_sending OR r.ordinal > 1) AS s
      ORDER BY r.ordinal;
    IF p_files IS NOT NULL THEN
      INSERT INTO outbox_file (outbox_id, bytes, store, location)
        SELECT o.id, decode(f.file ->> 'bytes', 'base64'), f.file ->> 'store', f.file ->> 'location'
        FROM outbox o CROSS JOIN LATERAL (SELECT p_files -> (o.ordinal - v_first) AS file) AS f
        WHERE o.message_id = p_message AND o.ordinal >= v_first AND o.media IS NOT NULL;
    END IF;
    IF p_specials IS NOT NULL THEN
      -- The log and the history show the part as the edit leaves it.
      UPDATE outbox o SET text = e.text FROM outbox e
        WHERE o.message_id = p_message AND o.is_part AND e.message_id = p_message AND e.ordinal >= v_first
          AND e.special ->> 'kind' = 'edit' AND e.special ->> 'of' = o.wa_message_id;
    END IF;
    IF p_state = 'dead' THEN
      INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, phrase, attempts, trace)
        VALUES (v_account, v_chat, p_message, v_reason, coalesce(p_error, v_reason), p_phrase, v_attempts, p_trace)
        ON CONFLICT ((coalesce(outbox_id, message_id))) DO UPDATE SET chat_id = excluded.chat_id, reason = excluded.reason,
          error = excluded.error, phrase = excluded.phrase, attempts = excluded.attempts, trace = excluded.trace, failed_at = now(),
          replayed_at = NULL, closed_at = NULL;
    END IF;
  ELSIF EXISTS (SELECT 1 FROM message m WHERE m.id = p_message AND m.state = 'received') THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT o.id, o.chat_id, o.account_id, o.to_jid, o.wa_message_id, o.text, o.media, o.quote, o.special, o.timer_seconds,
      v_is_sending AND o.ordinal = v_first
    FROM outbox o WHERE o.message_id = p_message AND o.ordinal >= v_first AND o.state <> 'draft' ORDER BY o.ordinal;
END $$;

-- Stores a reply of a turn that still runs, after its earlier ones, and returns it; a WhatsApp id that is stored returns its row.
-- Stores and returns nothing when the claim of the chat is void, or the message has ended or has other edits. The lock of the
-- chat makes the next claim wait, so that it reads this part.
CREATE OR REPLACE FUNCTION inbox_add_part(
  p_message bigint, p_chat bigint, p_node text, p_epoch integer, p_edits integer,
  p_to text, p_wa_id text, p_text text, p_quote jsonb
) RETURNS SETOF outbox LANGUAGE plpgsql AS $$
DECLARE
  m message;
BEGIN
  PERFORM 1 FROM chat WHERE id = p_chat AND worker_node = p_node AND worker_epoch = p_epoch FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT * INTO m FROM message WHERE id = p_message AND state = 'received' AND edits = p_edits FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  INSERT INTO outbox (account_id, chat_id, message_id, ordinal, wa_message_id, to_jid, text, quote, timer_seconds, is_part)
    SELECT m.account_id, m.chat_id, m.id, coalesce(max(o.ordinal) + 1, 0), p_wa_id, p_to, p_text, p_quote,
      chat_timer(m.chat_id), true
    FROM outbox o WHERE o.message_id = m.id
    ON CONFLICT (account_id, wa_message_id) DO NOTHING;
  RETURN QUERY SELECT * FROM outbox o WHERE o.account_id = m.account_id AND o.wa_message_id = p_wa_id;
END $$;

-- Releases the chat of a turn that ends in the same transaction, unless it has an unanswered message. Returns whether the
-- claim is still valid. A chat whose lock is taken keeps its claim: a message may be stored now, and this transaction has
-- locked a message, so it must not wait for a chat. `p_replies` only makes the statement end the turn first.
CREATE OR REPLACE FUNCTION inbox_release(p_chat bigint, p_node text, p_epoch integer, p_replies bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM chat WHERE id = p_chat AND worker_node = p_node AND worker_epoch = p_epoch
    FOR NO KEY UPDATE SKIP LOCKED;
  IF FOUND THEN
    UPDATE chat SET worker_node = NULL, active_at = now()
      WHERE id = p_chat AND NOT EXISTS (SELECT 1 FROM message WHERE chat_id = p_chat AND state = 'received');
    RETURN NOT FOUND;
  END IF;
  RETURN EXISTS (SELECT 1 FROM chat WHERE id = p_chat AND worker_node = p_node AND worker_epoch = p_epoch);
END $$;

-- Dead-letters the oldest unanswered message of a chat with this claim, without reading its values: the row may be
-- damaged. Returns its id, or NULL if there is none.
CREATE OR REPLACE FUNCTION inbox_dead_letter_unreadable(
  p_chat bigint, p_node text, p_epoch integer, p_reason text, p_error text, p_phrase jsonb
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
  v_account text;
  v_attempts integer;
BEGIN
  UPDATE message SET state = 'dead', reason = p_reason, error = p_error, phrase = p_phrase, finished_at = now()
    WHERE id = (
      SELECT m.id FROM chat c JOIN message m ON m.chat_id = c.id AND m.state = 'received'
      WHERE c.id = p_chat AND c.worker_node = p_node AND c.worker_epoch = p_epoch
      ORDER BY m.stanza_order, m.id LIMIT 1)
    RETURNING id, account_id, attempts INTO v_id, v_account, v_attempts;
  IF FOUND THEN
    INSERT INTO dead_letter (account_id, chat_id, message_id, reason, error, phrase, attempts)
      VALUES (v_account, p_chat, v_id, p_reason, p_error, p_phrase, v_attempts)
        ON CONFLICT ((coalesce(outbox_id, message_id))) DO UPDATE SET chat_id = excluded.chat_id, reason = excluded.reason,
          error = excluded.error, phrase = excluded.phrase, attempts = excluded.attempts, trace = excluded.trace, failed_at = now(),
          replayed_at = NULL, closed_at = NULL;
  END IF;
  RETURN v_id;
END $$;
