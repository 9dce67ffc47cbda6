-- The route that took the last message of each chat, by which the list of chats is filtered. The index is written when the
-- route of a chat changes only.
-- AlterTable
ALTER TABLE "chat" ADD COLUMN     "route_id" TEXT;

-- CreateIndex
CREATE INDEX "chat_route_id_idx" ON "chat"("route_id");

UPDATE "chat" c SET "route_id" = (
  SELECT m."route_id" FROM "message" m WHERE m."chat_id" = c."id" AND m."state" = 'answered' AND m."route_id" IS NOT NULL
  ORDER BY m."stanza_order" DESC LIMIT 1);
