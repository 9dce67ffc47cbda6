-- An agent receives the names of the people whom a message mentions.
ALTER TABLE "message" ADD COLUMN     "mentions" JSONB;
