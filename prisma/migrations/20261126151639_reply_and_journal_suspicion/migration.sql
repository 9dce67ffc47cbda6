-- Counts processes that end while a reply is sent, or while a stanza is handled that is not in the inbox yet.
ALTER TABLE "journal" ADD COLUMN     "runs_alone" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "suspicion" INTEGER NOT NULL DEFAULT 0;

ALTER TABLE "outbox" ADD COLUMN     "runs_alone" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "suspicion" INTEGER NOT NULL DEFAULT 0;
