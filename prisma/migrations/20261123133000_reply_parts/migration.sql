-- A reply that was stored while the turn of its message ran (`reply.stream`).
ALTER TABLE "outbox" ADD COLUMN     "is_part" BOOLEAN NOT NULL DEFAULT false;
