-- The playground: chats with invented people, without WhatsApp. Older nodes leave an account with another provider alone
-- (lease_acquire).
-- AlterTable
ALTER TABLE "account" ADD COLUMN     "provider" TEXT NOT NULL DEFAULT 'baileys';

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

-- CreateIndex
CREATE INDEX "playground_chat_account_id_chat_id_idx" ON "playground_chat"("account_id", "chat_id");

-- CreateIndex
CREATE INDEX "playground_input_account_id_id_idx" ON "playground_input"("account_id", "id");

-- CreateIndex
CREATE INDEX "playground_file_account_id_chat_id_idx" ON "playground_file"("account_id", "chat_id");

-- CreateIndex
CREATE INDEX "playground_event_chat_id_id_idx" ON "playground_event"("chat_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "playground_event_account_id_wa_message_id_key" ON "playground_event"("account_id", "wa_message_id");
