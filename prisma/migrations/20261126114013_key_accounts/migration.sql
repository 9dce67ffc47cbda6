-- A key of the API can be restricted to some accounts.
-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "accounts" JSONB;
