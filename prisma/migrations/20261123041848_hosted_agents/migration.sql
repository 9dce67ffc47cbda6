-- Agents that wa2ai runs, and the node that runs each.
-- CreateTable
CREATE TABLE "hosted_agent" (
    "id" TEXT NOT NULL,
    "account_id" TEXT,
    "route_id" TEXT,
    "settings" TEXT NOT NULL,
    "node" TEXT NOT NULL,
    "folder_id" TEXT NOT NULL,
    "phase" TEXT NOT NULL DEFAULT 'absent',
    "problem" TEXT,
    "is_deleting" BOOLEAN NOT NULL DEFAULT false,
    "last_activity_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "hosted_agent_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "hosted_agent_node_idx" ON "hosted_agent"("node");

-- CreateIndex
CREATE INDEX "hosted_agent_account_id_idx" ON "hosted_agent"("account_id");
