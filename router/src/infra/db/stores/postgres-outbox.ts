import sql, { empty, type Sql } from 'sql-template-tag';
import { parseJid } from '../../../core/chat-id.ts';
import { MediaError, StorageRejectedError } from '../../../core/errors.ts';
import type { Changes } from '../../../core/live/live-event.ts';
import { addressColumns } from '../../../core/messages/chat-identity.ts';
import type { ChatAddress } from '../../../core/messages/inbound-message.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import { type Said, say } from '../../../core/phrases.ts';
import type { FirstContact } from '../../../core/policies/governor.ts';
import type { MessageReceipt } from '../../../core/ports/chat-provider.ts';
import type { Fence } from '../../../core/ports/cluster.ts';
import type { StoreName } from '../../../core/ports/media.ts';
import {
  ACKNOWLEDGED_LATE,
  type DeadReplyReason,
  type DirectOptions,
  MAX_REFUSALS,
  type NumberToCheck,
  type Outbox,
  type OutboxRow,
  type OutboxState,
  type SentMessage,
} from '../../../core/ports/outbox.ts';
import { cleanText } from '../../../core/text.ts';
import type { QueuedReply } from '../../../core/turns/turn.ts';
import { FILE_CONTENT_CONTEXT } from '../encryption/secret-cipher.ts';
import type { Statements } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './postgres-account-lease.ts';
import {
  type Columns,
  OUTBOX_COLUMNS,
  queuedReply,
  REPLY_COLUMNS,
  type ReplyRow,
  storableId,
  storableJson,
  withoutNulls,
} from './rows.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

/** A reply has at most one dead letter: it is updated and open again when the reply fails again. */
const REOPEN_DEAD_LETTER = sql`
          ON CONFLICT ((coalesce(outbox_id, message_id))) DO UPDATE SET chat_id = excluded.chat_id,
            reason = excluded.reason, error = excluded.error, phrase = excluded.phrase, attempts = excluded.attempts, trace = excluded.trace,
            failed_at = now(), replayed_at = NULL, closed_at = NULL`;

/** Sets the error of a row and its phrase. */
function errorIs({ sentence, phrase }: Said): Sql {
  return sql`error = ${cleanText(sentence)}, phrase = ${storableJson(phrase)}::jsonb`;
}

/** True for a delayed row. A row sent before the server's clock was set back is not: its delay would be that much longer. */
const IS_DELAYED = sql`(delayed_until > now() AND coalesce(attempted_at <= now() + interval '1 minute', true))`;

/** An older row of its chat is `queued`. */
const IS_BEHIND = sql`EXISTS (
            SELECT 1 FROM outbox o WHERE o.account_id = outbox.account_id AND o.chat_id = outbox.chat_id
              AND o.id < outbox.id AND o.state = 'queued')`;

/** The person of chat `c` never wrote to the account. */
const IS_COLD = sql`(c.group_id IS NULL AND NOT EXISTS (
          SELECT 1 FROM message m WHERE m.chat_id = c.id
            AND (m.reason IS NULL OR m.reason NOT IN ('own-message', 'owner-message'))))`;

/** WhatsApp named a LID for the number: it has an account. */
const hasLid = (accountId: Sql, phone: Sql) => sql`EXISTS (
          SELECT 1 FROM lid_mapping l WHERE l.account_id = ${accountId} AND l.phone = ${phone})`;

/** What WhatsApp said about the number; null: nothing, or too long ago. */
const numberCheck = (accountId: Sql, phone: Sql) => sql`(
          SELECT n.is_on_whatsapp FROM number_check n WHERE n.account_id = ${accountId} AND n.phone = ${phone}
            AND n.checked_at > now() - CASE WHEN n.is_on_whatsapp THEN interval '30 days' ELSE interval '1 day' END)`;

/** Id, chat, account and new state of each row that moved, for live events. */
type Moved = Array<[id: string, chatId: string, accountId: string, state: OutboxState]>;

const MOVED_COLUMNS = sql`outbox.id, outbox.chat_id, outbox.account_id, outbox.state`;

