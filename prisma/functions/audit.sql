-- The audit log: one chain of entries, written by all nodes.

-- Appends events in their order. Each is {"text", "at", "face", "caller", "key_id", "user_name", "action", "object", "outcome",
-- "request_id", "address"}; `text` is what the hash covers (core/access/audit-text.ts). The row of `audit_chain` gives all
-- nodes one order; it is locked for this statement only, and no other statement of wa2ai locks it for long.
CREATE OR REPLACE FUNCTION audit_append(p_events jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint;
  v_hash bytea;
  e jsonb;
BEGIN
  SELECT head_seq, head_hash INTO v_seq, v_hash FROM audit_chain WHERE id = 1 FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the row of audit_chain is missing';
  END IF;
  FOR e IN SELECT value FROM jsonb_array_elements(p_events) LOOP
    v_seq := v_seq + 1;
    v_hash := sha256(v_hash || convert_to(v_seq || ' ' || (e->>'text'), 'UTF8'));
    INSERT INTO audit_entry (seq, at, face, caller, key_id, user_name, action, object, outcome, request_id, address, hash)
      VALUES (v_seq, (e->>'at')::timestamptz, e->>'face', e->>'caller', e->>'key_id', e->>'user_name', e->>'action',
        e->>'object', e->>'outcome', e->>'request_id', e->>'address', v_hash);
  END LOOP;
  UPDATE audit_chain SET head_seq = v_seq, head_hash = v_hash WHERE id = 1;
END $$;
