-- Chats that wait for an operator are few: a draft waits, or the chat is paused.
CREATE INDEX "outbox_draft_idx" ON "outbox"("chat_id") WHERE "state" = 'draft';
CREATE INDEX "chat_paused_idx" ON "chat"((coalesce("paused_until", 'infinity'))) WHERE "paused_at" IS NOT NULL;
