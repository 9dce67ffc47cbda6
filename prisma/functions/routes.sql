-- Changes of routes.

-- Publishes the node message `routes-changed` when the transaction commits, also for rows that wa2ai did not change. It
-- comes from no node: every node handles it.
CREATE OR REPLACE FUNCTION route_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', '{"from":"","message":{"kind":"routes-changed"}}');
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER route_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON route
  FOR EACH STATEMENT EXECUTE FUNCTION route_changed();
