-- Settings that are changed while wa2ai runs.

-- Publishes the node message `settings-changed` when the transaction commits.
CREATE OR REPLACE FUNCTION setting_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"settings-changed"}}');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER setting_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON setting
  FOR EACH STATEMENT EXECUTE FUNCTION setting_changed();
