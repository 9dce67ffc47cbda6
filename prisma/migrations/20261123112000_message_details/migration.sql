-- What a message has besides text and file: a location and the like, who wrote the quoted message, the name of the group.
ALTER TABLE "message" ADD COLUMN     "details" JSONB;
