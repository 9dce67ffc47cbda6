-- The tables of wa2ai as the 61 migrations before the first release left them, which replaces.json names. SQL functions and
-- triggers are in prisma/functions.

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
    "deleting_at" TIMESTAMPTZ(3),
    "provider" TEXT NOT NULL DEFAULT 'baileys',
    "proxy" TEXT,

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
CREATE TABLE "account_state_change" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "node" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_state_change_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "account_lease" (
    "account_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "epoch" BIGINT NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_lease_pkey" PRIMARY KEY ("account_id")
);

-- CreateTable: a start that finds a lock of another role makes it before it migrates
CREATE TABLE IF NOT EXISTS "lock_key" (
    "name" TEXT NOT NULL,
    "key" INTEGER NOT NULL,

    CONSTRAINT "lock_key_pkey" PRIMARY KEY ("name")
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
    "runs_alone" BOOLEAN NOT NULL DEFAULT false,
    "suspicion" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "journal_pkey" PRIMARY KEY ("account_id","ciphertext_hash")
);

-- CreateTable
CREATE TABLE "number_check" (
    "account_id" TEXT NOT NULL,
    "phone" TEXT NOT NULL,
    "is_on_whatsapp" BOOLEAN NOT NULL,
    "checked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "number_check_pkey" PRIMARY KEY ("account_id","phone")
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
    "worker_epoch" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "worker_node" TEXT,
    "active_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "pause_reason" TEXT,
    "paused_at" TIMESTAMPTZ(3),
    "paused_until" TIMESTAMPTZ(3),
    "policy_state" JSONB,
    "timer_seconds" INTEGER NOT NULL DEFAULT 0,
    "access" TEXT,
    "access_asked_at" TIMESTAMPTZ(3),
    "pause_mode" TEXT,
    "notes" TEXT,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "is_locked" BOOLEAN NOT NULL DEFAULT false,
    "username" TEXT,

    CONSTRAINT "chat_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "person_session" (
    "account_id" TEXT NOT NULL,
    "person" TEXT NOT NULL,
    "number" INTEGER NOT NULL DEFAULT 1,
    "started_at" TIMESTAMPTZ(3),
    "started_by" BIGINT,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "chat_ids" BIGINT[],

    CONSTRAINT "person_session_pkey" PRIMARY KEY ("account_id","person")
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
    "mentions" JSONB,
    "cleared_attempts" INTEGER NOT NULL DEFAULT 0,
    "to_us" TEXT,
    "view_once" TEXT,
    "edit_id" TEXT,
    "edits" INTEGER NOT NULL DEFAULT 0,
    "merged_into" BIGINT,
    "details" JSONB,
    "runs_alone" BOOLEAN NOT NULL DEFAULT false,
    "suspicion" INTEGER NOT NULL DEFAULT 0,
    "secret" BYTEA,

    CONSTRAINT "message_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "message_file" (
    "message_id" BIGINT NOT NULL,
    "bytes" BYTEA,
    "store" TEXT,
    "location" TEXT,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "message_file_pkey" PRIMARY KEY ("message_id")
);

