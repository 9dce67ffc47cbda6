-- Messages to people who never wrote to the account, as the governor counts them.
ALTER TABLE "outbox" ADD COLUMN     "first_contact_at" TIMESTAMPTZ(3);

CREATE INDEX "outbox_first_contact" ON "outbox" ("account_id", "first_contact_at") WHERE "first_contact_at" IS NOT NULL;
