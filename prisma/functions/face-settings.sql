-- Settings of protocols spoken to wa2ai.

-- Publishes the node message `settings-changed` when the transaction commits.
CREATE OR REPLACE FUNCTION face_setting_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"settings-changed"}}');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER face_setting_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON face_setting
  FOR EACH STATEMENT EXECUTE FUNCTION face_setting_changed();
