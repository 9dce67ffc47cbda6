import sql from 'sql-template-tag';
import { cleanText } from '../../../core/clean-text.ts';
import {
  addressColumns,
  pendingTurn,
  replyToOf,
  type StoredTurn,
} from '../../../core/messages/chat-identity.ts';
import type { InboundMessage } from '../../../core/messages/inbound-message.ts';
import type { Fence, Lease } from '../../../core/ports/account-lease.ts';
import type { ChatClaim, CountOptions, Inbox, OpenChat, Stored } from '../../../core/ports/inbox.ts';
import type { FinishedTurn, PendingTurn, TurnResult } from '../../../core/turns/turn.ts';
import { MEDIA_REF_CONTEXT } from '../encryption/secret-columns.ts';
import type { Postgres } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './fence.ts';
import { filesJson, mediaColumns } from './media-columns.ts';
import { queuedReply, type ReplyRow } from './rows.ts';
import { storableId, storableJson, storableOrNull } from './storable-text.ts';
import { withStorage } from './storage-errors.ts';

interface StoredRow extends HeldRow {
  outcome: 'stored' | 'known';
  message_id: string;
  chat_id: string;
  worker_node: string | null;
  worker_epoch: number;
  is_new_worker: boolean;
  next_turn: {
    sender_phone: string | null;
    sender_lid: string | null;
    chat_phone: string | null;
    chat_lid: string | null;
    received_at_ms: number;
    replied_at_ms: number | null;
    is_paused?: boolean;
  } | null;
}

/** A turn without replies has one row, with nothing but `is_claimed`. */
type EndRow = { is_claimed: boolean } & (
  | (Omit<ReplyRow, 'message_id'> & { is_sending: boolean })
  | { outbox_id: null }
);

/**
 * The inbox in PostgreSQL. Each method is one statement, and so one round trip and one transaction. The functions in
 * prisma/functions/inbox.sql describe their locks and order.
 * @throws {StorageUnavailableError} nothing was changed
 * @throws {StorageRejectedError} a value that the database never accepts
 */
export class PostgresInbox implements Inbox {
  readonly #postgres: Postgres;
  readonly #fence: Fence | undefined;

  /** @param fence the lease that every message is added under; without one they are not fenced */
  constructor(postgres: Postgres, fence?: Fence) {
    this.#postgres = postgres;
    this.#fence = fence;
  }

