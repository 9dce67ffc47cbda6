import sql, { empty } from 'sql-template-tag';
import type { ErrorCode } from '../../../core/errors.ts';
import {
  addressColumns,
  pendingTurn,
  replyToOf,
  type StoredDetails,
  type StoredTurn,
} from '../../../core/messages/chat-identity.ts';
import type { InboundMedia, InboundMessage } from '../../../core/messages/inbound-message.ts';
import type { MediaInfo, NoTranscript } from '../../../core/models.ts';
import type { Phrase } from '../../../core/phrases.ts';
import { GROUP_EVENT } from '../../../core/policies/access.ts';
import type { Access } from '../../../core/policies/conversation-fields.ts';
import type { Fence } from '../../../core/ports/cluster.ts';
import type {
  ChatClaim,
  ChatToClaim,
  CountOptions,
  EndOptions,
  Inbox,
  OpenChat,
  OriginalMessage,
  Stored,
  StoredPart,
} from '../../../core/ports/inbox.ts';
import { cleanText } from '../../../core/text.ts';
import type {
  FinishedTurn,
  NewReply,
  PendingTurn,
  QueuedReply,
  TurnResult,
} from '../../../core/turns/turn.ts';
import { MEDIA_REF_CONTEXT, MESSAGE_SECRET_CONTEXT } from '../encryption/secret-cipher.ts';
import type { Postgres, Statements } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './postgres-account-lease.ts';
import { filesJson } from './postgres-message-files.ts';
import { reportReplies } from './postgres-outbox.ts';
import {
  queuedReply,
  REPLY_COLUMNS,
  type ReplyRow,
  storableId,
  storableJson,
  storableOrNull,
} from './rows.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';
import { packExchanges } from './stored-exchanges.ts';

/** A row of `inbox_add`, as `STORED` selects it. */
export interface StoredRow extends HeldRow {
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
    chat_username: string | null;
    chat_lid: string | null;
    received_at_ms: number;
    replied_at_ms: number | null;
    policy_state: unknown;
    is_paused?: boolean | null;
    is_approving?: boolean | null;
    is_in_loop?: boolean | null;
    details: StoredDetails | null;
    access?: Access | null;
  } | null;
  changed: string | null;
}

/** A turn without replies has one row, with nothing but `is_claimed`. */
type EndRow = { is_claimed: boolean } & (
  | (Omit<ReplyRow, 'message_id'> & { is_sending: boolean })
  | { outbox_id: null }
);

/** The columns of a StoredRow but `held`, of `inbox_add`. */
export const STORED = sql`outcome, message_id::text, chat_id::text, worker_node, worker_epoch, is_new_worker, next_turn,
  changed::text`;

