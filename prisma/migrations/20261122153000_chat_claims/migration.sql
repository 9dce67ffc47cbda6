-- Who works on a chat is one record, the claim in its row: a node and an epoch. Until now a DBOS workflow said so too.
ALTER TABLE "chat" RENAME COLUMN "loop_epoch" TO "worker_epoch";
ALTER TABLE "chat" ADD COLUMN "worker_node" TEXT;
ALTER TABLE "chat" DROP COLUMN "loop_running";

-- Workflows of chats that an earlier version left: their chats are found by the first sweep.
DO $$ BEGIN
  IF to_regclass('dbos.workflow_status') IS NOT NULL THEN
    EXECUTE 'UPDATE dbos.workflow_status SET status = ''CANCELLED'' WHERE name = ''turnLoop'' AND status IN (''PENDING'', ''ENQUEUED'', ''DELAYED'')';
  END IF;
END $$;

-- A message id belongs to its sender: another member of a group may use the same one.
DROP INDEX "message_account_id_chat_id_wa_message_id_key";
CREATE INDEX "message_account_id_chat_id_wa_message_id_idx" ON "message"("account_id", "chat_id", "wa_message_id");

-- The reason has the name that it has everywhere.
UPDATE "message" SET "reason" = 'auto-reply-loop' WHERE "reason" = 'loop-breaker';
