-- Messages and failures of each route by hour, for the page Routes.
-- CreateTable
CREATE TABLE "route_stat" (
    "route_id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "messages" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL,

    CONSTRAINT "route_stat_pkey" PRIMARY KEY ("route_id","at")
);

-- CreateIndex
CREATE INDEX "route_stat_at_idx" ON "route_stat"("at");
