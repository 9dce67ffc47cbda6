-- Which chats the owner of the account approved or refused, and which wait for it.
ALTER TABLE "chat" ADD COLUMN     "access" TEXT,
ADD COLUMN     "access_asked_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "chat_account_id_access_asked_at_idx" ON "chat"("account_id", "access_asked_at");
