-- Disappearing messages: the timer of a chat, and that of a message when it was stored. View-once files are not stored.
ALTER TABLE "chat" ADD COLUMN     "timer_seconds" INTEGER NOT NULL DEFAULT 0;

ALTER TABLE "outbox" ADD COLUMN     "timer_seconds" INTEGER;

ALTER TABLE "message" ADD COLUMN     "view_once" TEXT;
