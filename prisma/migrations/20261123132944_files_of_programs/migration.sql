-- Files and mentions of messages that programs send.
ALTER TABLE "outbox" ADD COLUMN     "mentions" JSONB;

ALTER TABLE "outbox_file" ADD COLUMN     "source" TEXT;
