-- The proxy that an account connects through, and the state of an account whose proxy does not connect it.
-- AlterTable
ALTER TABLE "account" ADD COLUMN     "proxy" TEXT;

ALTER TABLE "account" DROP CONSTRAINT "account_state_check";
ALTER TABLE "account" ADD CONSTRAINT "account_state_check" CHECK ("state" IN
    ('starting', 'pairing', 'passkey-required', 'connecting', 'open', 'waiting', 'proxy-failed', 'logged-out', 'replaced', 'outdated', 'restricted', 'stopped'));
