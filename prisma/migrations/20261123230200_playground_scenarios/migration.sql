-- Saved conversations with invented people, run as tests, and which message has a file.
-- AlterTable
ALTER TABLE "playground_file" ADD COLUMN     "wa_message_id" TEXT;

-- CreateTable
CREATE TABLE "playground_scenario" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "yaml" TEXT NOT NULL,
    "saved_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "playground_scenario_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "playground_scenario_name_key" ON "playground_scenario"("name");

-- CreateIndex
CREATE INDEX "playground_file_chat_id_wa_message_id_idx" ON "playground_file"("chat_id", "wa_message_id");
