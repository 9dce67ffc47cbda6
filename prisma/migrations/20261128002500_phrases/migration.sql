-- The phrase of each stored error, for translation. Functions that store errors have a parameter more: nodes of earlier versions
-- stop here.
-- AlterTable
ALTER TABLE "dead_letter" ADD COLUMN     "phrase" JSONB;

-- AlterTable
ALTER TABLE "hosted_agent" ADD COLUMN     "phrase" JSONB;

-- AlterTable
ALTER TABLE "message" ADD COLUMN     "phrase" JSONB;

-- AlterTable
ALTER TABLE "outbox" ADD COLUMN     "phrase" JSONB;

-- AlterTable
ALTER TABLE "webhook" ADD COLUMN     "disabled_phrase" JSONB;

-- AlterTable
ALTER TABLE "webhook_delivery" ADD COLUMN     "phrase" JSONB;
