-- Why an account is in its state, and its limits: the sentence (reason) and its phrase, for translation. An earlier version
-- replaces the column reason only, so the phrase counts while its reason is that of the column.
-- AlterTable
ALTER TABLE "account" ADD COLUMN     "said" JSONB;

-- AlterTable
ALTER TABLE "account_limit" ADD COLUMN     "said" JSONB;

-- AlterTable
ALTER TABLE "account_state_change" ADD COLUMN     "said" JSONB;
