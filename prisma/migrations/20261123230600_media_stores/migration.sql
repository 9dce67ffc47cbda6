-- The file of a reply may be in a store outside of the database. Nodes of the release before could not send such a reply.
-- AlterTable
ALTER TABLE "outbox_file" ALTER COLUMN "bytes" DROP NOT NULL;
ALTER TABLE "outbox_file" ADD COLUMN "store" TEXT, ADD COLUMN "location" TEXT;

-- CreateIndex
CREATE UNIQUE INDEX "outbox_file_store_location_key" ON "outbox_file"("store", "location");

-- Chats with a tag. A claim of a chat changes no tag, so it stays cheap; a chat without tags is not in the index.
CREATE INDEX "chat_tags_idx" ON "chat" USING gin ("tags") WHERE "tags" <> '{}';
