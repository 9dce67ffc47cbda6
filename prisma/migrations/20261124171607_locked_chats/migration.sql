-- Chats that the owner has locked on the phone. Nodes of the release before do not know the column.
-- AlterTable
ALTER TABLE "chat" ADD COLUMN     "is_locked" BOOLEAN NOT NULL DEFAULT false;
