-- A conversation belongs to one account, and is removed when nobody has continued it for the retention time of texts.

-- DropIndex
DROP INDEX "agent_session_account_id_idx";

-- AlterTable
ALTER TABLE "agent_session" DROP CONSTRAINT "agent_session_pkey",
ADD CONSTRAINT "agent_session_pkey" PRIMARY KEY ("account_id", "route_id", "session_id");

-- AlterTable
ALTER TABLE "agent_session" RENAME COLUMN "updated_at" TO "used_at";

-- CreateIndex
CREATE INDEX "agent_session_used_at_idx" ON "agent_session"("used_at");
