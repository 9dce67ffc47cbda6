-- Messages that a person wrote by hand through the API.
ALTER TABLE "outbox" ADD COLUMN     "by_hand" BOOLEAN NOT NULL DEFAULT false;
