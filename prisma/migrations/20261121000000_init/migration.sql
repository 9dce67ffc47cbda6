-- The first tables of wa2ai: accounts with their keys and leases, chats, messages with what became of them, the
-- outbox, dead letters and routes. Every table names the WhatsApp account.
--
-- Made from schema.prisma and reviewed by hand. The end of this file holds what the schema language cannot say: checks
-- on states and addresses, and partial indexes for the two questions asked at every start and sweep.
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
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_pkey" PRIMARY KEY ("id")
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
    "state" TEXT NOT NULL DEFAULT 'queued',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "queued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sent_at" TIMESTAMPTZ(3),
    "acked_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "read_at" TIMESTAMPTZ(3),

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
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
CREATE INDEX "route_account_id_environment_channel_id_idx" ON "route"("account_id", "environment", "channel_id");

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_chat_id_fkey" FOREIGN KEY ("chat_id") REFERENCES "chat"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What the schema language cannot say -------------------------------------------------------------------------------

-- A state outside the code's own list would hide a row from every worker: refuse it at the door.
ALTER TABLE "account" ADD CONSTRAINT "account_state_check" CHECK ("state" IN
    ('starting', 'pairing', 'connecting', 'open', 'waiting', 'logged-out', 'replaced', 'outdated', 'restricted', 'stopped'));
ALTER TABLE "message" ADD CONSTRAINT "message_state_check" CHECK ("state" IN ('received', 'answered', 'ignored', 'dead'));
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_state_check" CHECK ("state" IN
    ('queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead'));
ALTER TABLE "route" ADD CONSTRAINT "route_environment_check" CHECK ("environment" IN ('lab', 'prod'));

-- A message that gets no answer has a recorded reason.
ALTER TABLE "message" ADD CONSTRAINT "message_reason_check" CHECK ("state" NOT IN ('ignored', 'dead') OR "reason" IS NOT NULL);

-- A chat is one person, by number, LID or both, or one group; never neither and never both.
ALTER TABLE "chat" ADD CONSTRAINT "chat_address_check" CHECK (("group_id" IS NULL) = ("phone" IS NOT NULL OR "lid" IS NOT NULL));

-- A dead letter points at the message that was not answered or the reply that was not delivered.
ALTER TABLE "dead_letter" ADD CONSTRAINT "dead_letter_subject_check" CHECK (num_nonnulls("message_id", "outbox_id") >= 1);

-- Unanswered messages and undelivered replies are few among millions of finished ones.
CREATE INDEX "message_unanswered_idx" ON "message"("chat_id", "stanza_order", "id") WHERE "state" = 'received';
CREATE INDEX "outbox_undelivered_idx" ON "outbox"("account_id", "chat_id", "id") WHERE "state" IN ('queued', 'sending', 'sent');
