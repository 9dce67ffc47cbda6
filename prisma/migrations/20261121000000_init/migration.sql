-- The first tables of wa2ai: accounts with their keys, leases and limits, chats, messages with what became of them, the
-- outbox, dead letters and routes. Every table names the WhatsApp account.
--
-- Made from schema.prisma and reviewed by hand. The end of this file holds what the schema language cannot say: checks
-- on states and addresses, partial indexes for the two questions asked at every start and sweep, and the functions of
-- the inbox and the outbox.
-- "CREATE SCHEMA public" is left out on purpose: it exists, and an ordinary user of a shared server may not create it.

-- CreateTable
CREATE TABLE "account" (
    "id" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'starting',
    "reason" TEXT,
    "phone" TEXT,
    "lid" TEXT,
    "push_name" TEXT,
    "auth_generation" INTEGER NOT NULL DEFAULT 1,
    "generation_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "account_limit" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_limit_pkey" PRIMARY KEY ("account_id","kind")
);

-- CreateTable
CREATE TABLE "account_lease" (
    "account_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "epoch" BIGINT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_lease_pkey" PRIMARY KEY ("account_id")
);

-- CreateTable
CREATE TABLE "node" (
    "id" TEXT NOT NULL,
    "lock_key" INTEGER NOT NULL,
    "host" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "turns" INTEGER NOT NULL DEFAULT 0,
    "is_draining" BOOLEAN NOT NULL DEFAULT false,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "node_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "auth_key" (
    "account_id" TEXT NOT NULL,
    "generation" INTEGER NOT NULL,
    "category" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "auth_key_pkey" PRIMARY KEY ("account_id","generation","category","key_id")
);

-- CreateTable
CREATE TABLE "journal" (
    "account_id" TEXT NOT NULL,
    "ciphertext_hash" TEXT NOT NULL,
    "stanza_order" BIGINT NOT NULL,
    "wa_message_id" TEXT NOT NULL,
    "plaintext" BYTEA NOT NULL,
    "stanza" BYTEA NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "journal_pkey" PRIMARY KEY ("account_id","ciphertext_hash")
);

-- CreateTable
CREATE TABLE "lid_mapping" (
    "account_id" TEXT NOT NULL,
    "lid" TEXT NOT NULL,
    "phone" TEXT NOT NULL,
    "learned_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "lid_mapping_pkey" PRIMARY KEY ("account_id","lid")
);

-- CreateTable
CREATE TABLE "chat" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "phone" TEXT,
    "lid" TEXT,
    "group_id" TEXT,
    "reply_to" TEXT NOT NULL,
    "loop_epoch" INTEGER NOT NULL DEFAULT 0,
    "loop_running" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "chat_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "message" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "wa_message_id" TEXT NOT NULL,
    "sender_phone" TEXT,
    "sender_lid" TEXT,
    "push_name" TEXT,
    "kind" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "quoted_text" TEXT,
    "media" JSONB,
    "media_ref" TEXT,
    "edit_of" TEXT,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "error" TEXT,
    "route_id" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "agent_ms" INTEGER,
    "trace" JSONB,
    "stanza_order" BIGINT NOT NULL,
    "sent_at" TIMESTAMPTZ(3) NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "message_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "message_id" BIGINT,
    "ordinal" INTEGER NOT NULL DEFAULT 0,
    "idempotency_key" TEXT,
    "wa_message_id" TEXT NOT NULL,
    "to_jid" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "media" JSONB,
    "state" TEXT NOT NULL DEFAULT 'queued',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "hold_until" TIMESTAMPTZ(3),
    "tried_at" TIMESTAMPTZ(3),
    "sent_at" TIMESTAMPTZ(3),
    "acked_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "read_at" TIMESTAMPTZ(3),

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox_file" (
    "outbox_id" BIGINT NOT NULL,
    "bytes" BYTEA NOT NULL,
    "content" BYTEA,

    CONSTRAINT "outbox_file_pkey" PRIMARY KEY ("outbox_id")
);

