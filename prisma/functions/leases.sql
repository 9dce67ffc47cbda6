-- Leases: which node runs an account.

-- Nodes whose process is alive: each owns a session advisory lock of this class (connections/node-connection.ts). The
-- server releases the lock when the connection ends. Locks of roles that may not write wa2ai's tables do not count.
CREATE OR REPLACE VIEW node_lock AS
  SELECT l.objid::bigint AS lock_key FROM pg_locks l JOIN pg_stat_activity a USING (pid)
  WHERE has_table_privilege(a.usesysid, to_regclass('node'), 'UPDATE') AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = 2002858606::oid
    AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());

CREATE OR REPLACE FUNCTION node_has_lock(p_node text) RETURNS boolean LANGUAGE sql AS $$
  SELECT EXISTS (
    SELECT 1 FROM node n JOIN node_lock l ON l.lock_key = n.lock_key::bigint & 4294967295 WHERE n.id = p_node);
$$;

-- Counts the end of the process that had an account, for what it may have ended at: the replies that it was sending
-- (core/suspects.ts), and stanzas that were not in the inbox yet: all of them the first time, then the one that was handled alone.
CREATE OR REPLACE FUNCTION lease_count_end(p_account text) RETURNS void LANGUAGE sql AS $$
  WITH open AS MATERIALIZED (
    SELECT id, suspicion, runs_alone FROM outbox
    WHERE account_id = p_account AND state IN ('queued', 'sending', 'sent') AND (state = 'sending' OR runs_alone)
  )
  UPDATE outbox o SET runs_alone = false, suspicion = o.suspicion + CASE
      WHEN NOT open.runs_alone OR EXISTS (SELECT 1 FROM open AS other WHERE other.suspicion < 2) THEN 1 ELSE 2 END
  FROM open WHERE o.id = open.id AND (open.runs_alone OR open.suspicion < 2);
  UPDATE journal SET suspicion = suspicion + 1, runs_alone = false
  WHERE account_id = p_account AND (runs_alone OR suspicion = 0);
$$;

-- Takes the lease of an account and returns its new epoch, or NULL while another node's lease is valid, or when the account
-- does not exist, is being deleted or needs a provider that the node does not have. A lease is valid
-- until its time ends by this server's clock. With p_from_dead it is also invalid when its owner's process has ended.
-- A lease that nobody released was that of a process that ended, unless it is the caller's: p_was_ours.
-- Locking the row waits for writes of the old epoch that have started; later ones find the new epoch.
CREATE OR REPLACE FUNCTION lease_acquire(p_account text, p_owner text, p_ttl_ms integer, p_from_dead boolean,
  p_providers text[] DEFAULT ARRAY['baileys'], p_was_ours boolean DEFAULT false) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  l account_lease;
BEGIN
  INSERT INTO account_lease (account_id, owner, epoch, until) VALUES (p_account, '', 0, to_timestamp(0))
    ON CONFLICT (account_id) DO NOTHING;
  SELECT * INTO l FROM account_lease WHERE account_id = p_account FOR UPDATE;
  IF NOT EXISTS (SELECT 1 FROM account WHERE id = p_account AND deleting_at IS NULL
      AND provider = ANY (p_providers)) THEN
    DELETE FROM account_lease WHERE account_id = p_account AND owner = '' AND epoch = 0;
    RETURN NULL;
  END IF;
  IF l.owner NOT IN (p_owner, '') AND l.until > clock_timestamp()
     AND NOT (p_from_dead AND NOT node_has_lock(l.owner)) THEN
    RETURN NULL;
  END IF;
  IF l.owner <> '' AND NOT (l.owner = p_owner AND p_was_ours) THEN
    PERFORM lease_count_end(p_account);
  END IF;
  UPDATE account_lease SET owner = p_owner, epoch = l.epoch + 1,
      until = clock_timestamp() + p_ttl_ms * interval '1 millisecond'
    WHERE account_id = p_account;
  RETURN l.epoch + 1;
END $$;

-- The fence of a write: one row while the lease of this epoch is valid, and it stays valid until the caller commits; no
-- row otherwise. Callers without a lease (tests, tools) always get one row.
CREATE OR REPLACE FUNCTION lease_held(p_account text, p_owner text, p_epoch bigint) RETURNS SETOF boolean ROWS 1
LANGUAGE plpgsql AS $$
BEGIN
  IF p_owner IS NULL THEN
    RETURN NEXT true;
  ELSE
    RETURN QUERY SELECT true FROM account_lease
      WHERE account_id = p_account AND owner = p_owner AND epoch = p_epoch FOR KEY SHARE;
  END IF;
END $$;
