-- Counts processes that end during a turn: one that ends them again and again becomes a dead letter.
ALTER TABLE "message" ADD COLUMN     "runs_alone" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "suspicion" INTEGER NOT NULL DEFAULT 0;
