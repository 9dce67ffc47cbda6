-- Tasks that wa2ai does for programs. Isolation level: see chats.sql.

-- Stores the next update of a task, unless the task has ended or has an update with this key. Returns whether it did.
CREATE OR REPLACE FUNCTION served_task_update(p_id text, p_key text, p_state text, p_text text, p_artifact jsonb)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  t served_task;
BEGIN
  SELECT * INTO t FROM served_task WHERE id = p_id FOR UPDATE;
  IF NOT FOUND OR t.state IN ('completed', 'failed', 'canceled', 'rejected')
    OR EXISTS (SELECT 1 FROM served_task_update u WHERE u.task_id = p_id AND u.key = p_key) THEN
    RETURN false;
  END IF;
  INSERT INTO served_task_update (task_id, number, key, state, text, artifact)
    VALUES (p_id, t.version + 1, p_key, p_state, p_text, p_artifact);
  UPDATE served_task SET version = t.version + 1, state = p_state, updated_at = now() WHERE id = p_id;
  RETURN true;
END $$;

-- Gives a task that waits for input what its program said next, and what is to be done now. Returns whether it did.
CREATE OR REPLACE FUNCTION served_task_resume(
  p_id text, p_message jsonb, p_request jsonb, p_account text, p_key text
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE served_task SET messages = messages || p_message, request = p_request, account_id = p_account
    WHERE id = p_id AND state = 'input-required';
  RETURN FOUND AND served_task_update(p_id, p_key, 'submitted', NULL, NULL);
END $$;

-- Publishes the node message `served-task-changed` when the transaction commits.
CREATE OR REPLACE FUNCTION served_task_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', json_build_object('from', '',
    'message', json_build_object('kind', 'served-task-changed', 'taskId', NEW.task_id))::text);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER served_task_changed AFTER INSERT ON served_task_update
  FOR EACH ROW EXECUTE FUNCTION served_task_changed();
