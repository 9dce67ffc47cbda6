-- Deleting accounts. Lock order: the lease of the account, then the account.

-- Marks an account as being deleted and ends its lease. Waits for writes under the lease that have started; later ones
-- find it gone. False if there is no such account.
CREATE OR REPLACE FUNCTION account_close(p_account text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  -- The row must exist to be locked, or a node could take the lease at the same time.
  INSERT INTO account_lease (account_id, owner, epoch, until)
    SELECT id, '', 0, to_timestamp(0) FROM account WHERE id = p_account ON CONFLICT (account_id) DO NOTHING;
  PERFORM 1 FROM account_lease WHERE account_id = p_account FOR UPDATE;
  UPDATE account SET deleting_at = coalesce(deleting_at, now()), updated_at = now() WHERE id = p_account;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE account_lease SET owner = '', epoch = epoch + 1, until = to_timestamp(0) WHERE account_id = p_account;
  RETURN true;
END $$;

-- Deletes up to p_limit rows of an account that is being deleted, dependent rows first and the account last. Returns how
-- many; 0 when nothing is left, or the account is not being deleted.
CREATE OR REPLACE FUNCTION account_delete_rows(p_account text, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_table text;
  v_rows integer;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM account WHERE id = p_account AND deleting_at IS NOT NULL) THEN
    RETURN 0;
  END IF;
  -- Every table with rows of accounts. A message references its chat.
  FOR v_table IN
    SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attname = 'account_id' AND NOT a.attisdropped
      AND c.relname NOT IN ('account_lease', 'hosted_agent')
    ORDER BY c.relname = 'chat', c.relname = 'message', c.relname
  LOOP
    IF v_table = 'message' THEN
      WITH gone AS (
        DELETE FROM message WHERE ctid = ANY (ARRAY(SELECT ctid FROM message WHERE account_id = p_account LIMIT p_limit))
        RETURNING id),
      exchanges AS (DELETE FROM agent_exchange e USING gone WHERE e.message_id = gone.id)
      SELECT count(*)::integer INTO v_rows FROM gone;
      IF v_rows > 0 THEN
        RETURN v_rows;
      END IF;
      CONTINUE;
    END IF;
    EXECUTE format('DELETE FROM %I WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$I WHERE account_id = $1 LIMIT $2))', v_table)
      USING p_account, p_limit;
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    IF v_rows > 0 THEN
      RETURN v_rows;
    END IF;
  END LOOP;
  -- Their nodes delete their data, then their rows.
  UPDATE hosted_agent SET is_deleting = true WHERE account_id = p_account;
  DELETE FROM account_lease WHERE account_id = p_account;
  DELETE FROM account WHERE id = p_account;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  RETURN v_rows;
END $$;
