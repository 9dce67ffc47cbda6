import sql from 'sql-template-tag';
import { forgetGoneNodes } from '../stores/postgres-cluster.ts';
import { forgetNumberChecks } from '../stores/postgres-outbox.ts';
import { forgetReplyTokens } from '../stores/postgres-reply-tokens.ts';
import type { DeleteBatch, RetentionRules } from './retention.ts';

/** By message, which is about by age: a row of a message that was replayed later waits for its own age. */
const DELETE_EXCHANGES: DeleteBatch = (before, batch) => sql`
    DELETE FROM agent_exchange WHERE (message_id, id) IN (
      SELECT message_id, id FROM (
        SELECT message_id, id, stored_at FROM agent_exchange ORDER BY message_id, id LIMIT ${batch}) AS oldest
      WHERE stored_at < ${before}::timestamptz)`;

/** Files of people, except of messages that are not finished or whose dead letter is open. */
const RECEIVED_FILES: DeleteBatch = (before, batch) => sql`
    DELETE FROM message_file WHERE message_id IN (
      SELECT f.message_id FROM message_file f JOIN message m ON m.id = f.message_id
      WHERE f.stored_at < ${before}::timestamptz AND m.state <> 'received'
        AND (m.state <> 'dead' OR NOT EXISTS (
          SELECT 1 FROM dead_letter d WHERE d.chat_id = m.chat_id AND d.message_id = m.id))
      ORDER BY f.stored_at LIMIT ${batch})`;

/** Ended questions to people. */
const QUESTIONS: DeleteBatch = (before, batch) => sql`
    DELETE FROM person_question WHERE id IN (
      SELECT id FROM person_question WHERE state IN ('answered', 'closed')
        AND deadline_at < ${before}::timestamptz LIMIT ${batch})`;

/** DBOS keeps a workflow's input, output and steps in tables without a foreign key. */
const WORKFLOW_PARTS: readonly DeleteBatch[] = [
  () => sql`DELETE FROM dbos.workflow_input WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)`,
  () => sql`DELETE FROM dbos.workflow_output WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)`,
  () => sql`DELETE FROM dbos.operation_outputs WHERE workflow_uuid IN (SELECT workflow_uuid FROM gone)`,
];

/**
 * The tables of messages, keys, nodes and durable work. Unfinished rows stay: unanswered messages, replies that WhatsApp has
 * not acknowledged, messages and replies of open dead letters, stanzas whose message the inbox does not have, running tasks,
 * keys in use. Dead letters are first: while one exists, its message and its reply are kept.
 */
export const coreRetention: RetentionRules = {
  batches: {
    deadLetters: (before, batch) => sql`
      DELETE FROM dead_letter WHERE id IN (
        SELECT id FROM dead_letter WHERE failed_at < ${before}::timestamptz ORDER BY failed_at LIMIT ${batch}) RETURNING 1`,
    // The row stays, to recognize a message that WhatsApp delivers again. A dead one can be replayed while its dead letter exists.
    text: (before, batch) => sql`
      UPDATE message SET text = '', quoted_text = NULL, mentions = NULL, details = NULL, trace = NULL, media = NULL, media_ref = NULL, secret = NULL WHERE id IN (
        SELECT m.id FROM message m
        WHERE m.state <> 'received' AND (m.text <> '' OR m.trace IS NOT NULL OR m.media IS NOT NULL OR m.secret IS NOT NULL)
          AND m.finished_at < ${before}::timestamptz
          AND (m.state <> 'dead' OR NOT EXISTS (
            SELECT 1 FROM dead_letter d WHERE d.chat_id = m.chat_id AND d.message_id = m.id))
        ORDER BY m.finished_at LIMIT ${batch} FOR UPDATE SKIP LOCKED)
        AND state <> 'received' RETURNING 1`,
    outbox: (before, batch) => sql`
      DELETE FROM outbox WHERE id IN (
        SELECT id FROM outbox WHERE state IN ('acked', 'delivered', 'read') AND acked_at < ${before}::timestamptz
        UNION ALL
        SELECT id FROM outbox WHERE state = 'draft' AND queued_at < ${before}::timestamptz
        UNION ALL
        SELECT o.id FROM outbox o WHERE o.state = 'dead' AND o.queued_at < ${before}::timestamptz
          AND NOT EXISTS (SELECT 1 FROM dead_letter d WHERE d.chat_id = o.chat_id AND d.outbox_id = o.id)
        LIMIT ${batch})
        AND state IN ('draft', 'acked', 'delivered', 'read', 'dead') RETURNING 1`,
    // The row stays, with the uploaded form: a phone may request the message again.
    files: (before, batch) => sql`
      UPDATE outbox_file SET bytes = NULL, store = NULL, location = NULL WHERE outbox_id IN (
        SELECT f.outbox_id FROM outbox_file f JOIN outbox o ON o.id = f.outbox_id
        WHERE o.state IN ('acked', 'delivered', 'read') AND o.acked_at < ${before}::timestamptz
          AND (f.bytes IS NOT NULL OR f.location IS NOT NULL)
        LIMIT ${batch} FOR UPDATE OF f SKIP LOCKED) RETURNING 1`,
    exchanges: (before, batch) => sql`${DELETE_EXCHANGES(before, batch)} RETURNING 1`,
    workflows: (before, batch) => sql`
      DELETE FROM dbos.workflow_status WHERE workflow_uuid IN (
        SELECT workflow_uuid FROM dbos.workflow_status
        WHERE created_at < ${before.getTime()}::bigint
          AND status IN ('SUCCESS', 'ERROR', 'CANCELLED', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED')
        ORDER BY created_at LIMIT ${batch}) RETURNING workflow_uuid`,
    journal: (before, batch) => sql`
      DELETE FROM journal WHERE (account_id, ciphertext_hash) IN (
        SELECT j.account_id, j.ciphertext_hash FROM journal j
        WHERE j.received_at < ${before}::timestamptz AND EXISTS (
          SELECT 1 FROM message m WHERE m.account_id = j.account_id AND m.wa_message_id = j.wa_message_id)
        LIMIT ${batch}) RETURNING 1`,
    oldKeys: (before, batch) => sql`
      DELETE FROM auth_key WHERE (account_id, generation, category, key_id) IN (
        SELECT k.account_id, k.generation, k.category, k.key_id
        FROM account a JOIN auth_key k ON k.account_id = a.id AND k.generation < a.auth_generation
        WHERE a.generation_at < ${before}::timestamptz LIMIT ${batch}) RETURNING 1`,
  },
  with: {
    text: [DELETE_EXCHANGES, QUESTIONS, RECEIVED_FILES],
    files: [RECEIVED_FILES],
    workflows: WORKFLOW_PARTS,
  },
  // The tables of durable work exist from the first task on.
  needs: { workflows: 'dbos.workflow_status' },
  always: [forgetGoneNodes, forgetReplyTokens, forgetNumberChecks],
};
