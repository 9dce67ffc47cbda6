-- Questions to people. Lock order: the chat, then its questions; isolation level: see chats.sql.

-- Stores a question to the person of an address. A question that is known stays as it is.
CREATE OR REPLACE FUNCTION question_add(
  p_id text, p_account text, p_phone text, p_lid text, p_to text, p_remind_ms bigint, p_deadline_ms bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  c chat := chat_of(p_account, p_phone, p_lid, NULL, p_to);
BEGIN
  INSERT INTO person_question (id, account_id, chat_id, remind_at, deadline_at)
    VALUES (p_id, p_account, c.id, clock_timestamp() + p_remind_ms * interval '1 millisecond',
      clock_timestamp() + p_deadline_ms * interval '1 millisecond')
    ON CONFLICT (id) DO NOTHING;
END $$;

-- Opens a waiting question unless another one of its chat is open or waits for longer. Returns its state.
CREATE OR REPLACE FUNCTION question_open(p_id text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  q person_question;
BEGIN
  PERFORM 1 FROM chat WHERE id = (SELECT chat_id FROM person_question WHERE id = p_id) FOR UPDATE;
  SELECT * INTO q FROM person_question WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN
    RETURN 'closed';
  END IF;
  IF q.state <> 'waiting' OR EXISTS (
    SELECT 1 FROM person_question o WHERE o.chat_id = q.chat_id AND o.id <> q.id
      AND (o.state = 'open' OR (o.state = 'waiting' AND (o.created_at, o.id) < (q.created_at, q.id)))) THEN
    RETURN q.state;
  END IF;
  UPDATE person_question SET state = 'open', asked_at = clock_timestamp() WHERE id = p_id;
  RETURN 'open';
END $$;

-- Gives a message to the open question of its chat: once, and again the same question for the same message. A message
-- that was written or stored before the question was asked, an edit, and a message without text are not answers.
CREATE OR REPLACE FUNCTION question_answer(p_chat bigint, p_message bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  q person_question;
  m message;
BEGIN
  SELECT * INTO q FROM person_question WHERE answer_message_id = p_message;
  IF FOUND THEN
    RETURN q.id;
  END IF;
  SELECT * INTO q FROM person_question WHERE chat_id = p_chat AND state = 'open' AND deadline_at > clock_timestamp()
    ORDER BY asked_at LIMIT 1 FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  SELECT * INTO m FROM message WHERE id = p_message;
  IF NOT FOUND OR m.received_at < q.asked_at OR m.sent_at < q.asked_at - interval '1 minute' OR m.edit_of IS NOT NULL
    OR btrim(m.text) = '' THEN
    RETURN NULL;
  END IF;
  UPDATE person_question
    SET state = 'answered', answer_message_id = m.id, answer = m.text, answered_at = clock_timestamp() WHERE id = q.id;
  RETURN q.id;
END $$;

-- Publishes the node message `question-changed` when the transaction commits: of the question, and when it has ended, also of
-- the question of its chat whose turn it then is.
CREATE OR REPLACE FUNCTION person_question_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_next text;
BEGIN
  PERFORM pg_notify('wa2ai', json_build_object('from', '',
    'message', json_build_object('kind', 'question-changed', 'taskId', coalesce(NEW.id, OLD.id)))::text);
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND NEW.state IN ('answered', 'closed')) THEN
    SELECT id INTO v_next FROM person_question WHERE chat_id = OLD.chat_id AND state = 'waiting'
      ORDER BY created_at, id LIMIT 1;
    IF v_next IS NOT NULL THEN
      PERFORM pg_notify('wa2ai', json_build_object('from', '',
        'message', json_build_object('kind', 'question-changed', 'taskId', v_next))::text);
    END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER person_question_changed AFTER INSERT OR UPDATE OR DELETE ON person_question
  FOR EACH ROW EXECUTE FUNCTION person_question_changed();
