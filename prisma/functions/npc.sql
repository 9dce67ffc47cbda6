-- The NPC server: tasks of its callers, and the ledger of trades.

-- Publishes the node message `npc-task` when the transaction commits: streams of the task send its new state.
CREATE OR REPLACE FUNCTION npc_task_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('wa2ai', json_build_object('from', '', 'message',
    json_build_object('kind', 'npc-task', 'taskId', NEW.task_id))::text);
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER npc_task_changed AFTER UPDATE OF version ON npc_task
  FOR EACH ROW EXECUTE FUNCTION npc_task_changed();

-- The ledger of trades only grows.
CREATE OR REPLACE FUNCTION npc_trade_unchangeable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE OR REPLACE TRIGGER npc_trade_offer_unchangeable BEFORE UPDATE OR DELETE ON npc_trade_offer
  FOR EACH ROW EXECUTE FUNCTION npc_trade_unchangeable();

CREATE OR REPLACE TRIGGER npc_trade_end_unchangeable BEFORE UPDATE OR DELETE ON npc_trade_end
  FOR EACH ROW EXECUTE FUNCTION npc_trade_unchangeable();

CREATE OR REPLACE TRIGGER npc_trade_offer_not_emptied BEFORE TRUNCATE ON npc_trade_offer
  FOR EACH STATEMENT EXECUTE FUNCTION npc_trade_unchangeable();

CREATE OR REPLACE TRIGGER npc_trade_end_not_emptied BEFORE TRUNCATE ON npc_trade_end
  FOR EACH STATEMENT EXECUTE FUNCTION npc_trade_unchangeable();