-- CreateTable
CREATE TABLE "dead_letter" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "message_id" BIGINT,
    "outbox_id" BIGINT,
    "reason" TEXT NOT NULL,
    "error" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "trace" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "replayed_at" TIMESTAMPTZ(3),

    CONSTRAINT "dead_letter_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "route" (
    "id" UUID NOT NULL,
    "account_id" TEXT NOT NULL,
    "channel_id" TEXT NOT NULL,
    "agent_endpoint" TEXT NOT NULL,
    "environment" TEXT NOT NULL,
    "regex_filter" TEXT,
    "priority" INTEGER NOT NULL DEFAULT 0,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "name" TEXT,
    "config" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "route_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "journal_account_id_wa_message_id_idx" ON "journal"("account_id", "wa_message_id");

-- CreateIndex
CREATE INDEX "lid_mapping_account_id_phone_idx" ON "lid_mapping"("account_id", "phone");

-- CreateIndex
CREATE UNIQUE INDEX "chat_account_id_phone_key" ON "chat"("account_id", "phone");

-- CreateIndex
CREATE UNIQUE INDEX "chat_account_id_lid_key" ON "chat"("account_id", "lid");

-- CreateIndex
CREATE UNIQUE INDEX "chat_account_id_group_id_key" ON "chat"("account_id", "group_id");

-- CreateIndex
CREATE INDEX "message_chat_id_state_stanza_order_idx" ON "message"("chat_id", "state", "stanza_order");

-- CreateIndex
CREATE INDEX "message_account_id_state_id_idx" ON "message"("account_id", "state", "id");

-- CreateIndex
CREATE UNIQUE INDEX "message_account_id_chat_id_wa_message_id_key" ON "message"("account_id", "chat_id", "wa_message_id");

-- CreateIndex
CREATE INDEX "outbox_account_id_state_id_idx" ON "outbox"("account_id", "state", "id");

-- CreateIndex
CREATE INDEX "outbox_chat_id_id_idx" ON "outbox"("chat_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_message_id_ordinal_key" ON "outbox"("message_id", "ordinal");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_account_id_wa_message_id_key" ON "outbox"("account_id", "wa_message_id");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_account_id_idempotency_key_key" ON "outbox"("account_id", "idempotency_key");

-- CreateIndex
CREATE INDEX "dead_letter_account_id_id_idx" ON "dead_letter"("account_id", "id");

-- CreateIndex
CREATE INDEX "dead_letter_chat_id_idx" ON "dead_letter"("chat_id");

-- CreateIndex
CREATE INDEX "dead_letter_created_at_idx" ON "dead_letter"("created_at");

-- CreateIndex
CREATE INDEX "route_account_id_environment_channel_id_idx" ON "route"("account_id", "environment", "channel_id");

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_chat_id_fkey" FOREIGN KEY ("chat_id") REFERENCES "chat"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "outbox_file" ADD CONSTRAINT "outbox_file_outbox_id_fkey" FOREIGN KEY ("outbox_id") REFERENCES "outbox"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language cannot say -------------------------------------------------------------------------------

-- A state outside the code's own list would hide a row from every worker: refuse it at the door.
ALTER TABLE "account" ADD CONSTRAINT "account_state_check" CHECK ("state" IN
    ('starting', 'pairing', 'connecting', 'open', 'waiting', 'logged-out', 'replaced', 'outdated', 'restricted', 'stopped'));
ALTER TABLE "account_limit" ADD CONSTRAINT "account_limit_kind_check" CHECK ("kind" IN ('new-contacts', 'connection'));
ALTER TABLE "message" ADD CONSTRAINT "message_state_check" CHECK ("state" IN ('received', 'answered', 'ignored', 'dead'));
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_state_check" CHECK ("state" IN
    ('queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead'));
ALTER TABLE "route" ADD CONSTRAINT "route_environment_check" CHECK ("environment" IN ('lab', 'prod'));

-- A message that gets no answer has a recorded reason.
ALTER TABLE "message" ADD CONSTRAINT "message_reason_check" CHECK ("state" NOT IN ('ignored', 'dead') OR "reason" IS NOT NULL);

-- A time that no calendar has would keep its row, and the page it is on, from being read.
ALTER TABLE "message" ADD CONSTRAINT "message_times_check" CHECK (isfinite("sent_at") AND isfinite("received_at"));
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_times_check" CHECK (isfinite("queued_at") AND isfinite("hold_until"));

-- A chat is one person, by number, LID or both, or one group; never neither and never both.
ALTER TABLE "chat" ADD CONSTRAINT "chat_address_check" CHECK (("group_id" IS NULL) = ("phone" IS NOT NULL OR "lid" IS NOT NULL));

