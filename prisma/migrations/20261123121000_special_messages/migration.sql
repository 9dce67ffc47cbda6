-- What a sent message is when it is neither text nor file: a location, contacts, a poll, a reaction, an edit, a deletion.
ALTER TABLE "outbox" ADD COLUMN     "special" JSONB;
