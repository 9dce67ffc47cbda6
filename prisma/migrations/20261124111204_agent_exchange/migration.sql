-- The requests to agents with their answers, for GET /api/messages/{id}/exchanges. Nodes of the release before do not store them.
-- CreateTable
CREATE TABLE "agent_exchange" (
    "message_id" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "data" BYTEA NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_exchange_pkey" PRIMARY KEY ("message_id","id")
);