-- A dead letter points at the message that was not answered or the reply that was not delivered.
ALTER TABLE "dead_letter" ADD CONSTRAINT "dead_letter_subject_check" CHECK (num_nonnulls("message_id", "outbox_id") >= 1);

-- A file is never empty and never above the limit of both ways (core/models.ts).
ALTER TABLE "outbox_file" ADD CONSTRAINT "outbox_file_bytes_check" CHECK (octet_length("bytes") BETWEEN 1 AND 10000000);
-- It is encrypted or compressed already: no time is spent on making it smaller.
ALTER TABLE "outbox_file" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;

-- Unanswered messages and undelivered replies are few among millions of finished ones.
CREATE INDEX "message_unanswered_idx" ON "message"("chat_id", "stanza_order", "id") WHERE "state" = 'received';
-- What retention looks for: rows whose text is still there, and replies that WhatsApp has or never will.
CREATE INDEX "message_text_kept_idx" ON "message"("finished_at")
    WHERE "state" <> 'received' AND ("text" <> '' OR "trace" IS NOT NULL OR "media" IS NOT NULL);
CREATE INDEX "outbox_acknowledged_idx" ON "outbox"("acked_at") WHERE "state" IN ('acked', 'delivered', 'read');
CREATE INDEX "outbox_dead_idx" ON "outbox"("queued_at") WHERE "state" = 'dead';
CREATE INDEX "dead_letter_open_idx" ON "dead_letter"("id") WHERE "replayed_at" IS NULL;
CREATE INDEX "outbox_undelivered_idx" ON "outbox"("account_id", "chat_id", "id") WHERE "state" IN ('queued', 'sending', 'sent');

-- The inbox and the outbox, one call each -----------------------------------------------------------------------------
--
-- Storing a message or ending a turn touches several rows under the chat's lock. As functions each is one round trip
-- and one transaction. They are written for READ COMMITTED: every statement sees what others committed before it.
-- Order of locks: the account's advisory lock of joins, then chats by id, then messages, then the outbox.

-- One person at a time is joined within an account; taken before any row is locked.
CREATE FUNCTION lock_joins(p_account text) RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(hashtextextended('wa2ai chats of ' || p_account, 0));
$$;

-- Notes that a LID and a number are one person. Each has one partner: what was learned last holds.
CREATE FUNCTION learn_lid(p_account text, p_lid text, p_phone text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM lid_mapping WHERE account_id = p_account AND lid = p_lid AND phone = p_phone) THEN
    RETURN;
  END IF;
  PERFORM lock_joins(p_account);
  DELETE FROM lid_mapping WHERE account_id = p_account AND phone = p_phone AND lid <> p_lid;
  INSERT INTO lid_mapping (account_id, lid, phone) VALUES (p_account, p_lid, p_phone)
    ON CONFLICT (account_id, lid) DO UPDATE SET phone = excluded.phone, learned_at = now();
END $$;

-- Makes two chats of one person one. The older row stays; a loop that runs on it goes on, a loop of the other one
-- finds its chat gone and ends, so that no message has two.
CREATE FUNCTION merge_chats(kept chat, gone chat) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- The same message may have come under both addresses. Only one copy may be answered, none if one was.
  UPDATE message m SET state = 'ignored', reason = 'duplicate', finished_at = now()
    FROM message twin
    WHERE m.chat_id IN (kept.id, gone.id) AND m.state = 'received'
      AND twin.chat_id = CASE m.chat_id WHEN kept.id THEN gone.id ELSE kept.id END
      AND twin.wa_message_id = m.wa_message_id
      AND (m.chat_id = gone.id OR twin.state <> 'received');
  UPDATE message m SET wa_message_id = m.wa_message_id || '#' || m.id
    FROM message twin
    WHERE m.chat_id = gone.id AND twin.chat_id = kept.id AND twin.wa_message_id = m.wa_message_id;
  -- Messages first: a turn that ends now has its message locked, and its outbox rows are seen by the next statement.
  UPDATE message SET chat_id = kept.id WHERE chat_id = gone.id;
  UPDATE outbox SET chat_id = kept.id WHERE chat_id = gone.id;
  UPDATE dead_letter SET chat_id = kept.id WHERE chat_id = gone.id;
  DELETE FROM chat WHERE id = gone.id;
  IF NOT kept.loop_running THEN
    UPDATE chat SET loop_epoch = greatest(kept.loop_epoch, gone.loop_epoch), reply_to = gone.reply_to
      WHERE id = kept.id;
  END IF;
