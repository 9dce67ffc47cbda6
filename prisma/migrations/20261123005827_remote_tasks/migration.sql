-- Tasks of agents that outlive their turns, and the conversations of people at agents. Nodes of an older version cannot follow
-- these tasks, so they must stop.
-- CreateTable
CREATE TABLE "remote_task" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "message_id" BIGINT NOT NULL,
    "route_id" TEXT NOT NULL,
    "remote_id" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'open',
    "reports" INTEGER NOT NULL DEFAULT 0,
    "position" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "remote_task_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agent_session" (
    "account_id" TEXT NOT NULL,
    "route_id" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "context_id" TEXT NOT NULL,
    "task_id" TEXT,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_session_pkey" PRIMARY KEY ("route_id","session_id")
);

-- CreateIndex
CREATE INDEX "remote_task_state_id_idx" ON "remote_task"("state", "id");

-- CreateIndex
CREATE INDEX "remote_task_route_id_remote_id_idx" ON "remote_task"("route_id", "remote_id");

-- CreateIndex
CREATE INDEX "remote_task_account_id_idx" ON "remote_task"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "remote_task_message_id_route_id_remote_id_key" ON "remote_task"("message_id", "route_id", "remote_id");

-- CreateIndex
CREATE INDEX "agent_session_account_id_idx" ON "agent_session"("account_id");
