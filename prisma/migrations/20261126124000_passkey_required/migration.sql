ALTER TABLE "account" DROP CONSTRAINT "account_state_check";
ALTER TABLE "account" ADD CONSTRAINT "account_state_check" CHECK ("state" IN
    ('starting', 'pairing', 'passkey-required', 'connecting', 'open', 'waiting', 'logged-out', 'replaced', 'outdated', 'restricted', 'stopped'));
