-- Counters of the requests of keys. UNLOGGED: counting a request writes no WAL and waits for no disk.

-- CreateTable
CREATE UNLOGGED TABLE "api_key_rate" (
    "key" TEXT NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "api_key_rate_pkey" PRIMARY KEY ("key")
);
