-- People without a number are named by their user name, and routes can use it.

-- AlterTable
ALTER TABLE "chat" ADD COLUMN     "username" TEXT;

-- CreateIndex
CREATE INDEX "chat_account_id_username_idx" ON "chat"("account_id", "username");
