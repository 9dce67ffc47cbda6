-- Pauses of chats, and the order of the list of chats (GET /api/chats).
ALTER TABLE "chat" ADD COLUMN     "active_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "pause_reason" TEXT,
ADD COLUMN     "paused_at" TIMESTAMPTZ(3),
ADD COLUMN     "paused_until" TIMESTAMPTZ(3);

UPDATE "chat" SET "active_at" = "created_at";
