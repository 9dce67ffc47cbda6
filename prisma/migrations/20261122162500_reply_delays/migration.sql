-- A reply that waits until a time is delayed.
ALTER TABLE "outbox" RENAME COLUMN "hold_until" TO "delayed_until";
