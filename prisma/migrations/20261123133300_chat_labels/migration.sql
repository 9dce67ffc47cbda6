-- Tags and notes of operators about a chat.
ALTER TABLE "chat" ADD COLUMN     "notes" TEXT,
ADD COLUMN     "tags" TEXT[] DEFAULT ARRAY[]::TEXT[];
