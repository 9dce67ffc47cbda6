-- Chats whose answers the owner approves before they are sent. Nodes of an older version would send them.
ALTER TABLE "chat" ADD COLUMN     "pause_mode" TEXT;

-- Wider than before, so that rows need no check.
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_state_check";
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_state_check" CHECK ("state" IN
    ('draft', 'queued', 'sending', 'sent', 'acked', 'delivered', 'read', 'dead')) NOT VALID;