/** Where the bytes of a file are. */
interface FileRow {
  bytes: Uint8Array | null;
  store: StoreName | null;
  location: string | null;
  content: Uint8Array | null;
}

interface OverdueRow extends ReplyRow {
  attempts: number;
  open_for_ms: number;
}

interface CheckRow {
  phone: string | null;
  isOnWhatsApp: boolean | null;
}

const RECEIPT_RANK: Record<MessageReceipt['state'], number> = { acked: 1, delivered: 2, read: 3 };

/**
 * The outbox in PostgreSQL. Every method is one statement whose WHERE clause contains the rule of moves, so two callers
 * can never move a row backward. Times are the database's, except those of receipts. Every node may add and read rows;
 * only the account's owner moves them, fenced by its lease.
 */
export class PostgresOutbox implements Outbox {
  readonly #postgres: Statements;
  readonly #fence: Fence | undefined;

  /** @param fence the lease of the one account whose rows are moved; without one moves are not fenced */
  constructor(postgres: Statements, fence?: Fence) {
    this.#postgres = postgres;
    this.#fence = fence;
  }

  async addDirect(
    message: OutgoingMessage,
    { idempotencyKey, byHand, file }: DirectOptions = {},
  ): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }> {
    const { phone, lid, groupId } = addressColumns(addressOf(message.to));
    const key = idempotencyKey === undefined ? null : storableId(idempotencyKey);
    const stored = file?.bytes && (await this.#postgres.files?.save(file.bytes));
    const bytes = file?.bytes && !stored ? Buffer.from(file.bytes) : null;
    return withStorage('storing a message to send', async () => {
      const [added] = await this.#postgres.query<{
        outcome: 'queued' | 'known' | 'conflict';
        outbox_id: bigint;
      }>(sql`SELECT outcome, outbox_id FROM outbox_add_direct(${message.accountId}, ${phone}, ${lid}, ${groupId},
          ${message.to}, ${storableId(message.waMessageId)}, ${cleanText(message.text)}, ${key},
          ${byHand?.pauseMs ?? null}::bigint, ${storableJson(message.special)}::jsonb, ${storableJson(message.quote)}::jsonb,
          ${storableJson(message.media)}::jsonb, ${bytes}::bytea,
          ${file?.source ?? null}, ${storableJson(message.mentions)}::jsonb, ${storableJson(stored)}::jsonb)`);
      if (!added) throw new Error('outbox_add_direct returned no row');
      const [row] = await this.#postgres.query<Columns<OutboxRow>>(sql`
        SELECT ${OUTBOX_COLUMNS}, o.text, o.error FROM outbox o WHERE o.id = ${added.outbox_id}::bigint`);
      if (!row) throw new Error('an added message has no row');
      const { changes } = this.#postgres;
      if (changes.isWanted && added.outcome === 'queued') {
        const { id, accountId, chatId } = row;
        changes.report({ type: 'reply', accountId, chatId, id, state: 'queued' });
        if (byHand) changes.report({ type: 'chat', accountId, chatId, id: chatId, change: 'takeover' });
      }
      return { outcome: added.outcome, row: withoutNulls(row) };
    });
  }

  async hasDirect(accountId: string, idempotencyKey: string): Promise<boolean> {
    const rows = await withStorage('looking for a message to send', () =>
      this.#postgres.query(sql`
        SELECT 1 FROM outbox
        WHERE account_id = ${accountId} AND idempotency_key = ${storableId(idempotencyKey)}`),
    );
    return rows.length > 0;
  }

  async undelivered(accountId: string, page: { limit: number; afterId?: string }): Promise<QueuedReply[]> {
    const rows = await this.#withoutDamaged(accountId, 'reading undelivered replies', () =>
      this.#postgres.query<ReplyRow>(sql`
        SELECT ${REPLY_COLUMNS} FROM outbox
        WHERE account_id = ${accountId} AND state IN ('queued', 'sending', 'sent')
          AND id > ${page.afterId ?? '0'}::bigint AND ${IS_DELAYED} IS NOT TRUE
        ORDER BY id LIMIT ${page.limit}::integer`),
    );
    return rows.map(queuedReply);
  }

  async queued(accountId: string, limit: number): Promise<QueuedReply[]> {
    const rows = await this.#withoutDamaged(accountId, 'reading queued replies', () =>
      this.#postgres.query<ReplyRow>(sql`
        SELECT ${REPLY_COLUMNS} FROM outbox
        WHERE account_id = ${accountId} AND state = 'queued' AND NOT EXISTS (
          SELECT 1 FROM outbox o WHERE o.account_id = outbox.account_id AND o.chat_id = outbox.chat_id
            AND o.id <= outbox.id AND o.state = 'queued' AND ${IS_DELAYED})
        ORDER BY id LIMIT ${limit}::integer`),
    );
    return rows.map(queuedReply);
  }

  /**
   * A row that was sent before stays `sent` while it is sent again. A row waits while an older one of its chat is
   * `queued`, because several nodes may write replies of one chat, and WhatsApp may refuse one for a time.
   */
  async markSending(outboxId: string): Promise<boolean> {
    const { moved } = await this.#move<{ moved: number }>('marking a reply as being sent', () =>
      this.#postgres.query(sql`
        WITH held AS MATERIALIZED (${this.#held()}), moved AS (
          UPDATE outbox SET attempts = attempts + 1, attempted_at = now(), delayed_until = NULL,
            state = CASE state WHEN 'sent' THEN 'sent' ELSE 'sending' END
          FROM held
          WHERE id = ${outboxId}::bigint AND state IN ('queued', 'sending', 'sent')
            AND ${IS_DELAYED} IS NOT TRUE AND NOT ${IS_BEHIND}
          RETURNING 1
        ), waiting AS (
          UPDATE outbox SET state = 'queued' FROM held
          WHERE id = ${outboxId}::bigint AND state IN ('sending', 'sent') AND ${IS_BEHIND}
        )
        SELECT (SELECT count(*)::integer FROM held) AS held, (SELECT count(*)::integer FROM moved) AS moved`),
    );
    return moved > 0;
  }

  async markSent(outboxId: string): Promise<void> {
    await this.#write(
      'marking a reply as sent',
      sql`moved AS (
          UPDATE outbox SET sent_at = coalesce(sent_at, now()), error = NULL,
            state = CASE WHEN state IN ('queued', 'sending') THEN 'sent' ELSE state END
          FROM held
          WHERE id = ${outboxId}::bigint AND state <> 'dead' AND delayed_until IS NULL
            AND (sent_at IS NULL OR state IN ('queued', 'sending'))
          RETURNING ${MOVED_COLUMNS}
        )`,
      sql`moved`,
    );
  }

  async setAlone(outboxId: string, runsAlone: boolean): Promise<void> {
    await this.#write(
      'storing that a reply is sent alone',
      sql`moved AS (
          UPDATE outbox SET runs_alone = ${runsAlone}::boolean FROM held WHERE id = ${outboxId}::bigint
        )`,
    );
  }

  async markDead(outboxId: string, error: Said, reason: DeadReplyReason = 'send-failed'): Promise<void> {
    await this.#write(
      'marking a reply as dead',
      sql`dead AS (
          UPDATE outbox SET state = 'dead', ${errorIs(error)} FROM held
          WHERE id = ${outboxId}::bigint AND state IN ('queued', 'sending', 'sent') RETURNING outbox.*
        ), recorded AS (
          INSERT INTO dead_letter (account_id, chat_id, message_id, outbox_id, reason, error, phrase, attempts)
          SELECT account_id, chat_id, message_id, id, ${reason}, error, phrase, attempts FROM dead ${REOPEN_DEAD_LETTER}
        )`,
      sql`dead`,
    );
  }

  async markRefused(
    accountId: string,
    waMessageId: string,
    error: Said,
    { delayMs, reason = 'send-refused' }: { delayMs?: number; reason?: DeadReplyReason } = {},
  ): Promise<void> {
    const waitMs = delayMs === undefined ? null : Math.round(delayMs);
    const isTemporary = sql`${waitMs}::bigint IS NOT NULL AND attempts < ${MAX_REFUSALS}`;
    await this.#write(
      'marking a reply as refused',
      sql`refused AS (
          UPDATE outbox SET ${errorIs(error)},
            delayed_until = CASE WHEN ${isTemporary} THEN now() + ${waitMs}::bigint * interval '1 millisecond' END,
            sent_at = CASE WHEN ${isTemporary} THEN NULL ELSE sent_at END,
            state = CASE WHEN ${isTemporary} THEN 'queued' ELSE 'dead' END
          FROM held
          WHERE account_id = ${accountId} AND wa_message_id = ${storableId(waMessageId)}
            AND state IN ('queued', 'sending', 'sent') RETURNING outbox.*
        ), recorded AS (
          INSERT INTO dead_letter (account_id, chat_id, message_id, outbox_id, reason, error, phrase, attempts)
          SELECT account_id, chat_id, message_id, id, ${reason}, error, phrase, attempts FROM refused
          WHERE state = 'dead' ${REOPEN_DEAD_LETTER}
        )`,
      sql`refused`,
    );
  }

  async refusedRow(
    accountId: string,
    waMessageId: string,
  ): Promise<{ attempts: number; isCold: boolean } | undefined> {
    const [row] = await withStorage('reading a refused message', () =>
      this.#postgres.query<{ attempts: number; isCold: boolean }>(sql`
        SELECT o.attempts, ${IS_COLD} AS "isCold" FROM outbox o JOIN chat c ON c.id = o.chat_id
        WHERE o.account_id = ${accountId} AND o.wa_message_id = ${storableId(waMessageId)}`),
    );
    return row;
  }

  async delay(outboxId: string, forMs: number, why: Said): Promise<void> {
    await this.#write(
      'delaying a reply',
      sql`moved AS (
          UPDATE outbox SET ${errorIs(why)}, state = 'queued', sent_at = NULL,
            delayed_until = now() + ${Math.round(forMs)}::bigint * interval '1 millisecond'
          FROM held WHERE id = ${outboxId}::bigint AND state IN ('queued', 'sending', 'sent') RETURNING ${MOVED_COLUMNS}
        )`,
      sql`moved`,
    );
  }

  async endDelays(accountId: string): Promise<void> {
    await this.#write(
      'ending the delays of replies',
      sql`moved AS (
          UPDATE outbox SET delayed_until = NULL FROM held
          WHERE account_id = ${accountId} AND state = 'queued' AND delayed_until IS NOT NULL
        )`,
    );
  }

  async isCold(outboxId: string): Promise<boolean> {
    const [row] = await withStorage('checking whether a chat has received messages', () =>
      this.#postgres.query<{ is_cold: boolean }>(sql`
        SELECT ${IS_COLD} AS is_cold
        FROM outbox o JOIN chat c ON c.id = o.chat_id WHERE o.id = ${outboxId}::bigint`),
    );
    return row?.is_cold ?? false;
  }

  async firstContact(outboxId: string): Promise<(FirstContact & { number?: NumberToCheck }) | undefined> {
    const [row] = await withStorage('reading the first contacts of an account', () =>
      this.#postgres.query<FirstContact & CheckRow>(sql`
        SELECT CASE WHEN c.lid IS NULL AND NOT ${hasLid(sql`c.account_id`, sql`c.phone`)} THEN c.phone END AS phone,
          ${numberCheck(sql`c.account_id`, sql`c.phone`)} AS "isOnWhatsApp",
          coalesce(extract(epoch FROM now() - a.created_at) * 1000, 0)::float8 AS "accountAgeMs",
          ARRAY(
            SELECT (extract(epoch FROM now() - p.first_contact_at) * 1000)::float8 FROM outbox p
            WHERE p.account_id = o.account_id AND p.first_contact_at > now() - interval '1 day'
          ) AS "earlierMs"
        FROM outbox o JOIN chat c ON c.id = o.chat_id LEFT JOIN account a ON a.id = o.account_id
        WHERE o.id = ${outboxId}::bigint AND o.message_id IS NULL AND o.first_contact_at IS NULL AND ${IS_COLD}
          -- The account itself ("message yourself") is nobody new.
          AND coalesce(c.phone <> a.phone, true) AND coalesce(c.lid <> a.lid, true)`),
    );
    if (!row) return undefined;
    const { accountAgeMs, earlierMs } = row;
    const number = numberToCheck(row);
    return { accountAgeMs, earlierMs, ...(number && { number }) };
  }

  async numberToCheck(
    accountId: string,
    to: string,
    idempotencyKey?: string,
  ): Promise<NumberToCheck | undefined> {
    const { phone } = addressColumns(addressOf(to));
    if (phone === null) return undefined;
    const key = idempotencyKey === undefined ? null : storableId(idempotencyKey);
    const [row] = await withStorage('reading what is known of a number', () =>
      this.#postgres.query<CheckRow>(sql`
        SELECT ${phone}::text AS phone, ${numberCheck(sql`${accountId}::text`, sql`${phone}::text`)} AS "isOnWhatsApp"
        WHERE NOT ${hasLid(sql`${accountId}::text`, sql`${phone}::text`)}
          AND NOT EXISTS (SELECT 1 FROM account a WHERE a.id = ${accountId} AND a.phone = ${phone})
          AND NOT EXISTS (
            SELECT 1 FROM chat c WHERE c.account_id = ${accountId} AND c.phone = ${phone}
              AND (c.lid IS NOT NULL OR NOT ${IS_COLD}))
          AND NOT EXISTS (
            SELECT 1 FROM outbox o WHERE o.account_id = ${accountId} AND o.idempotency_key = ${key})`),
    );
    return row && numberToCheck(row);
  }

  async keepNumberCheck(accountId: string, phone: string, isOnWhatsApp: boolean): Promise<void> {
    await this.#write(
      'storing whether a number has an account',
      sql`kept AS (
          INSERT INTO number_check (account_id, phone, is_on_whatsapp, checked_at)
          SELECT ${accountId}, ${phone}, ${isOnWhatsApp}::boolean, now() FROM held
          ON CONFLICT (account_id, phone) DO UPDATE SET is_on_whatsapp = excluded.is_on_whatsapp,
            checked_at = excluded.checked_at
        )`,
    );
  }

  async isUnasked(outboxId: string): Promise<boolean> {
    const rows = await withStorage('reading when a chat was active', () =>
      this.#postgres.query(sql`
        SELECT o.id FROM outbox o JOIN chat c ON c.id = o.chat_id LEFT JOIN account a ON a.id = o.account_id
        WHERE o.id = ${outboxId}::bigint AND o.message_id IS NULL AND NOT o.by_hand
          AND coalesce(c.phone <> a.phone, true) AND coalesce(c.lid <> a.lid, true)
          AND coalesce((
            SELECT m.received_at <= now() - interval '24 hours' FROM message m
            WHERE m.chat_id = c.id AND (m.reason IS NULL OR m.reason NOT IN ('own-message', 'owner-message'))
            ORDER BY m.stanza_order DESC LIMIT 1), true)`),
    );
    return rows.length > 0;
  }

  async countFirstContact(outboxId: string): Promise<void> {
    await this.#write(
      'counting a first contact',
      sql`moved AS (
          UPDATE outbox SET first_contact_at = coalesce(first_contact_at, now()) FROM held
          WHERE id = ${outboxId}::bigint
        )`,
    );
  }

  async endDelaysOf(chatId: string): Promise<void> {
    await this.#write(
      'ending the delays of a chat',
      sql`moved AS (
          UPDATE outbox SET delayed_until = NULL FROM held
          WHERE chat_id = ${chatId}::bigint AND state = 'queued' AND delayed_until IS NOT NULL
        )`,
    );
  }

  async overdue(
    accountId: string,
    page: { ackTimeoutMs: number; limit: number },
  ): Promise<Array<{ reply: QueuedReply; attempts: number; openForMs: number }>> {
    const why = say('send.again', { ms: page.ackTimeoutMs });
    const look = 'reading unacknowledged replies';
    const { rows } = await this.#withoutDamaged(accountId, look, () =>
      this.#move<{ rows: OverdueRow[] | null }>(look, () =>
        this.#postgres.query(sql`
        WITH held AS MATERIALIZED (${this.#held()}), late AS (
          UPDATE outbox SET ${errorIs(why)} FROM held
          WHERE id IN (
            SELECT o.id FROM outbox o WHERE o.account_id = ${accountId} AND o.state IN ('sending', 'sent')
              AND (o.attempted_at <= now() - ${page.ackTimeoutMs}::integer * interval '1 millisecond'
                -- sent before the server's clock was set back
                OR o.attempted_at > now() + interval '1 minute')
            ORDER BY o.id LIMIT ${page.limit}::integer)
            AND state IN ('sending', 'sent')
          RETURNING outbox.id, ${REPLY_COLUMNS}, attempts,
            (extract(epoch FROM now() - coalesce(sent_at, queued_at)) * 1000)::bigint AS open_for_ms
        )
        SELECT (SELECT count(*)::integer FROM held) AS held,
          (SELECT json_agg(to_json(late.*) ORDER BY late.id) FROM late) AS rows`),
      ),
    );
    return (rows ?? []).map((row) => ({
      reply: queuedReply(row),
      attempts: row.attempts,
      openForMs: row.open_for_ms,
    }));
  }

  async release(outboxId: string, reason: Said): Promise<void> {
    await this.#write(
      'queueing a reply again',
      sql`moved AS (
          UPDATE outbox SET ${errorIs(reason)},
            state = CASE state WHEN 'sending' THEN 'queued' ELSE state END
          FROM held WHERE id = ${outboxId}::bigint AND state IN ('queued', 'sending', 'sent') RETURNING ${MOVED_COLUMNS}
        )`,
      sql`moved`,
    );
  }

  /**
   * Fills the times that a receipt implies: a read message was delivered and acknowledged. A dead letter of the row
   * counts as replayed.
   */
  async recordReceipts(accountId: string, receipts: MessageReceipt[]): Promise<void> {
    if (receipts.length === 0) return;
    const waIds = receipts.map((receipt) => storableId(receipt.waMessageId));
    const ranks = receipts.map((receipt) => RECEIPT_RANK[receipt.state]);
    const times = receipts.map((receipt) => String(Math.trunc(receipt.atMs)));
    const from = receipts.map((receipt) => receipt.from && addressColumns(receipt.from));
    const phones = from.map((address) => address?.phone ?? null);
    const lids = from.map((address) => address?.lid ?? null);
    const groupIds = from.map((address) => address?.groupId ?? null);
    await this.#write(
      'storing receipts',
      sql`receipt AS (
          SELECT o.id, max(r.rank) AS rank,
            to_timestamp(min(r.at_ms) / 1000.0) AS acked_at,
            to_timestamp(min(r.at_ms) FILTER (WHERE r.rank >= 2) / 1000.0) AS delivered_at,
            to_timestamp(min(r.at_ms) FILTER (WHERE r.rank >= 3) / 1000.0) AS read_at
          FROM unnest(${waIds}::text[], ${ranks}::integer[], ${times}::bigint[], ${phones}::text[], ${lids}::text[],
                      ${groupIds}::text[]) AS r (wa_id, rank, at_ms, phone, lid, group_id)
          -- A limit for each receipt: without statistics a join would read the whole outbox of the account.
          CROSS JOIN LATERAL (
            SELECT f.id, f.chat_id FROM outbox f
            WHERE f.account_id = ${accountId} AND f.wa_message_id = r.wa_id LIMIT 1) AS o
          JOIN chat c ON c.id = o.chat_id
          WHERE coalesce(r.phone, r.lid, r.group_id) IS NULL
            OR r.phone = c.phone OR r.lid = c.lid OR r.group_id = c.group_id
          GROUP BY o.id
        ), target AS (
          SELECT o.chat_id, o.state AS was, receipt.*
          FROM outbox o JOIN receipt ON o.id = receipt.id
          ORDER BY o.id FOR UPDATE OF o
        ), closed AS (
          UPDATE dead_letter d SET replayed_at = now(), error = d.error || ${ACKNOWLEDGED_LATE},
            phrase = jsonb_build_object('code', 'send.acknowledged-late',
              'values', jsonb_build_object('error', coalesce(d.phrase, to_jsonb(d.error))))
          FROM target t, held
          WHERE t.was = 'dead' AND d.chat_id = t.chat_id AND d.outbox_id = t.id AND d.replayed_at IS NULL
        ), moved AS (
          UPDATE outbox o SET
            state = CASE
              WHEN t.rank >= 3 OR o.state = 'read' THEN 'read'
              WHEN t.rank >= 2 OR o.state = 'delivered' THEN 'delivered'
              ELSE 'acked' END,
            error = NULL, delayed_until = NULL,
            -- WhatsApp's times are whole seconds: never before the reply was queued and sent. greatest() ignores NULL.
            sent_at = coalesce(o.sent_at, greatest(t.acked_at, o.queued_at)),
            acked_at = coalesce(o.acked_at, greatest(t.acked_at, o.sent_at, o.queued_at)),
            delivered_at = coalesce(o.delivered_at,
              CASE WHEN t.rank >= 2 THEN greatest(t.delivered_at, o.sent_at, o.queued_at) END),
            read_at = coalesce(o.read_at, CASE WHEN t.rank >= 3 THEN greatest(t.read_at, o.sent_at, o.queued_at) END)
          FROM target t, held WHERE o.id = t.id
          RETURNING o.id, o.chat_id, o.account_id, o.state, t.was
        ), changed AS (
          SELECT * FROM moved WHERE was <> state
        )`,
      sql`changed`,
    );
  }

  async findByWaId(accountId: string, waMessageId: string): Promise<SentMessage | undefined> {
    const [row] = await withStorage('reading a sent message', () =>
      this.#postgres.query<ReplyRow & { content: Uint8Array | null }>(sql`
        SELECT ${REPLY_COLUMNS}, content
        FROM outbox LEFT JOIN outbox_file f ON f.outbox_id = outbox.id
        WHERE account_id = ${accountId} AND wa_message_id = ${storableId(waMessageId)}`),
    );
    if (!row) return undefined;
    return { message: queuedReply(row).message, ...(row.content && { content: this.#open(row.content) }) };
  }

  async fileOf(outboxId: string): Promise<{ bytes: Uint8Array; content?: Uint8Array } | undefined> {
    const [row] = await withStorage("reading a reply's file", () =>
      this.#postgres.query<FileRow>(sql`
        SELECT bytes, store, location, content FROM outbox_file WHERE outbox_id = ${outboxId}::bigint`),
    );
    const bytes = row && (await this.#bytesOf(row));
    return bytes && { bytes, ...(row.content && { content: this.#open(row.content) }) };
  }

  async keepContent(outboxId: string, content: Uint8Array): Promise<Uint8Array> {
    const bytes = Buffer.from(this.#postgres.secrets.sealBytes(content, FILE_CONTENT_CONTEXT));
    const { kept } = await this.#move<{ kept: Uint8Array | null }>(
      'storing the uploaded file of a reply',
      () =>
        this.#postgres.query(sql`
        WITH held AS MATERIALIZED (${this.#held()}), kept AS (
          UPDATE outbox_file SET content = coalesce(content, ${bytes}::bytea) FROM held
          WHERE outbox_id = ${outboxId}::bigint RETURNING content
        )
        SELECT (SELECT count(*)::integer FROM held) AS held, (SELECT content FROM kept) AS kept`),
    );
    return kept ? this.#open(kept) : content;
  }

  /** Undefined: the file was removed because of its age. */
  async #bytesOf({ bytes, store, location }: FileRow): Promise<Uint8Array | undefined> {
    if (store === null || location === null) return bytes ?? undefined;
    const { files } = this.#postgres;
    if (files) return files.load({ store, location });
    throw new MediaError('MEDIA_UNAVAILABLE', say('media.store-unknown'));
  }

  #open(content: Uint8Array): Uint8Array {
    return this.#postgres.secrets.openBytes(content, FILE_CONTENT_CONTEXT);
  }

  /**
   * A row that cannot be read makes its whole page unreadable: it is found, marked as dead, and the page is read again.
   */
  async #withoutDamaged<T>(accountId: string, what: string, read: () => Promise<T>): Promise<T> {
    try {
      return await withStorage(what, read);
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const rows = await withStorage(what, () =>
      this.#postgres.query<{ id: string }>(sql`
        SELECT id::text FROM outbox WHERE account_id = ${accountId} AND state IN ('queued', 'sending', 'sent')`),
    );
    for (const { id } of rows) await this.#endIfDamaged(id);
    return withStorage(what, read);
  }

  async #endIfDamaged(outboxId: string): Promise<void> {
    try {
      await withStorage('reading one reply', () =>
        this.#postgres.query(sql`SELECT md5(text) FROM outbox WHERE id = ${outboxId}::bigint`),
      );
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
      await this.markDead(outboxId, error.said, 'damaged');
    }
  }

  /**
   * Runs a statement that changes rows if the lease is valid: a list of CTEs, which join `held`.
   * @param moved the CTE whose rows live events report
   */
  async #write(what: string, changes: Sql, moved?: Sql): Promise<void> {
    const isReported = moved !== undefined && this.#postgres.changes.isWanted;
    const reported = isReported
      ? sql`, (SELECT json_agg(json_build_array(id::text, chat_id::text, account_id, state)) FROM ${moved}) AS moved`
      : empty;
    const row = await this.#move<{ moved?: Moved | null }>(what, () =>
      this.#postgres.query(sql`
        WITH held AS MATERIALIZED (${this.#held()}), ${changes} SELECT count(*)::integer AS held${reported} FROM held`),
    );
    for (const [id, chatId, accountId, state] of row.moved ?? []) {
      this.#postgres.changes.report({ type: 'delivery', accountId, chatId, id, state });
      if (state === 'dead') {
        this.#postgres.changes.report({
          type: 'dead-letter',
          accountId,
          chatId,
          outboxId: id,
          change: 'added',
        });
      }
    }
  }

  #held(): Sql {
    const { owner, epoch } = fenceOf(this.#fence);
    return sql`SELECT * FROM lease_held(${this.#fence?.accountId ?? ''}, ${owner}, ${epoch}::bigint)`;
  }

  /** @throws {LeaseLostError} in addition to the errors of withStorage */
  #move<Row>(what: string, write: () => Promise<unknown>): Promise<Row & HeldRow> {
    return underFence(this.#fence, what, async () => (await write()) as Array<Row & HeldRow>);
  }
}

/** @throws {StorageRejectedError} the JID is neither a person nor a group */
function addressOf(jid: string): ChatAddress {
  const address = parseJid(jid);
  switch (address?.kind) {
    case 'phone':
      return { kind: 'person', phone: address.phone };
    case 'lid':
      return { kind: 'person', lid: address.lid };
    case 'group':
      return { kind: 'group', groupId: address.groupId };
    default:
      throw new StorageRejectedError(say('send.bad-address'));
  }
}

function numberToCheck({ phone, isOnWhatsApp }: CheckRow): NumberToCheck | undefined {
  return phone === null ? undefined : { phone, ...(isOnWhatsApp !== null && { isOnWhatsApp }) };
}

/** Reports replies that were stored to be sent. */
export function reportReplies(
  changes: Pick<Changes, 'isWanted' | 'report'>,
  replies: readonly QueuedReply[],
): void {
  if (!changes.isWanted) return;
  for (const { outboxId, chatId, messageId, message } of replies) {
    const { accountId } = message;
    changes.report({ type: 'reply', accountId, chatId, id: outboxId, messageId, state: 'queued' });
  }
}
