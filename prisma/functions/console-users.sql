-- Changes of users of the console and of their sessions.

-- Publishes the node message `users-changed` when the transaction commits, also for rows that wa2ai did not change.
CREATE OR REPLACE FUNCTION console_users_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"users-changed"}}');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER console_user_changed
  AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON console_user
  FOR EACH STATEMENT EXECUTE FUNCTION console_users_changed();

-- Not after an UPDATE of `last_seen_at`, which changes nothing that nodes must know immediately.
CREATE OR REPLACE TRIGGER console_session_changed
  AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF id, token_hash, user_key, admin_key_mac, expires_at ON console_session
  FOR EACH STATEMENT EXECUTE FUNCTION console_users_changed();
