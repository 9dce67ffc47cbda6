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

-- Every change of the table is a version, by any writer. The versions of concurrent transactions have an order: the lock is
-- taken before the first row is, so that two of them do not wait for each other.
CREATE OR REPLACE FUNCTION route_version_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('wa2ai route versions', 0));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER route_version_lock BEFORE INSERT OR UPDATE OR DELETE ON route
  FOR EACH STATEMENT EXECUTE FUNCTION route_version_lock();

-- The version that this transaction makes; the settings wa2ai.route_change and wa2ai.route_version are those of the
-- transaction. The newest 1,000 are kept.
CREATE OR REPLACE FUNCTION route_version_of_transaction(p_operation text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_change jsonb := nullif(current_setting('wa2ai.route_change', true), '')::jsonb;
  v_number integer := nullif(current_setting('wa2ai.route_version', true), '')::integer;
BEGIN
  IF v_number IS NOT NULL THEN
    RETURN v_number;
  END IF;
  INSERT INTO route_version (number, action, caller, key_id, restored)
    SELECT coalesce(max(number), 0) + 1, coalesce(v_change ->> 'action', p_operation), v_change ->> 'caller',
      v_change ->> 'keyId', (v_change ->> 'restored')::integer
    FROM route_version RETURNING number INTO v_number;
  DELETE FROM route_version WHERE number <= v_number - 1000;
  PERFORM set_config('wa2ai.route_version', v_number::text, true);
  RETURN v_number;
END $$;

-- A route as JSON. Without its config if the database cannot read it: such a route can be deleted or written again.
CREATE OR REPLACE FUNCTION route_as_json(p_route route) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN to_jsonb(p_route);
EXCEPTION WHEN OTHERS THEN
  p_route.config := '{}';
  RETURN to_jsonb(p_route);
END $$;

CREATE OR REPLACE FUNCTION route_version_record() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_before jsonb;
  v_after jsonb;
  v_operation text := 'change';
BEGIN
  IF TG_OP = 'INSERT' THEN
    v_operation := 'create';
  ELSE
    v_before := route_as_json(OLD);
  END IF;
  IF TG_OP = 'DELETE' THEN
    v_operation := 'delete';
  ELSE
    v_after := route_as_json(NEW);
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF v_before - 'updated_at' = v_after - 'updated_at' THEN
      RETURN NULL;
    END IF;
    -- The same config, encrypted with another key.
    IF v_before - 'config' = v_after - 'config' AND left(v_before #>> '{config,encrypted}', 17)
      IS DISTINCT FROM left(v_after #>> '{config,encrypted}', 17) THEN
      RETURN NULL;
    END IF;
  END IF;
  INSERT INTO route_version_change (version, route_id, account_id, before, after)
    SELECT route_version_of_transaction(v_operation), (route ->> 'id')::uuid, route ->> 'account_id', v_before, v_after
    FROM coalesce(v_after, v_before) AS route
    ON CONFLICT (version, route_id) DO UPDATE SET after = excluded.after, account_id = excluded.account_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER route_version_record AFTER INSERT OR UPDATE OR DELETE ON route
  FOR EACH ROW EXECUTE FUNCTION route_version_record();
