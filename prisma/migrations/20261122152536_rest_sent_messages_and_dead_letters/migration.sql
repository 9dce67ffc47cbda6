-- Messages received and sent share one sequence of ids, so that one id names one of them and ids order both. A dead letter
-- is updated when its message or reply fails again, and an operator can close it. An account can be deleted. Lists can be
-- filtered by route, sender and time.

-- AlterTable
ALTER TABLE "account" ADD COLUMN     "deleting_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "dead_letter" ADD COLUMN     "closed_at" TIMESTAMPTZ(3),
ADD COLUMN     "failed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;
UPDATE "dead_letter" SET "failed_at" = "created_at";

-- Rows of the outbox get ids above those of all messages. Their files follow by the foreign key.
DO $$
DECLARE
  v_offset bigint;
BEGIN
  SELECT greatest((SELECT max(id) FROM message), (SELECT max(id) FROM outbox)) INTO v_offset;
  IF v_offset IS NULL THEN
    RETURN;
  END IF;
  UPDATE dead_letter SET outbox_id = outbox_id + v_offset WHERE outbox_id IS NOT NULL;
  UPDATE outbox SET id = id + v_offset;
  PERFORM setval('message_id_seq', (SELECT greatest((SELECT max(id) FROM message), (SELECT max(id) FROM outbox))));
END $$;

-- AlterTable
ALTER TABLE "outbox" ALTER COLUMN "id" SET DEFAULT nextval('message_id_seq'::regclass);
DROP SEQUENCE "outbox_id_seq";

-- Until now each failure of a replay added a dead letter: the newest one stays.
DELETE FROM "dead_letter" d USING "dead_letter" newer
  WHERE coalesce(newer.outbox_id, newer.message_id) = coalesce(d.outbox_id, d.message_id) AND newer.id > d.id;
CREATE UNIQUE INDEX "dead_letter_subject_key" ON "dead_letter"((coalesce("outbox_id", "message_id")));

-- DropIndex
DROP INDEX "dead_letter_created_at_idx";

-- CreateIndex
CREATE INDEX "dead_letter_failed_at_idx" ON "dead_letter"("failed_at");

DROP INDEX "dead_letter_open_idx";
CREATE INDEX "dead_letter_open_idx" ON "dead_letter"("id") WHERE "replayed_at" IS NULL AND "closed_at" IS NULL;

CREATE INDEX "message_route_idx" ON "message"("route_id", "id") WHERE "route_id" IS NOT NULL;
CREATE INDEX "message_sender_idx" ON "message"((coalesce("sender_lid", "sender_phone")), "id");
CREATE INDEX "message_received_at_idx" ON "message" USING brin ("received_at");
CREATE INDEX "outbox_queued_at_idx" ON "outbox" USING brin ("queued_at");
