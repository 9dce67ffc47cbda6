-- Changes of keys of the API.

-- Publishes the node message `keys-changed` when the transaction commits, also for rows that wa2ai did not change.
CREATE OR REPLACE FUNCTION api_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"keys-changed"}}');
  RETURN NULL;
END $$;

-- Not after an UPDATE of `last_used_at`, which changes nothing that nodes keep.
CREATE OR REPLACE TRIGGER api_key_changed
  AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF id, name, secret_hash, scopes, chats, routes, limits, expires_at ON api_key
  FOR EACH STATEMENT EXECUTE FUNCTION api_key_changed();
