-- The states that an account was in, for GET /api/accounts/{id}/history. Nodes of the release before do not know the table.
-- CreateTable
CREATE TABLE "account_state_change" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "reason" TEXT,
    "node" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "account_state_change_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "account_state_change_account_id_id_idx" ON "account_state_change"("account_id", "id");
