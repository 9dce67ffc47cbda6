-- The NPC face: tasks of callers, and what the NPC feels, remembers and trades. Nodes of an older version cannot
-- run these tasks, so they must stop.
-- CreateTable
CREATE TABLE "npc_task" (
    "id" BIGSERIAL NOT NULL,
    "task_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "params" JSONB NOT NULL,
    "idempotency_key" TEXT,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "progress" INTEGER,
    "result" JSONB,
    "error" JSONB,
    "version" INTEGER NOT NULL DEFAULT 1,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_task_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_emotion" (
    "task_id" TEXT NOT NULL,
    "npc" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "intensity" DOUBLE PRECISION NOT NULL,
    "context" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_emotion_pkey" PRIMARY KEY ("task_id")
);

-- CreateTable
CREATE TABLE "npc_memory" (
    "id" BIGSERIAL NOT NULL,
    "task_id" TEXT NOT NULL,
    "npc" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "content" JSONB NOT NULL,
    "words" TEXT NOT NULL,
    "importance" DOUBLE PRECISION NOT NULL,
    "forgotten_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_memory_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_trade_offer" (
    "id" BIGSERIAL NOT NULL,
    "key" TEXT NOT NULL,
    "npc" TEXT NOT NULL,
    "peer" TEXT NOT NULL,
    "maker" TEXT NOT NULL,
    "direction" TEXT NOT NULL,
    "item" TEXT NOT NULL,
    "quantity" BIGINT NOT NULL,
    "price" DECIMAL(78,0) NOT NULL,
    "total" DECIMAL(78,0) NOT NULL,
    "currency" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_trade_offer_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "npc_trade_end" (
    "offer_id" BIGINT NOT NULL,
    "kind" TEXT NOT NULL,
    "side" TEXT,
    "key" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "npc_trade_end_pkey" PRIMARY KEY ("offer_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "npc_task_task_id_key" ON "npc_task"("task_id");

-- CreateIndex
CREATE INDEX "npc_task_owner_id_idx" ON "npc_task"("owner", "id");

-- CreateIndex
CREATE INDEX "npc_task_status_id_idx" ON "npc_task"("status", "id");

-- CreateIndex
CREATE UNIQUE INDEX "npc_task_owner_idempotency_key_key" ON "npc_task"("owner", "idempotency_key");

-- CreateIndex
CREATE INDEX "npc_emotion_npc_peer_at_idx" ON "npc_emotion"("npc", "peer", "at");

-- CreateIndex
CREATE UNIQUE INDEX "npc_memory_task_id_key" ON "npc_memory"("task_id");

-- CreateIndex
CREATE INDEX "npc_memory_npc_peer_id_idx" ON "npc_memory"("npc", "peer", "id");

-- CreateIndex
CREATE UNIQUE INDEX "npc_trade_offer_key_key" ON "npc_trade_offer"("key");

-- CreateIndex
CREATE INDEX "npc_trade_offer_npc_peer_id_idx" ON "npc_trade_offer"("npc", "peer", "id");

-- CreateIndex
CREATE INDEX "npc_memory_words_idx" ON "npc_memory" USING gin (to_tsvector('simple', "words"));