  /**
   * The text of a message that is stored and never answered is not kept.
   * @throws {LeaseLostError} nothing was stored
   */
  async add(message: InboundMessage, node: string): Promise<Stored> {
    const { accountId } = message;
    const { owner, epoch } = fenceOf(this.#fence);
    const { phone, lid, groupId } = addressColumns(message.chat);
    const { sender, ignoredReason } = message;
    const text = ignoredReason === undefined ? cleanText(message.text) : '';
    const quotedText = ignoredReason === undefined ? storableOrNull(message.quotedText) : null;
    const media = ignoredReason === undefined ? mediaColumns(message.media) : undefined;
    const mediaRef = media ? this.#postgres.secrets.sealText(media.reference, MEDIA_REF_CONTEXT) : null;
    const editOf = message.editOf === undefined ? null : storableId(message.editOf);
    const pushName = storableOrNull(sender.pushName);
    const waMessageId = storableId(message.waMessageId);
    const replyTo = replyToOf(message);
    const sentAtMs = Math.trunc(message.sentAtMs);
    const row = await underFence(this.#fence, 'storing a message', () =>
      this.#postgres.query<StoredRow>(sql`
        SELECT 1 AS held, outcome, message_id::text, chat_id::text, worker_node, worker_epoch, is_new_worker, next_turn
        FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint) AS lease (is_held), LATERAL inbox_add(
          CASE WHEN is_held THEN ${accountId} END, ${waMessageId}, ${phone}, ${lid}, ${groupId},
          ${replyTo}, ${sender.phone ?? null}, ${sender.lid ?? null}, ${pushName}, ${message.kind}, ${text}, ${quotedText}, ${editOf},
          ${storableOrNull(ignoredReason)}, ${sentAtMs}::bigint,
          ${String(message.stanzaOrder)}::bigint, ${storableJson(media?.info)}::jsonb,
          ${mediaRef}, ${node}, ${storableJson(ignoredReason === undefined ? message.mentions : undefined)}::jsonb)`),
    );
    return {
      outcome: row.outcome,
      messageId: row.message_id,
      chatId: row.chat_id,
      ...(row.worker_node !== null && {
        worker: { chatId: row.chat_id, node: row.worker_node, epoch: row.worker_epoch },
      }),
      isNewWorker: row.is_new_worker,
      // A file and names of mentioned people are read back from the row alone.
      ...(row.next_turn &&
        !media &&
        !message.mentions && {
          turn: pendingTurn({
            messageId: row.message_id,
            chatId: row.chat_id,
            accountId,
            waMessageId,
            senderPhone: row.next_turn.sender_phone,
            senderLid: row.next_turn.sender_lid,
            pushName,
            kind: message.kind,
            text,
            quotedText,
            editOf,
            sentAtMs,
            chat: { phone: row.next_turn.chat_phone, lid: row.next_turn.chat_lid, groupId },
            replyTo,
            receivedAtMs: row.next_turn.received_at_ms,
            repliedAtMs: row.next_turn.replied_at_ms ?? undefined,
            isPaused: row.next_turn.is_paused,
          }),
        }),
    };
  }

  async nextTurn({ chatId, node, epoch }: ChatClaim): Promise<PendingTurn | undefined> {
    const [row] = await withStorage('reading the next message of a chat', () =>
      this.#postgres.query<StoredTurn>(sql`
        SELECT message_id::text AS "messageId", ${chatId}::text AS "chatId", account_id AS "accountId",
               wa_message_id AS "waMessageId", sender_phone AS "senderPhone", sender_lid AS "senderLid",
               push_name AS "pushName", kind, text, quoted_text AS "quotedText", media, reply_to AS "replyTo", attempts,
               json_build_object('phone', chat_phone, 'lid', chat_lid, 'groupId', group_id) AS chat,
               (SELECT e.edit_of FROM message e WHERE e.id = message_id) AS "editOf",
               (SELECT e.mentions FROM message e WHERE e.id = message_id) AS mentions,
               (SELECT e.attempts > e.cleared_attempts FROM message e WHERE e.id = message_id) AS "mayHaveRun",
               (SELECT is_paused(c) FROM chat c WHERE c.id = ${chatId}::bigint) AS "isPaused",
               (extract(epoch FROM sent_at) * 1000)::bigint::float8 AS "sentAtMs",
               (extract(epoch FROM received_at) * 1000)::bigint::float8 AS "receivedAtMs",
               (extract(epoch FROM replied_at) * 1000)::bigint::float8 AS "repliedAtMs"
        FROM inbox_next_turn(${chatId}::bigint, ${node}, ${epoch}::integer, true)`),
    );
    return row && pendingTurn(row);
  }

  async countAttempt(
    messageId: string,
    attempt: number,
    { isDurable = false, didNotRun = false }: CountOptions = {},
  ): Promise<{ stored: Promise<void> }> {
    const what = 'counting an attempt';
    // Unless it must be durable, without waiting for the disk: only a crash of the database server itself can lose it.
    const { done } = await withStorage(what, () =>
      this.#postgres.post(sql`
        UPDATE message SET attempts = greatest(attempts, ${attempt}::integer),
          cleared_attempts = greatest(cleared_attempts, ${didNotRun ? attempt : 0}::integer)
        FROM (SELECT set_config('synchronous_commit', ${isDurable ? 'on' : 'off'}, true)) AS relaxed
        WHERE id = ${messageId}::bigint`),
    );
    const stored = withStorage(what, () => done);
    stored.catch(() => undefined); // the caller awaits it later
    return { stored };
  }

  async finishTurn(
    messageId: string,
    result: TurnResult,
    { claim, lease }: { claim?: ChatClaim; lease?: Lease } = {},
  ): Promise<FinishedTurn> {
    const { owner, epoch } = fenceOf(lease);
    const to = result.replies.map((reply) => reply.to);
    const waIds = result.replies.map((reply) => storableId(reply.waMessageId));
    const texts = result.replies.map((reply) => cleanText(reply.text));
    const rows = await withStorage('ending a turn', () =>
      this.#postgres.query<EndRow>(sql`
        WITH reply AS MATERIALIZED (SELECT * FROM inbox_finish_turn(
          ${messageId}::bigint, ${result.state}, ${storableOrNull(result.reason)},
          ${storableOrNull(result.error)}, ${result.routeId ?? null}, ${result.attempts ?? null}::integer,
          ${wholeMs(result.agentMs)}::integer, ${storableJson(result.trace)}::jsonb,
          ${to}::text[], ${waIds}::text[], ${texts}::text[], ${filesJson(result.replies)}::jsonb,
          ${owner}, ${epoch}::bigint))
        SELECT is_claimed, outbox_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media, is_sending
        FROM inbox_release(${claim?.chatId ?? null}::bigint, ${claim?.node ?? null}, ${claim?.epoch ?? null}::integer,
          (SELECT count(*) FROM reply)) AS end_of_turn (is_claimed) LEFT JOIN reply ON true ORDER BY reply.outbox_id`),
    );
    return {
      replies: rows.flatMap((row) => {
        if (row.outbox_id === null) return [];
        const reply = queuedReply({ ...row, message_id: messageId });
        return [row.is_sending ? { ...reply, isSending: true as const } : reply];
      }),
      isClaimed: rows[0]?.is_claimed ?? false,
    };
  }

  async deadLetterUnreadable(
    { chatId, node, epoch }: ChatClaim,
    why: { reason: string; error: string },
  ): Promise<string | undefined> {
    const [row] = await withStorage('ending a turn that cannot be read', () =>
      this.#postgres.query<{ message_id: string | null }>(sql`
        SELECT inbox_dead_letter_unreadable(${chatId}::bigint, ${node}, ${epoch}::integer,
          ${cleanText(why.reason)}, ${cleanText(why.error)})::text AS message_id`),
    );
    return row?.message_id ?? undefined;
  }

  async mediaReference(messageId: string): Promise<string | undefined> {
    const [row] = await withStorage("reading the reference of a message's file", () =>
      this.#postgres.query<{ media_ref: string | null }>(sql`
        SELECT media_ref FROM message WHERE id = ${messageId}::bigint`),
    );
    const stored = row?.media_ref ?? undefined;
    return stored && this.#postgres.secrets.openText(stored, MEDIA_REF_CONTEXT);
  }

  async openChats(exceptNodes: readonly string[]): Promise<OpenChat[]> {
    const rows = await withStorage('reading unanswered chats', () =>
      this.#postgres.query<{ chat_id: string; worker_node: string | null; worker_epoch: number }>(sql`
        SELECT id::text AS chat_id, worker_node, worker_epoch FROM chat
        WHERE id IN (SELECT chat_id FROM message WHERE state = 'received')
          AND (worker_node IS NULL OR worker_node <> ALL (${[...exceptNodes]}::text[]))
        ORDER BY id`),
    );
    return rows.map((row) => ({
      chatId: row.chat_id,
      ...(row.worker_node !== null && { node: row.worker_node }),
      epoch: row.worker_epoch,
    }));
  }

  async claimChats(
    chats: ReadonlyArray<Pick<OpenChat, 'chatId' | 'epoch'>>,
    node: string,
  ): Promise<ChatClaim[]> {
    const rows = await withStorage('claiming chats', () =>
      this.#postgres.query<{ chat_id: string; worker_epoch: number }>(sql`
        UPDATE chat c SET worker_node = ${node}, worker_epoch = c.worker_epoch + 1
        FROM unnest(${chats.map(({ chatId }) => chatId)}::bigint[],
                    ${chats.map(({ epoch }) => epoch)}::integer[]) AS known (id, epoch)
        WHERE c.id = known.id AND c.worker_epoch = known.epoch
        RETURNING c.id::text AS chat_id, c.worker_epoch`),
    );
    return rows.map((row) => ({ chatId: row.chat_id, node, epoch: row.worker_epoch }));
  }
}

function wholeMs(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.min(Math.max(Math.round(ms), 0), 2_147_483_647);
}
