-- What each transaction may spend and for whom, so that the tasks of a caller have a limit of 24 hours.
-- AlterTable
ALTER TABLE "npc_transaction" ADD COLUMN     "amount" DECIMAL(78,0),
ADD COLUMN     "gas" BIGINT,
ADD COLUMN     "owner" TEXT,
ADD COLUMN     "type" TEXT;

-- CreateIndex
CREATE INDEX "npc_transaction_owner_created_at_idx" ON "npc_transaction"("owner", "created_at");
