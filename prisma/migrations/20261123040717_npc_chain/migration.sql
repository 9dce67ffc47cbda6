-- Transactions of duels and quests, and the events of their contracts. Nodes of an older version cannot run these tasks.
-- CreateTable
CREATE TABLE "npc_transaction" (
    "task_id" TEXT NOT NULL,
    "chain_id" BIGINT NOT NULL,
    "wallet" TEXT NOT NULL,
    "nonce" BIGINT NOT NULL,
    "hash" TEXT NOT NULL,
    "raw" TEXT NOT NULL,
    "earlier_hashes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "outcome" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "npc_transaction_pkey" PRIMARY KEY ("task_id")
);

-- CreateTable
CREATE TABLE "npc_chain_event" (
    "id" BIGSERIAL NOT NULL,
    "source" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "block_number" BIGINT NOT NULL,
    "transaction_hash" TEXT NOT NULL,
    "log_index" INTEGER NOT NULL,
    "args" JSONB NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_chain_event_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_chain_cursor" (
    "source" TEXT NOT NULL,
    "block_number" BIGINT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_chain_cursor_pkey" PRIMARY KEY ("source")
);

-- CreateIndex
CREATE INDEX "npc_transaction_hash_idx" ON "npc_transaction"("hash");

-- CreateIndex
CREATE INDEX "npc_transaction_settled_at_idx" ON "npc_transaction"("settled_at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_transaction_chain_id_wallet_nonce_key" ON "npc_transaction"("chain_id", "wallet", "nonce");

-- CreateIndex
CREATE INDEX "npc_chain_event_stored_at_idx" ON "npc_chain_event"("stored_at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_chain_event_source_transaction_hash_log_index_key" ON "npc_chain_event"("source", "transaction_hash", "log_index");
