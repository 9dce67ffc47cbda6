-- The playground: chats with invented people.

-- Adds a chat with its row of `chat`. Returns its id, NULL if the account has a chat at this address already.
CREATE OR REPLACE FUNCTION playground_add_chat(
  p_account text, p_kind text, p_name text, p_people jsonb, p_phone text, p_group text, p_reply_to text, p_route text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_id bigint;
BEGIN
  INSERT INTO chat (account_id, phone, group_id, reply_to) VALUES (p_account, p_phone, p_group, p_reply_to)
    ON CONFLICT DO NOTHING RETURNING id INTO v_id;
  IF v_id IS NOT NULL THEN
    INSERT INTO playground_chat (chat_id, account_id, kind, name, people, route_id)
      VALUES (v_id, p_account, p_kind, p_name, p_people, p_route);
  END IF;
  RETURN v_id;
END $$;

-- Deletes a chat of the playground with everything stored for it. A turn that runs ends without a result: its message is gone.
CREATE OR REPLACE FUNCTION playground_delete_chat(p_chat bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM chat WHERE id = p_chat FOR UPDATE;
  DELETE FROM playground_chat WHERE chat_id = p_chat;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  DELETE FROM playground_input WHERE chat_id = p_chat;
  DELETE FROM playground_file WHERE chat_id = p_chat;
  DELETE FROM playground_event WHERE chat_id = p_chat;
  DELETE FROM remote_task WHERE message_id IN (SELECT id FROM message WHERE chat_id = p_chat);
  DELETE FROM dead_letter WHERE chat_id = p_chat;
  DELETE FROM outbox WHERE chat_id = p_chat;
  DELETE FROM agent_exchange WHERE message_id IN (SELECT id FROM message WHERE chat_id = p_chat);
  DELETE FROM message WHERE chat_id = p_chat;
  DELETE FROM chat WHERE id = p_chat;
  RETURN true;
END $$;
