-- Counts of messages and answers over time, for GET /api/stats. Nodes of the release before do not know the table.
-- CreateTable
CREATE TABLE "stat" (
    "account_id" TEXT NOT NULL,
    "minutes" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "messages" INTEGER NOT NULL,
    "answers" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL,
    "times" INTEGER[],

    CONSTRAINT "stat_pkey" PRIMARY KEY ("account_id","minutes","at")
);

-- CreateIndex
CREATE INDEX "stat_minutes_at_idx" ON "stat"("minutes", "at");
