-- Tells an attempt that may have run from one that did not, or that an operator replayed.
ALTER TABLE "message" ADD COLUMN     "cleared_attempts" INTEGER NOT NULL DEFAULT 0;
