-- The audit log: calls to wa2ai, each chained to the one before it.

-- CreateTable
CREATE TABLE "audit_entry" (
    "seq" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "face" TEXT NOT NULL,
    "caller" TEXT NOT NULL,
    "key_id" TEXT,
    "action" TEXT NOT NULL,
    "object" TEXT,
    "outcome" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "address" TEXT,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "audit_chain" (
    "id" INTEGER NOT NULL,
    "head_seq" BIGINT NOT NULL,
    "head_hash" BYTEA NOT NULL,
    "anchor_seq" BIGINT NOT NULL,
    "anchor_hash" BYTEA NOT NULL,

    CONSTRAINT "audit_chain_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "audit_entry_at_idx" ON "audit_entry"("at");

-- CreateIndex
CREATE INDEX "audit_entry_key_id_seq_idx" ON "audit_entry"("key_id", "seq");

-- The empty chain.
INSERT INTO "audit_chain" ("id", "head_seq", "head_hash", "anchor_seq", "anchor_hash")
VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'));
