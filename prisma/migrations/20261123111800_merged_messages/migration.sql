-- Messages that end with the turn of a later one, and edits of messages that wait for their answer.
ALTER TABLE "message" ADD COLUMN     "edit_id" TEXT,
ADD COLUMN     "edits" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "merged_into" BIGINT;

CREATE INDEX "message_merged_idx" ON "message"("merged_into") WHERE "merged_into" IS NOT NULL;