/** A turn, except for when the chat had its last reply; `m` and `c` are rows of message and chat. */
const TURN = sql`
  (m).id::text AS "messageId", (c).id::text AS "chatId", (m).account_id AS "accountId",
  (m).wa_message_id AS "waMessageId", (m).sender_phone AS "senderPhone", (m).sender_lid AS "senderLid",
  (m).push_name AS "pushName", (m).kind, (m).text, (m).quoted_text AS "quotedText", (m).media,
  (m).edit_of AS "editOf", (m).mentions, (m).to_us AS "toUs", (m).view_once AS "viewOnce", (m).details,
  (m).edits, (m).edit_id AS "editId", (m).merged_into::text AS "mergedInto",
  (m).attempts, (m).attempts > (m).cleared_attempts AS "mayHaveRun", (m).suspicion,
  json_build_object('phone', (c).phone, 'lid', (c).lid, 'groupId', (c).group_id, 'username', (c).username) AS chat,
  (c).reply_to AS "replyTo", (c).policy_state AS "chatState", access_of(c) AS access,
  pause_mode_of(c) = 'listen-only' AS "isPaused", pause_mode_of(c) = 'approve' AS "isApproving",
  pause_mode_of(c) = 'auto-reply-loop' AS "isInLoop",
  (extract(epoch FROM (m).sent_at) * 1000)::bigint::float8 AS "sentAtMs",
  (extract(epoch FROM (m).received_at) * 1000)::bigint::float8 AS "receivedAtMs"`;

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

  /** @throws {LeaseLostError} nothing was stored */
  async add(message: InboundMessage, node: string): Promise<Stored> {
    const { owner, epoch } = fenceOf(this.#fence);
    const { document, storedOf } = messageDocument(this.#postgres, message);
    const row = await underFence(this.#fence, 'storing a message', () =>
      this.#postgres.query<StoredRow>(sql`
        SELECT 1 AS held, ${STORED}
        FROM lease_held(${message.accountId}, ${owner}, ${epoch}::bigint) AS lease (is_held),
          LATERAL inbox_add(CASE WHEN is_held THEN ${document}::jsonb END, ${node})`),
    );
    return storedOf(row);
  }

  async original(
    { accountId, chat, sender }: Pick<InboundMessage, 'accountId' | 'chat' | 'sender'>,
    waMessageId: string,
  ): Promise<OriginalMessage | undefined> {
    const { phone, lid, groupId } = addressColumns(chat);
    const [row] = await withStorage('reading the message that an edit names', () =>
      this.#postgres.query<{
        phone: string | null;
        lid: string | null;
        secret: Uint8Array | null;
        is_of_sender: boolean;
        is_decrypted: boolean;
      }>(sql`
        SELECT (m).sender_phone AS phone, (m).sender_lid AS lid, (m).secret, is_of_sender,
          (m).kind <> 'undecryptable' AS is_decrypted
        FROM inbox_original(${accountId}, ${storableId(waMessageId)}, ${phone}, ${lid}, ${groupId},
          ${sender.phone ?? null}, ${sender.lid ?? null})`),
    );
    if (!row) return undefined;
    const secret = row.secret && this.#openSecret(row.secret);
    return {
      sender: {
        ...(row.phone !== null && { phone: row.phone }),
        ...(row.lid !== null && { lid: row.lid }),
      },
      isOfSender: row.is_of_sender,
      isDecrypted: row.is_decrypted,
      ...(secret && { secret }),
    };
  }

  /** A damaged secret is as good as none: the edit must end with a reason. */
  #openSecret(stored: Uint8Array): Uint8Array | undefined {
    try {
      return this.#postgres.secrets.openBytes(stored, MESSAGE_SECRET_CONTEXT);
    } catch (error) {
      if (error instanceof StorageDamagedError) return undefined;
      throw error;
    }
  }

  async nextTurn({ chatId, node, epoch }: ChatClaim): Promise<PendingTurn | undefined> {
    const [row] = await withStorage('reading the next message of a chat', () =>
      this.#postgres.query<StoredTurn>(sql`
        SELECT ${TURN},
               (extract(epoch FROM replied_at) * 1000)::bigint::float8 AS "repliedAtMs"
        FROM inbox_next_turn(${chatId}::bigint, ${node}, ${epoch}::integer, true)`),
    );
    return row && pendingTurn(row);
  }

  async waiting(chatId: string, limit: number): Promise<{ turns: PendingTurn[]; nowMs: number }> {
    const rows = await withStorage('reading the unanswered messages of a chat', () =>
      this.#postgres.query<StoredTurn & { nowMs: number }>(sql`
        SELECT ${TURN},
               (SELECT (extract(epoch FROM o.queued_at) * 1000)::bigint::float8 FROM outbox o
                WHERE o.chat_id = c.id ORDER BY o.id DESC LIMIT 1) AS "repliedAtMs",
               (extract(epoch FROM now()) * 1000)::bigint::float8 AS "nowMs"
        FROM message m JOIN chat c ON c.id = m.chat_id
        WHERE m.chat_id = ${chatId}::bigint AND m.state = 'received'
        ORDER BY m.stanza_order, m.id LIMIT ${limit}::integer`),
    );
    return { turns: rows.map(pendingTurn), nowMs: rows[0]?.nowMs ?? 0 };
  }

  async countAttempt(
    messageId: string,
    attempt: number,
    { isDurable = false, didNotRun = false, edits = 0, merged = [] }: CountOptions = {},
  ): Promise<{ stored: Promise<void> }> {
    const what = 'counting an attempt';
    // Unless it must be durable, without waiting for the disk: only a crash of the database server itself can lose it.
    const lines = sql`WITH lines AS (
        UPDATE message SET merged_into = ${messageId}::bigint
        WHERE id = ANY (${merged.map((line) => line.messageId)}::bigint[]) AND state = 'received')`;
    const { done } = await withStorage(what, () =>
      this.#postgres.post(sql`
        ${merged.length > 0 ? lines : empty} UPDATE message SET attempts = greatest(attempts, ${attempt}::integer),
          cleared_attempts = greatest(cleared_attempts, ${didNotRun ? attempt : 0}::integer),
          edit_id = CASE WHEN edits > ${edits}::integer THEN coalesce(edit_id, newest_edit(message)) ELSE edit_id END
        FROM (SELECT set_config('synchronous_commit', ${isDurable ? 'on' : 'off'}, true)) AS relaxed
        WHERE id = ${messageId}::bigint`),
    );
    const stored = withStorage(what, () => done);
    stored.catch(() => undefined); // the caller awaits it later
    return { stored };
  }

  async addPart(
    { chatId, node, epoch }: ChatClaim,
    { messageId, edits = 0 }: Pick<PendingTurn, 'messageId' | 'edits'>,
    { to, waMessageId, text, quote }: NewReply,
  ): Promise<QueuedReply | undefined> {
    const [row] = await withStorage('storing a part of an answer', () =>
      this.#postgres.query<ReplyRow>(sql`
        SELECT ${REPLY_COLUMNS} FROM inbox_add_part(
          ${messageId}::bigint, ${chatId}::bigint, ${node}, ${epoch}::integer, ${edits}::integer,
          ${to}, ${storableId(waMessageId)}, ${cleanText(text)},
          ${storableJson(quote && { ...quote, text: cleanText(quote.text) })}::jsonb) AS outbox`),
    );
    const part = row && queuedReply(row);
    if (part) this.#reportReplies([part]);
    return part;
  }

  async parts(messageId: string): Promise<StoredPart[]> {
    return withStorage('reading the parts of an answer', () =>
      this.#postgres.query<StoredPart>(sql`
        SELECT wa_message_id AS "waMessageId", text, state NOT IN ('queued', 'sending') AS "isSent",
          (extract(epoch FROM now() - queued_at) * 1000)::float8 AS "ageMs"
        FROM outbox WHERE message_id = ${messageId}::bigint AND is_part AND state <> 'dead' ORDER BY ordinal`),
    );
  }

  async finishTurn(
    messageId: string,
    result: TurnResult,
    { claim, lease, turn }: EndOptions = {},
  ): Promise<FinishedTurn> {
    const { owner, epoch } = fenceOf(lease);
    const to = result.replies.map((reply) => reply.to);
    const waIds = result.replies.map((reply) => storableId(reply.waMessageId));
    const texts = result.replies.map((reply) => cleanText(reply.text));
    const merged = turn?.merged;
    const files = await filesJson(result.replies, this.#postgres.files);
    const { exchanges } = result;
    const stored = exchanges
      ? sql`, exchanges AS (
          INSERT INTO agent_exchange (message_id, data) SELECT id, ${packExchanges(exchanges)}::bytea
          FROM message WHERE id = ${messageId}::bigint AND state = 'received')`
      : empty;
    const rows = await withStorage('ending a turn', () =>
      this.#postgres.query<EndRow>(sql`
        WITH reply AS MATERIALIZED (SELECT * FROM inbox_finish_turn(
          ${messageId}::bigint, ${result.state}, ${storableOrNull(result.reason)},
          ${storableOrNull(result.error)}, ${result.routeId ?? null}, ${result.attempts ?? null}::integer,
          ${wholeMs(result.agentMs)}::integer, ${storableJson(result.trace)}::jsonb,
          ${to}::text[], ${waIds}::text[], ${texts}::text[], ${files}::jsonb,
          ${owner}, ${epoch}::bigint, ${quotesJson(result.replies)}::jsonb,
          ${storableJson(result.statePatch)}::jsonb, ${result.isDraft ?? false}::boolean, ${result.loop ?? null}, ${turn ? (turn.edits ?? 0) : null}::integer,
          ${merged?.map((line) => line.messageId) ?? null}::bigint[],
          ${merged?.map((line) => line.edits ?? 0) ?? null}::integer[], ${specialsJson(result.replies)}::jsonb,
          ${storableJson(result.phrase)}::jsonb))${stored}
        SELECT is_claimed, outbox_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media, quote, special,
          timer_seconds, is_sending
        FROM inbox_release(${claim?.chatId ?? null}::bigint, ${claim?.node ?? null}, ${claim?.epoch ?? null}::integer,
          (SELECT count(*) FROM reply)) AS end_of_turn (is_claimed) LEFT JOIN reply ON true ORDER BY reply.outbox_id`),
    );
    const replies = rows.flatMap((row) => {
      if (row.outbox_id === null) return [];
      const reply = queuedReply({ ...row, message_id: messageId });
      return [row.is_sending ? { ...reply, isSending: true as const } : reply];
    });
    if (this.#postgres.changes.isWanted) {
      this.#reportTurn(messageId, result, { chatId: claim?.chatId, ...turn });
      this.#reportReplies(replies);
    }
    return { replies, isClaimed: rows[0]?.is_claimed ?? false };
  }

  async deadLetterUnreadable(
    { chatId, node, epoch }: ChatClaim,
    why: { reason: ErrorCode; error: string; phrase?: Phrase },
  ): Promise<string | undefined> {
    const [row] = await withStorage('ending a turn that cannot be read', () =>
      this.#postgres.query<{ message_id: string | null }>(sql`
        SELECT inbox_dead_letter_unreadable(${chatId}::bigint, ${node}, ${epoch}::integer,
          ${cleanText(why.reason)}, ${cleanText(why.error)}, ${storableJson(why.phrase)}::jsonb)::text AS message_id`),
    );
    const messageId = row?.message_id ?? undefined;
    if (messageId !== undefined) {
      this.#reportTurn(messageId, { state: 'dead', reason: why.reason }, { chatId });
    }
    return messageId;
  }

  async mediaReference(messageId: string): Promise<string | undefined> {
    const [row] = await withStorage("reading the reference of a message's file", () =>
      this.#postgres.query<{ media_ref: string | null }>(sql`
        SELECT media_ref FROM message WHERE id = ${messageId}::bigint`),
    );
    const stored = row?.media_ref ?? undefined;
    return stored && this.#postgres.secrets.openText(stored, MEDIA_REF_CONTEXT);
  }

  async saveTranscript(messageId: string, result: { text: string } | NoTranscript): Promise<void> {
    const [text, details] =
      'text' in result ? [cleanText(result.text), { isTranscript: true }] : ['', { noTranscript: result }];
    await withStorage('storing a transcript', () =>
      this.#postgres.execute(sql`
        UPDATE message SET text = ${text}, details = coalesce(details, '{}') || ${storableJson(details)}::jsonb
        WHERE id = ${messageId}::bigint AND state = 'received' AND text = ''`),
    );
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

  async claimChats(chats: readonly ChatToClaim[], node: string): Promise<ChatClaim[]> {
    const rows = await withStorage('claiming chats', () =>
      this.#postgres.query<{ chat_id: string; worker_epoch: number }>(sql`
        WITH claimed AS (
          UPDATE chat c SET worker_node = ${node}, worker_epoch = c.worker_epoch + 1
          FROM unnest(${chats.map(({ chatId }) => chatId)}::bigint[],
                      ${chats.map(({ epoch }) => epoch)}::integer[],
                      ${chats.map(({ isLeft = false }) => isLeft)}::boolean[]) AS known (id, epoch, is_left)
          WHERE c.id = known.id AND c.worker_epoch = known.epoch
          RETURNING c.id, c.worker_epoch, known.is_left
        ), first AS MATERIALIZED (
          SELECT oldest.* FROM claimed CROSS JOIN LATERAL (
            SELECT m.id, m.suspicion, m.runs_alone FROM message m
            WHERE m.chat_id = claimed.id AND m.state = 'received'
            ORDER BY m.stanza_order, m.id LIMIT 1) AS oldest
          WHERE claimed.is_left
        ), counted AS (
          UPDATE message m SET runs_alone = false, suspicion = m.suspicion + CASE
              WHEN NOT first.runs_alone OR EXISTS (SELECT 1 FROM first AS other WHERE other.suspicion < 2) THEN 1
              ELSE 2 END
          FROM first WHERE m.id = first.id AND (first.runs_alone OR first.suspicion < 2)
        )
        SELECT id::text AS chat_id, worker_epoch FROM claimed`),
    );
    return rows.map((row) => ({ chatId: row.chat_id, node, epoch: row.worker_epoch }));
  }

  async releaseChats(node: string): Promise<void> {
    await withStorage('releasing chats', () =>
      this.#postgres.execute(sql`
        UPDATE chat SET worker_node = NULL
        WHERE worker_node = ${node} AND id IN (SELECT chat_id FROM message WHERE state = 'received')`),
    );
  }

  async setAlone(messageId: string, runsAlone: boolean): Promise<void> {
    await withStorage('storing that a turn runs alone', () =>
      this.#postgres.execute(sql`
        UPDATE message SET runs_alone = ${runsAlone}::boolean WHERE id = ${messageId}::bigint AND state = 'received'`),
    );
  }

  #reportTurn(
    messageId: string,
    { state, reason, routeId, agentMs, isDraft, loop }: Omit<TurnResult, 'replies'>,
    { accountId, chatId }: Partial<Pick<PendingTurn, 'accountId' | 'chatId'>>,
  ): void {
    const { changes } = this.#postgres;
    const chat = { accountId, chatId };
    changes.report({ type: 'turn', ...chat, id: messageId, state, reason, routeId, agentMs });
    if (isDraft) changes.report({ type: 'draft', ...chat, id: messageId, change: 'added' });
    if (state === 'dead')
      changes.report({ type: 'dead-letter', ...chat, messageId, change: 'added', reason });
    if (loop) changes.report({ type: 'chat', ...chat, id: chatId, change: `auto-reply-loop-${loop}` });
  }

  #reportReplies(replies: readonly QueuedReply[]): void {
    reportReplies(this.#postgres.changes, replies);
  }
}

/**
 * A message as `inbox_add` takes it, JSON, and what its row means, which is reported to the streams. The text of a message
 * that is stored and never answered is not kept, except what the owner writes by hand, reactions and events of a group.
 */
export function messageDocument(
  { secrets, changes }: Pick<Statements, 'secrets' | 'changes'>,
  message: InboundMessage,
): { document: string; storedOf(row: StoredRow): Stored } {
  const { accountId, sender, ignoredReason, ignoredStep, ownerEffect, secret, mentions } = message;
  const { phone, lid, groupId } = addressColumns(message.chat);
  const isAnswered = ignoredReason === undefined;
  const isKept =
    isAnswered ||
    ignoredReason === GROUP_EVENT ||
    ignoredReason === 'reaction' ||
    ownerEffect?.kind === 'takeover';
  const of = message.deletes ?? message.reactsTo;
  const text = isKept ? cleanText(message.text) : '';
  const quotedText = isAnswered ? storableOrNull(message.quotedText) : null;
  const media = isAnswered ? mediaColumns(message.media) : undefined;
  const editOf = message.editOf === undefined ? null : storableId(message.editOf);
  const pushName = storableOrNull(sender.pushName);
  const waMessageId = storableId(message.waMessageId);
  const replyTo = replyToOf(message);
  const sentAtMs = Math.trunc(message.sentAtMs);
  const document = storableJson({
    account: accountId,
    waId: waMessageId,
    phone,
    lid,
    group: groupId,
    username: message.chat.kind === 'person' ? message.chat.username : undefined,
    replyTo,
    senderPhone: sender.phone,
    senderLid: sender.lid,
    pushName,
    kind: message.kind,
    text,
    quoted: quotedText,
    editOf,
    deletes: message.deletes === undefined ? undefined : storableId(message.deletes),
    ignored: ignoredReason,
    sentAtMs,
    stanzaOrder: String(message.stanzaOrder),
    media: media?.info,
    mediaRef: media && secrets.sealText(media.reference, MEDIA_REF_CONTEXT),
    mentions: isAnswered ? mentions : undefined,
    toUs: message.toUs,
    owner: ownerEffect,
    details: isAnswered ? message.details : of ? { of: storableId(of) } : undefined,
    timer: message.timerSeconds,
    viewOnce: isAnswered ? message.viewOnce : undefined,
    secret: secret && Buffer.from(secrets.sealBytes(secret, MESSAGE_SECRET_CONTEXT)).toString('base64'),
    trace: ignoredStep && [ignoredStep],
  });
  const storedOf = (row: StoredRow): Stored => {
    reportMessage(changes, message, row);
    return {
      outcome: row.outcome,
      messageId: row.message_id,
      chatId: row.chat_id,
      ...(row.worker_node !== null && {
        worker: { chatId: row.chat_id, node: row.worker_node, epoch: row.worker_epoch },
      }),
      isNewWorker: row.is_new_worker,
      ...(row.changed !== null && { changed: row.changed }),
      // A file and names of mentioned people are read back from the row alone.
      ...(row.next_turn &&
        !media &&
        !mentions && {
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
            toUs: message.toUs,
            viewOnce: message.viewOnce,
            details: row.next_turn.details,
            chatState: row.next_turn.policy_state,
            sentAtMs,
            chat: {
              phone: row.next_turn.chat_phone,
              lid: row.next_turn.chat_lid,
              groupId,
              username: row.next_turn.chat_username,
            },
            replyTo,
            receivedAtMs: row.next_turn.received_at_ms,
            repliedAtMs: row.next_turn.replied_at_ms ?? undefined,
            isPaused: row.next_turn.is_paused ?? false,
            isApproving: row.next_turn.is_approving ?? false,
            isInLoop: row.next_turn.is_in_loop ?? false,
            access: row.next_turn.access,
          }),
        }),
    };
  };
  return { document, storedOf };
}

function reportMessage(
  changes: Statements['changes'],
  { accountId, kind, ownerEffect }: InboundMessage,
  row: StoredRow,
): void {
  if (!changes.isWanted) return;
  const chat = { accountId, chatId: row.chat_id };
  if (row.outcome === 'stored') changes.report({ type: 'message', ...chat, id: row.message_id, kind });
  if (row.changed !== null) {
    changes.report({ type: 'message', ...chat, id: row.changed, change: 'edited-or-deleted' });
  }
  if (row.outcome === 'stored' && ownerEffect) {
    changes.report({ type: 'chat', ...chat, id: row.chat_id, change: ownerEffect.kind });
  }
}

function wholeMs(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.min(Math.max(Math.round(ms), 0), 2_147_483_647);
}

/** The columns of a message's file. */
export function mediaColumns(
  media: InboundMedia | undefined,
): { info: MediaInfo; reference: string } | undefined {
  if (!media) return undefined;
  const { reference, ...info } = media;
  return { info, reference: cleanText(reference) };
}

/** The quotes of replies for `inbox_finish_turn`, as `filesJson`. */
function quotesJson(replies: readonly NewReply[]): string | null {
  if (replies.every(({ quote }) => !quote)) return null;
  return JSON.stringify(
    replies.map(({ quote }) => (quote ? { ...quote, text: cleanText(quote.text) } : null)),
  );
}

/** What replies of no text and no file are, for `inbox_finish_turn`, as `filesJson`. */
function specialsJson(replies: readonly NewReply[]): string | null {
  if (replies.every(({ special }) => !special)) return null;
  return JSON.stringify(replies.map(({ special }) => special ?? null));
}
