-- Encryption at rest: which data keys values in the database may be encrypted with.

-- CreateTable
CREATE TABLE "data_key_use" (
    "node_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "data_key_use_pkey" PRIMARY KEY ("node_id","key_id")
);
