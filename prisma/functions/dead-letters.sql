-- Dead letters. Isolation level and lock order: see chats.sql.

-- Queues the message or reply of a dead letter again; `known` if it is not dead (any more). A message moves to the end of
-- its chat's order, and its earlier attempts forbid no further one; a reply keeps its row and therefore its WhatsApp id.
-- The messages that ended with the message are queued again with it, in their order.
-- A message or reply has at most one dead letter: if it fails again, the same one is updated and open again. The chat of
-- a message is claimed for p_node if it has no worker.
CREATE OR REPLACE FUNCTION dead_letter_replay(p_letter bigint, p_node text) RETURNS TABLE (
  outcome text, chat_id bigint, message_id bigint, outbox_id bigint,
  worker_node text, worker_epoch integer, is_new_worker boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  c chat;
  l dead_letter;
BEGIN
  LOOP
    SELECT * INTO l FROM dead_letter WHERE id = p_letter;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    SELECT * INTO c FROM chat WHERE id = l.chat_id FOR UPDATE;
    -- A chat that was merged meanwhile moved its dead letters to the other chat.
    EXIT WHEN FOUND OR NOT EXISTS (SELECT 1 FROM dead_letter WHERE id = p_letter AND chat_id <> l.chat_id);
  END LOOP;
  outcome := 'replayed';
  chat_id := l.chat_id;
  message_id := l.message_id;
  outbox_id := l.outbox_id;
  IF l.outbox_id IS NOT NULL THEN
    UPDATE outbox SET state = 'queued', error = NULL, attempts = 0, sent_at = NULL, delayed_until = NULL,
        suspicion = 0, runs_alone = false, queued_at = now()
      WHERE id = l.outbox_id AND state = 'dead';
  ELSE
    UPDATE message m SET state = 'received', reason = NULL, error = NULL, finished_at = NULL,
        cleared_attempts = m.attempts, suspicion = 0, runs_alone = false, details = m.details - 'noTranscript',
        stanza_order = 1 + (SELECT count(*) FROM message g WHERE g.merged_into = m.id AND g.reason = 'merged')
          + (SELECT max(o.stanza_order) FROM message o WHERE o.chat_id = m.chat_id)
      WHERE m.id = l.message_id AND m.state = 'dead';
  END IF;
  IF NOT FOUND THEN
    outcome := 'known';
    RETURN NEXT;
    RETURN;
  END IF;
  IF l.outbox_id IS NULL THEN
    UPDATE message m SET state = 'received', reason = NULL, finished_at = NULL, trace = NULL, cleared_attempts = m.attempts,
        suspicion = 0, runs_alone = false,
        stanza_order = place.stanza_order
      FROM (
        SELECT g.id, p.stanza_order - row_number() OVER (ORDER BY g.stanza_order DESC, g.id DESC) AS stanza_order
        FROM message g JOIN message p ON p.id = g.merged_into
        WHERE g.merged_into = l.message_id AND g.reason = 'merged') AS place
      WHERE m.id = place.id;
    -- The answer begins again, in new messages.
    UPDATE outbox SET is_part = false WHERE message_id = l.message_id AND is_part;
  END IF;
  UPDATE dead_letter SET replayed_at = now(), closed_at = NULL WHERE id = l.id;
  is_new_worker := l.outbox_id IS NULL AND c.worker_node IS NULL;
  IF is_new_worker THEN
    c.worker_node := p_node;
    c.worker_epoch := c.worker_epoch + 1;
    UPDATE chat SET worker_node = c.worker_node, worker_epoch = c.worker_epoch WHERE id = c.id;
  END IF;
  worker_node := c.worker_node;
  worker_epoch := c.worker_epoch;
  RETURN NEXT;
END $$;
