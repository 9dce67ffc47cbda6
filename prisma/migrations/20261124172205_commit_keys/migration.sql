-- The function commit_keys stores the keys of an account. A node of the release before would drop it when it starts, so
-- such a node must not start any more.

-- No statement reads journal entries by their WhatsApp id.
-- DropIndex
DROP INDEX "journal_account_id_wa_message_id_idx";

-- Most chats were never asked about. Without statistics, a full index on the account was used to find a person's chat: it
-- read all chats of the account.
-- DropIndex
DROP INDEX "chat_account_id_access_asked_at_idx";

CREATE INDEX "chat_access_asked_idx" ON "chat"("account_id", "access_asked_at") WHERE "access_asked_at" IS NOT NULL;

-- Replies have no key: each move of a reply wrote an entry of this index for nothing.
-- DropIndex
DROP INDEX "outbox_account_id_idempotency_key_key";

CREATE UNIQUE INDEX "outbox_idempotency_idx" ON "outbox"("account_id", "idempotency_key") WHERE "idempotency_key" IS NOT NULL;
