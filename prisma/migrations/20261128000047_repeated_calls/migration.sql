-- The first call with each Idempotency-Key, for its repeats.
-- CreateTable
CREATE TABLE "repeated_call" (
    "caller" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "digest" BYTEA NOT NULL,
    "salt" BYTEA NOT NULL,
    "repeat_id" TEXT NOT NULL,
    "response" JSONB,
    "begun_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "repeated_call_pkey" PRIMARY KEY ("caller","key")
);

-- CreateIndex
CREATE INDEX "repeated_call_begun_at_idx" ON "repeated_call"("begun_at");
