-- With which people encrypt edits of a message. Messages that were stored before have none. Older nodes call `inbox_add`
-- without it and without the trace.
ALTER TABLE "message" ADD COLUMN     "secret" BYTEA;

-- Rows that retention empties; the condition is that of retention.ts.
DROP INDEX "message_text_kept_idx";
CREATE INDEX "message_text_kept_idx" ON "message"("finished_at")
  WHERE "state" <> 'received' AND ("text" <> '' OR "trace" IS NOT NULL OR "media" IS NOT NULL OR "secret" IS NOT NULL);