-- CreateTable
CREATE TABLE "reply_token" (
    "token_hash" BYTEA NOT NULL,
    "message_id" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "reply_token_pkey" PRIMARY KEY ("token_hash")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" BIGINT NOT NULL DEFAULT nextval('message_id_seq'::regclass),
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
    "delayed_until" TIMESTAMPTZ(3),
    "attempted_at" TIMESTAMPTZ(3),
    "sent_at" TIMESTAMPTZ(3),
    "acked_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "read_at" TIMESTAMPTZ(3),
    "quote" JSONB,
    "timer_seconds" INTEGER,
    "by_hand" BOOLEAN NOT NULL DEFAULT false,
    "first_contact_at" TIMESTAMPTZ(3),
    "special" JSONB,
    "mentions" JSONB,
    "is_part" BOOLEAN NOT NULL DEFAULT false,
    "runs_alone" BOOLEAN NOT NULL DEFAULT false,
    "suspicion" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox_file" (
    "outbox_id" BIGINT NOT NULL,
    "bytes" BYTEA,
    "content" BYTEA,
    "source" TEXT,
    "store" TEXT,
    "location" TEXT,

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
    "closed_at" TIMESTAMPTZ(3),
    "failed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dead_letter_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "remote_task" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "message_id" BIGINT NOT NULL,
    "route_id" TEXT NOT NULL,
    "remote_id" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'open',
    "reports" INTEGER NOT NULL DEFAULT 0,
    "position" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "remote_task_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agent_session" (
    "account_id" TEXT NOT NULL,
    "route_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "context_id" TEXT NOT NULL,
    "task_id" TEXT,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_session_pkey" PRIMARY KEY ("account_id","route_id","session_id")
);

-- CreateTable
CREATE TABLE "served_task" (
    "id" TEXT NOT NULL,
    "context_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "account_id" TEXT,
    "state" TEXT NOT NULL DEFAULT 'submitted',
    "request" JSONB,
    "messages" JSONB NOT NULL,
    "message_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "served_task_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "served_task_update" (
    "task_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "text" TEXT,
    "artifact" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "served_task_update_pkey" PRIMARY KEY ("task_id","number")
);

-- CreateTable
CREATE TABLE "served_task_hook" (
    "task_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "served_task_hook_pkey" PRIMARY KEY ("task_id","id")
);

-- CreateTable
CREATE TABLE "hosted_agent" (
    "id" TEXT NOT NULL,
    "account_id" TEXT,
    "route_id" TEXT,
    "settings" TEXT NOT NULL,
    "node" TEXT NOT NULL,
    "folder_id" TEXT NOT NULL,
    "phase" TEXT NOT NULL DEFAULT 'absent',
    "problem" TEXT,
    "is_deleting" BOOLEAN NOT NULL DEFAULT false,
    "last_activity_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "hosted_agent_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "person_question" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'waiting',
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "asked_at" TIMESTAMPTZ(3),
    "remind_at" TIMESTAMPTZ(3) NOT NULL,
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,
    "answer_message_id" BIGINT,
    "answer" TEXT,
    "answered_at" TIMESTAMPTZ(3),

    CONSTRAINT "person_question_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "whatsapp_version" (
    "version" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "refused_at" TIMESTAMPTZ(3),

    CONSTRAINT "whatsapp_version_pkey" PRIMARY KEY ("version")
);

-- CreateTable
CREATE TABLE "whatsapp_version_look_up" (
    "id" INTEGER NOT NULL,
    "begun_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "found_at" TIMESTAMPTZ(3),
    "version" TEXT,
    "url" TEXT,

    CONSTRAINT "whatsapp_version_look_up_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "face_setting" (
    "face" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "face_setting_pkey" PRIMARY KEY ("face")
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

-- CreateTable
CREATE TABLE "route_version" (
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "action" TEXT NOT NULL,
    "caller" TEXT,
    "key_id" TEXT,
    "restored" INTEGER,

    CONSTRAINT "route_version_pkey" PRIMARY KEY ("number")
);

-- CreateTable
CREATE TABLE "route_version_change" (
    "version" INTEGER NOT NULL,
    "route_id" UUID NOT NULL,
    "account_id" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,

    CONSTRAINT "route_version_change_pkey" PRIMARY KEY ("version","route_id")
);

-- CreateTable
CREATE TABLE "sql_functions" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "sha256" TEXT NOT NULL,
    "names" TEXT[],
    "applied_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sql_functions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "data_key_use" (
    "node_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "data_key_use_pkey" PRIMARY KEY ("node_id","key_id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "chats" JSONB,
    "routes" JSONB,
    "limits" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "accounts" JSONB,

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "console_user" (
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "console_user_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "console_session" (
    "id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "user_key" TEXT,
    "admin_key_mac" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "user_agent" TEXT,
    "address" TEXT,

    CONSTRAINT "console_session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "login_attempt" (
    "key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "allowed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "login_attempt_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "api_key_rate" (
    "key" TEXT NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "api_key_rate_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "webhook" (
    "id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "events" TEXT[],
    "account_id" TEXT,
    "secret" TEXT NOT NULL,
    "is_enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "failing_since" TIMESTAMPTZ(3),
    "retry_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "stat" (
    "account_id" TEXT NOT NULL,
    "minutes" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "messages" INTEGER NOT NULL,
    "answers" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL,
    "times" INTEGER[],

    CONSTRAINT "stat_pkey" PRIMARY KEY ("account_id","minutes","at")
);

-- CreateTable
CREATE TABLE "webhook_delivery" (
    "id" BIGSERIAL NOT NULL,
    "webhook_id" TEXT NOT NULL,
    "event_id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "facts" JSONB,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status" INTEGER,
    "error" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempted_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_task" (
    "id" BIGSERIAL NOT NULL,
    "task_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "params" JSONB NOT NULL,
    "idempotency_key" TEXT,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "progress" INTEGER,
    "result" JSONB,
    "error" JSONB,
    "version" INTEGER NOT NULL DEFAULT 1,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_task_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_transaction" (
    "task_id" TEXT NOT NULL,
    "chain_id" BIGINT NOT NULL,
    "wallet" TEXT NOT NULL,
    "nonce" BIGINT NOT NULL,
    "hash" TEXT NOT NULL,
    "raw" TEXT NOT NULL,
    "earlier_hashes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "outcome" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),
    "amount" DECIMAL(78,0),
    "gas" BIGINT,
    "owner" TEXT,
    "type" TEXT,

    CONSTRAINT "npc_transaction_pkey" PRIMARY KEY ("task_id")
);

-- CreateTable
CREATE TABLE "npc_chain_event" (
    "id" BIGSERIAL NOT NULL,
    "source" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "block_number" BIGINT NOT NULL,
    "transaction_hash" TEXT NOT NULL,
    "log_index" INTEGER NOT NULL,
    "args" JSONB NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_chain_event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_chain_cursor" (
    "source" TEXT NOT NULL,
    "block_number" BIGINT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_chain_cursor_pkey" PRIMARY KEY ("source")
);

-- CreateTable
CREATE TABLE "npc_emotion" (
    "task_id" TEXT NOT NULL,
    "npc" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "intensity" DOUBLE PRECISION NOT NULL,
    "context" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_emotion_pkey" PRIMARY KEY ("task_id")
);

-- CreateTable
CREATE TABLE "npc_memory" (
    "id" BIGSERIAL NOT NULL,
    "task_id" TEXT NOT NULL,
    "npc" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "content" JSONB NOT NULL,
    "words" TEXT NOT NULL,
    "importance" DOUBLE PRECISION NOT NULL,
    "forgotten_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_memory_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_trade_offer" (
    "id" BIGSERIAL NOT NULL,
    "key" TEXT NOT NULL,
    "npc" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "maker" TEXT NOT NULL,
    "direction" TEXT NOT NULL,
    "item" TEXT NOT NULL,
    "quantity" BIGINT NOT NULL,
    "price" DECIMAL(78,0) NOT NULL,
    "total" DECIMAL(78,0) NOT NULL,
    "currency" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_trade_offer_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_trade_end" (
    "offer_id" BIGINT NOT NULL,
    "kind" TEXT NOT NULL,
    "side" TEXT,
    "key" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_trade_end_pkey" PRIMARY KEY ("offer_id")
);

-- CreateTable
CREATE TABLE "audit_entry" (
    "seq" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "face" TEXT NOT NULL,
    "caller" TEXT NOT NULL,
    "key_id" TEXT,
    "action" TEXT NOT NULL,
    "object" TEXT,
    "outcome" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "address" TEXT,
    "hash" BYTEA NOT NULL,
    "user_name" TEXT,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "audit_chain" (
    "id" INTEGER NOT NULL,
    "head_seq" BIGINT NOT NULL,
    "head_hash" BYTEA NOT NULL,
    "anchor_seq" BIGINT NOT NULL,
    "anchor_hash" BYTEA NOT NULL,

    CONSTRAINT "audit_chain_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "playground_chat" (
    "chat_id" BIGINT NOT NULL,
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "people" JSONB NOT NULL,
    "route_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "playground_chat_pkey" PRIMARY KEY ("chat_id")
);

-- CreateTable
CREATE TABLE "agent_exchange" (
    "message_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "data" BYTEA NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_exchange_pkey" PRIMARY KEY ("message_id","id")
);

-- CreateTable
CREATE TABLE "playground_input" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "message" JSONB NOT NULL,
    "written_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "playground_input_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "playground_file" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "mime_type" TEXT NOT NULL,
    "file_name" TEXT,
    "bytes" BYTEA NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "wa_message_id" TEXT,

    CONSTRAINT "playground_file_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "playground_event" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "kind" TEXT NOT NULL,
    "wa_message_id" TEXT,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "playground_event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "playground_scenario" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "yaml" TEXT NOT NULL,
    "saved_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "playground_scenario_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "account_state_change_account_id_id_idx" ON "account_state_change"("account_id", "id");

-- CreateIndex
CREATE INDEX "number_check_checked_at_idx" ON "number_check"("checked_at");

-- CreateIndex
CREATE INDEX "lid_mapping_account_id_phone_idx" ON "lid_mapping"("account_id", "phone");

-- CreateIndex
CREATE INDEX "chat_account_id_username_idx" ON "chat"("account_id", "username");

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

-- After the index above: of two indexes that seem to cost the same, as they do before the first statistics, the newer one is used.
-- CreateIndex
CREATE INDEX "message_account_id_chat_id_wa_message_id_idx" ON "message"("account_id", "chat_id", "wa_message_id");

-- CreateIndex
CREATE INDEX "message_file_stored_at_idx" ON "message_file"("stored_at");

-- CreateIndex
CREATE UNIQUE INDEX "message_file_store_location_key" ON "message_file"("store", "location");

-- CreateIndex
CREATE INDEX "reply_token_message_id_idx" ON "reply_token"("message_id");

-- CreateIndex
CREATE INDEX "reply_token_expires_at_idx" ON "reply_token"("expires_at");

-- CreateIndex
CREATE INDEX "outbox_account_id_state_id_idx" ON "outbox"("account_id", "state", "id");

-- CreateIndex
CREATE INDEX "outbox_chat_id_id_idx" ON "outbox"("chat_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_message_id_ordinal_key" ON "outbox"("message_id", "ordinal");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_account_id_wa_message_id_key" ON "outbox"("account_id", "wa_message_id");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_file_store_location_key" ON "outbox_file"("store", "location");

-- CreateIndex
CREATE INDEX "dead_letter_account_id_id_idx" ON "dead_letter"("account_id", "id");

-- CreateIndex
CREATE INDEX "dead_letter_chat_id_idx" ON "dead_letter"("chat_id");

-- CreateIndex
CREATE INDEX "dead_letter_failed_at_idx" ON "dead_letter"("failed_at");

-- CreateIndex
CREATE INDEX "remote_task_state_id_idx" ON "remote_task"("state", "id");

-- CreateIndex
CREATE INDEX "remote_task_route_id_remote_id_idx" ON "remote_task"("route_id", "remote_id");

-- CreateIndex
CREATE INDEX "remote_task_account_id_idx" ON "remote_task"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "remote_task_message_id_route_id_remote_id_key" ON "remote_task"("message_id", "route_id", "remote_id");

-- CreateIndex
CREATE INDEX "agent_session_used_at_idx" ON "agent_session"("used_at");

-- CreateIndex
CREATE INDEX "served_task_owner_updated_at_id_idx" ON "served_task"("owner", "updated_at", "id");

-- CreateIndex
CREATE INDEX "served_task_state_updated_at_idx" ON "served_task"("state", "updated_at");

-- CreateIndex
CREATE INDEX "served_task_account_id_idx" ON "served_task"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "served_task_owner_message_id_key" ON "served_task"("owner", "message_id");

-- CreateIndex
CREATE UNIQUE INDEX "served_task_update_task_id_key_key" ON "served_task_update"("task_id", "key");

-- CreateIndex
CREATE INDEX "hosted_agent_node_idx" ON "hosted_agent"("node");

-- CreateIndex
CREATE INDEX "hosted_agent_account_id_idx" ON "hosted_agent"("account_id");

-- CreateIndex
CREATE INDEX "person_question_chat_id_state_idx" ON "person_question"("chat_id", "state");

-- CreateIndex
CREATE INDEX "person_question_state_idx" ON "person_question"("state");

-- CreateIndex
CREATE INDEX "person_question_account_id_idx" ON "person_question"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "person_question_answer_message_id_key" ON "person_question"("answer_message_id");

-- CreateIndex
CREATE INDEX "route_account_id_environment_channel_id_idx" ON "route"("account_id", "environment", "channel_id");

-- CreateIndex
CREATE INDEX "route_version_change_account_id_idx" ON "route_version_change"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "console_session_token_hash_key" ON "console_session"("token_hash");

-- CreateIndex
CREATE INDEX "console_session_user_key_idx" ON "console_session"("user_key");

-- CreateIndex
CREATE INDEX "stat_minutes_at_idx" ON "stat"("minutes", "at");

-- CreateIndex
CREATE INDEX "webhook_delivery_webhook_id_id_idx" ON "webhook_delivery"("webhook_id", "id");

-- CreateIndex
CREATE INDEX "webhook_delivery_account_id_idx" ON "webhook_delivery"("account_id");

-- CreateIndex
CREATE INDEX "webhook_delivery_created_at_idx" ON "webhook_delivery"("created_at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_task_task_id_key" ON "npc_task"("task_id");

-- CreateIndex
CREATE INDEX "npc_task_owner_id_idx" ON "npc_task"("owner", "id");

-- CreateIndex
CREATE INDEX "npc_task_status_id_idx" ON "npc_task"("status", "id");

-- CreateIndex
CREATE UNIQUE INDEX "npc_task_owner_idempotency_key_key" ON "npc_task"("owner", "idempotency_key");

-- CreateIndex
CREATE INDEX "npc_transaction_owner_created_at_idx" ON "npc_transaction"("owner", "created_at");

-- CreateIndex
CREATE INDEX "npc_transaction_hash_idx" ON "npc_transaction"("hash");

-- CreateIndex
CREATE INDEX "npc_transaction_settled_at_idx" ON "npc_transaction"("settled_at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_transaction_chain_id_wallet_nonce_key" ON "npc_transaction"("chain_id", "wallet", "nonce");

-- CreateIndex
CREATE INDEX "npc_chain_event_stored_at_idx" ON "npc_chain_event"("stored_at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_chain_event_source_transaction_hash_log_index_key" ON "npc_chain_event"("source", "transaction_hash", "log_index");

-- CreateIndex
CREATE INDEX "npc_emotion_npc_peer_at_idx" ON "npc_emotion"("npc", "peer", "at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_memory_task_id_key" ON "npc_memory"("task_id");

-- CreateIndex
CREATE INDEX "npc_memory_npc_peer_id_idx" ON "npc_memory"("npc", "peer", "id");

-- CreateIndex
CREATE UNIQUE INDEX "npc_trade_offer_key_key" ON "npc_trade_offer"("key");

-- CreateIndex
CREATE INDEX "npc_trade_offer_npc_peer_id_idx" ON "npc_trade_offer"("npc", "peer", "id");

-- CreateIndex
CREATE INDEX "audit_entry_at_idx" ON "audit_entry"("at");

-- CreateIndex
CREATE INDEX "audit_entry_key_id_seq_idx" ON "audit_entry"("key_id", "seq");

-- CreateIndex
CREATE INDEX "playground_chat_account_id_chat_id_idx" ON "playground_chat"("account_id", "chat_id");

-- CreateIndex
CREATE INDEX "playground_input_account_id_id_idx" ON "playground_input"("account_id", "id");

-- CreateIndex
CREATE INDEX "playground_file_account_id_chat_id_idx" ON "playground_file"("account_id", "chat_id");

-- CreateIndex
CREATE INDEX "playground_file_chat_id_wa_message_id_idx" ON "playground_file"("chat_id", "wa_message_id");

-- CreateIndex
CREATE INDEX "playground_event_chat_id_id_idx" ON "playground_event"("chat_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "playground_event_account_id_wa_message_id_key" ON "playground_event"("account_id", "wa_message_id");

-- CreateIndex
CREATE UNIQUE INDEX "playground_scenario_name_key" ON "playground_scenario"("name");

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_chat_id_fkey" FOREIGN KEY ("chat_id") REFERENCES "chat"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message_file" ADD CONSTRAINT "message_file_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "message"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "reply_token" ADD CONSTRAINT "reply_token_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "message"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "outbox_file" ADD CONSTRAINT "outbox_file_outbox_id_fkey" FOREIGN KEY ("outbox_id") REFERENCES "outbox"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "served_task_update" ADD CONSTRAINT "served_task_update_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "served_task"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "served_task_hook" ADD CONSTRAINT "served_task_hook_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "served_task"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "route_version_change" ADD CONSTRAINT "route_version_change_version_fkey" FOREIGN KEY ("version") REFERENCES "route_version"("number") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "console_session" ADD CONSTRAINT "console_session_user_key_fkey" FOREIGN KEY ("user_key") REFERENCES "console_user"("key") ON DELETE CASCADE ON UPDATE CASCADE;

-- What the schema language cannot say -------------------------------------------------------------------------------

-- A state outside the code's own list would hide a row from every worker.
ALTER TABLE "account" ADD CONSTRAINT "account_state_check" CHECK ("state" IN
    ('starting', 'pairing', 'passkey-required', 'connecting', 'open', 'waiting', 'proxy-failed', 'logged-out', 'replaced',
     'outdated', 'restricted', 'stopped'));
ALTER TABLE "account_limit" ADD CONSTRAINT "account_limit_kind_check" CHECK ("kind" IN ('new-contacts', 'connection'));
ALTER TABLE "message" ADD CONSTRAINT "message_state_check" CHECK ("state" IN ('received', 'answered', 'ignored', 'dead'));
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_state_check" CHECK ("state" IN
    ('draft', 'queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead'));
ALTER TABLE "route" ADD CONSTRAINT "route_environment_check" CHECK ("environment" IN ('lab', 'prod'));

-- A message that gets no answer has a recorded reason.
ALTER TABLE "message" ADD CONSTRAINT "message_reason_check" CHECK ("state" NOT IN ('ignored', 'dead') OR "reason" IS NOT NULL);

-- A time that no calendar has would keep its row, and the page it is on, from being read.
ALTER TABLE "message" ADD CONSTRAINT "message_times_check" CHECK (isfinite("sent_at") AND isfinite("received_at"));
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_times_check" CHECK (isfinite("queued_at") AND isfinite("delayed_until"));

-- A chat is one person, by number, LID or both, or one group; never neither and never both.
ALTER TABLE "chat" ADD CONSTRAINT "chat_address_check" CHECK (("group_id" IS NULL) = ("phone" IS NOT NULL OR "lid" IS NOT NULL));

-- A dead letter points at the message that was not answered or the reply that was not delivered; each has at most one.
ALTER TABLE "dead_letter" ADD CONSTRAINT "dead_letter_subject_check" CHECK (num_nonnulls("message_id", "outbox_id") >= 1);
CREATE UNIQUE INDEX "dead_letter_subject_key" ON "dead_letter"((coalesce("outbox_id", "message_id")));
CREATE INDEX "dead_letter_open_idx" ON "dead_letter"("id") WHERE "replayed_at" IS NULL AND "closed_at" IS NULL;

-- A file is never empty and never above the limit of both ways (core/models.ts).
ALTER TABLE "outbox_file" ADD CONSTRAINT "outbox_file_bytes_check" CHECK (octet_length("bytes") BETWEEN 1 AND 10000000);
-- It is encrypted or compressed already: PostgreSQL does not compress it.
ALTER TABLE "outbox_file" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;

-- Unanswered messages, undelivered replies and pending events are few among millions of finished ones.
CREATE INDEX "message_unanswered_idx" ON "message"("chat_id", "stanza_order", "id") WHERE "state" = 'received';
CREATE INDEX "message_merged_idx" ON "message"("merged_into") WHERE "merged_into" IS NOT NULL;
CREATE INDEX "outbox_undelivered_idx" ON "outbox"("account_id", "chat_id", "id") WHERE "state" IN ('queued', 'sending', 'sent');
CREATE INDEX "webhook_delivery_pending_idx" ON "webhook_delivery"("webhook_id", "account_id", "chat_id", "id") WHERE "state" = 'pending';

-- What retention looks for: rows that it empties (the condition is that of retention.ts), and replies that WhatsApp has or
-- never will.
CREATE INDEX "message_text_kept_idx" ON "message"("finished_at")
    WHERE "state" <> 'received' AND ("text" <> '' OR "trace" IS NOT NULL OR "media" IS NOT NULL OR "secret" IS NOT NULL);
CREATE INDEX "outbox_acknowledged_idx" ON "outbox"("acked_at") WHERE "state" IN ('acked', 'delivered', 'read');
CREATE INDEX "outbox_dead_idx" ON "outbox"("queued_at") WHERE "state" = 'dead';

-- Lists by route, sender and time.
CREATE INDEX "message_route_idx" ON "message"("route_id", "id") WHERE "route_id" IS NOT NULL;
CREATE INDEX "message_sender_idx" ON "message"((coalesce("sender_lid", "sender_phone")), "id");
CREATE INDEX "message_received_at_idx" ON "message" USING brin ("received_at");
CREATE INDEX "outbox_queued_at_idx" ON "outbox" USING brin ("queued_at");

-- Few replies have a key of their caller, or are the first message to a person.
CREATE UNIQUE INDEX "outbox_idempotency_idx" ON "outbox"("account_id", "idempotency_key") WHERE "idempotency_key" IS NOT NULL;
CREATE INDEX "outbox_first_contact" ON "outbox"("account_id", "first_contact_at") WHERE "first_contact_at" IS NOT NULL;

-- Most chats were never asked about and have no tag. A full index on the account was used, without statistics, to find a
-- person's chat: it read all chats of the account.
CREATE INDEX "chat_access_asked_idx" ON "chat"("account_id", "access_asked_at") WHERE "access_asked_at" IS NOT NULL;
CREATE INDEX "chat_tags_idx" ON "chat" USING gin ("tags") WHERE "tags" <> '{}';

CREATE INDEX "npc_memory_words_idx" ON "npc_memory" USING gin (to_tsvector('simple', "words"));

-- The empty chain of the audit log.
INSERT INTO "audit_chain" ("id", "head_seq", "head_hash", "anchor_seq", "anchor_hash")
VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'));