END $$;

-- The chat of an address, locked; made when there is none, joined with what else is known of the person.
CREATE FUNCTION chat_of(p_account text, p_phone text, p_lid text, p_group text, p_reply_to text) RETURNS chat
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

  -- Nearly every message: the chat is there and nothing is left to join.
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
    -- Numbers are given to other people, LIDs are not: the number leaves its former person.
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

-- Stores a message and notes on the chat's row that a loop is to answer it. `start_epoch` is set when one must start.
CREATE FUNCTION inbox_add(
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
    -- An edit of a message that still waits replaces its text. The oldest one waits no longer once a loop runs: an
    -- agent may be reading it, so its edit is answered as a message of its own.
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

  -- A copy that can be read takes the place of one that could not be decrypted.
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

-- The oldest unanswered message of a chat whose loop has this epoch; none closes the loop if p_close. A row that is found needs
-- no lock and no write: only the loop itself ends messages. Closing looks again under the lock, so that a message
-- stored meanwhile is either seen here or starts the next loop.
CREATE FUNCTION inbox_next_turn(p_chat bigint, p_epoch integer, p_close boolean DEFAULT true) RETURNS TABLE (
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

-- Ends a turn once: the message's state, its replies, its dead letter. Gives the replies of this end, or, for a turn that
-- was ended before, all that are stored for the message. A replayed message may have replies of its first end. `p_files`
-- holds the file of each reply, or null: {"media": {...}, "bytes": base64}. The way to the message's own file is forgotten
-- with its end, unless it can be replayed.
CREATE FUNCTION inbox_finish_turn(
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
        VALUES (v_account, v_chat, p_message, v_reason, coalesce(p_error, v_reason), coalesce(p_attempts, 0), p_trace);
    END IF;
  END IF;
  RETURN QUERY
    SELECT o.id, o.chat_id, o.account_id, o.to_jid, o.wa_message_id, o.text, o.media
    FROM outbox o WHERE o.message_id = p_message AND o.ordinal >= v_first ORDER BY o.ordinal;
END $$;

-- Ends the oldest unanswered message of a chat whose loop has this epoch, with a dead letter, and reads nothing of it: its
-- row may be damaged. Gives its id, or NULL when there was none.
CREATE FUNCTION inbox_bury(p_chat bigint, p_epoch integer, p_reason text, p_error text) RETURNS bigint
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
      VALUES (v_account, p_chat, v_id, p_reason, p_error, 0);
  END IF;
  RETURN v_id;
END $$;

-- Gives the chat's turns to a fresh loop; nothing left to answer closes the loop instead. Asked again after a crash it
-- gives the same epoch.
CREATE FUNCTION inbox_renew_loop(p_chat bigint, p_epoch integer) RETURNS integer LANGUAGE plpgsql AS $$
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

-- Chats that hold unanswered messages with the epoch of their loop; a chat without a loop gets one. A chat that
-- somebody works on at this moment can wait for the next sweep.
CREATE FUNCTION inbox_open_loops() RETURNS TABLE (chat_id bigint, epoch integer) LANGUAGE plpgsql AS $$
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

-- Adds a message that no turn asked for. An idempotency key that was used before gives its row back.
CREATE FUNCTION outbox_add_direct(
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
    RETURN QUERY SELECT 'queued', o.id;
    RETURN;
  END IF;
  SELECT * INTO o FROM outbox WHERE account_id = p_account AND idempotency_key = p_key;
  RETURN QUERY SELECT CASE WHEN o.chat_id = c.id AND o.text = p_text THEN 'known' ELSE 'conflict' END, o.id;
END $$;

-- Takes a dead letter's message or reply up again; `known` when what it tells of is not dead (any more). A message goes
-- to the end of its chat's order, a reply keeps its row and so its WhatsApp id. Every open letter of the same thing
-- counts as replayed: what dies again gets a new one.
CREATE FUNCTION dead_letter_replay(p_letter bigint) RETURNS TABLE (
  outcome text, chat_id bigint, message_id bigint, outbox_id bigint, start_epoch integer
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c chat;
  l dead_letter;
BEGIN
  LOOP
    SELECT * INTO l FROM dead_letter WHERE id = p_letter;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    SELECT * INTO c FROM chat WHERE id = l.chat_id FOR UPDATE;
    -- A chat that was joined with another meanwhile took its letters along.
    EXIT WHEN FOUND OR NOT EXISTS (SELECT 1 FROM dead_letter WHERE id = p_letter AND chat_id <> l.chat_id);
  END LOOP;
  outcome := 'replayed';
  chat_id := l.chat_id;
  message_id := l.message_id;
  outbox_id := l.outbox_id;
  IF l.outbox_id IS NOT NULL THEN
    UPDATE outbox SET state = 'queued', error = NULL, attempts = 0, sent_at = NULL, hold_until = NULL,
        queued_at = now()
      WHERE id = l.outbox_id AND state = 'dead';
  ELSE
    UPDATE message m SET state = 'received', reason = NULL, error = NULL, finished_at = NULL,
        stanza_order = 1 + (SELECT max(o.stanza_order) FROM message o WHERE o.chat_id = m.chat_id)
      WHERE m.id = l.message_id AND m.state = 'dead';
  END IF;
  IF NOT FOUND THEN
    outcome := 'known';
    RETURN NEXT;
    RETURN;
  END IF;
  UPDATE dead_letter d SET replayed_at = now()
    WHERE d.chat_id = l.chat_id AND (d.id = l.id OR d.replayed_at IS NULL)
      AND CASE WHEN l.outbox_id IS NULL THEN d.outbox_id IS NULL AND d.message_id = l.message_id
               ELSE d.outbox_id = l.outbox_id END;
  IF l.outbox_id IS NULL AND NOT c.loop_running THEN
    UPDATE chat SET loop_running = true, loop_epoch = loop_epoch + 1 WHERE id = c.id
      RETURNING loop_epoch INTO start_epoch;
  END IF;
  RETURN NEXT;
END $$;

-- Who holds an account ------------------------------------------------------------------------------------------------

-- Nodes whose process lives, as far as this server knows: each holds a session advisory lock of this class (infra/db/
-- node-connection.ts), which the server takes from it the moment its connection ends.
CREATE VIEW node_lock AS
  SELECT l.objid::bigint AS lock_key FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = 2002858606::oid
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());

CREATE FUNCTION node_has_lock(p_node text) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (
    SELECT 1 FROM node n JOIN node_lock l ON l.lock_key = n.lock_key::bigint & 4294967295 WHERE n.id = p_node);
$$;

-- The account's next epoch for this owner, or NULL while somebody else's lease counts. A lease counts until its time is
-- over by this server's clock, or, for a caller that saw it for a while, until its owner's process is gone.
-- Locking the row waits for writes under the old epoch that have begun; those that begin later find it gone.
CREATE FUNCTION lease_acquire(p_account text, p_owner text, p_ttl_ms integer, p_from_dead boolean) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  l account_lease;
BEGIN
  INSERT INTO account_lease (account_id, owner, epoch, until) VALUES (p_account, '', 0, to_timestamp(0))
    ON CONFLICT (account_id) DO NOTHING;
  SELECT * INTO l FROM account_lease WHERE account_id = p_account FOR UPDATE;
  IF l.owner NOT IN (p_owner, '') AND l.until > clock_timestamp()
     AND NOT (p_from_dead AND NOT node_has_lock(l.owner)) THEN
    RETURN NULL;
  END IF;
  UPDATE account_lease SET owner = p_owner, epoch = l.epoch + 1,
      until = clock_timestamp() + p_ttl_ms * interval '1 millisecond'
    WHERE account_id = p_account;
  RETURN l.epoch + 1;
END $$;

-- One row while the lease of this epoch counts, which then stays so until the caller's statement is committed; for a
-- caller without a lease (tests, one-off tools) always one row.
CREATE FUNCTION lease_held(p_account text, p_owner text, p_epoch bigint) RETURNS SETOF boolean LANGUAGE plpgsql AS $$
BEGIN
  IF p_owner IS NULL THEN
    RETURN NEXT true;
  ELSE
    RETURN QUERY SELECT true FROM account_lease
      WHERE account_id = p_account AND owner = p_owner AND epoch = p_epoch FOR KEY SHARE;
  END IF;
END $$;
