-- Whether a message is addressed to the account, and the message that a reply quotes.
ALTER TABLE "message" ADD COLUMN     "to_us" TEXT;

ALTER TABLE "outbox" ADD COLUMN     "quote" JSONB;
