-- One word for one thing: each send is an attempt.
ALTER TABLE "outbox" RENAME COLUMN "tried_at" TO "attempted_at";
