import sql, { type Sql } from 'sql-template-tag';
import { lidJid } from '../../core/chat-id.ts';
import { addressColumns, channelIdOfChat, replyToOf } from '../../core/messages/chat-identity.ts';
import type { ChatAddress } from '../../core/messages/inbound-message.ts';
import { saidBy } from '../../core/phrases.ts';
import { PLAYGROUND } from '../../core/playground/playground-account.ts';
import { storedState } from '../../core/policies/chat-state.ts';
import type { Access } from '../../core/policies/conversation-fields.ts';
import {
  type AccessAsked,
  type ChatCheck,
  type ChatPosition,
  type ChatQuery,
  type ChatRow,
  type ChatStore,
  LAST_MESSAGE_CHARS,
  type LastMessage,
  NEEDS,
  type PauseMode,
  type PersonSession,
  type ResumedChat,
  type RouteFacts,
  type TurnFacts,
} from '../../core/ports/chat-store.ts';
import { cleanText } from '../../core/text.ts';
import type { Postgres, Statements } from '../../infra/db/postgres.ts';
import {
  allOf,
  type Conditions,
  ofAccounts,
  ofChats,
  patternOf,
  together,
} from '../../infra/db/stores/log-conditions.ts';
import { type Columns, rowId, withoutNulls } from '../../infra/db/stores/rows.ts';
import { StorageDamagedError, withStorage } from '../../infra/db/stores/storage-errors.ts';

interface StoredChat
  extends Columns<
    Pick<
      ChatRow,
      'id' | 'accountId' | 'phone' | 'lid' | 'username' | 'activeAt' | 'lastReceivedAt' | 'access' | 'notes'
    >
  > {
  tags: string[];
  needs: string[];
  isLocked: boolean;
  groupId: string | null;
  unanswered: number;
  failed: number;
  askedAt: Date | null;
  remindAt: Date | null;
  answerUntil: Date | null;
  since: Date | null;
  until: Date | null;
  reason: string | null;
  mode: PauseMode | null;
}

/** What people wrote, which may be long and therefore damaged without the rest of the chat. */
type ChatTexts = Pick<ChatRow, 'name' | 'lastMessage'>;

type TextsRow = { id: string; name: string | null } & LastMessage;

/** Chats of one session of a person that are remembered. */
const PERSON_CHATS = 50;

/** When the session began; 0 for the first. */
const STARTED_MS = sql`coalesce(extract(epoch FROM started_at) * 1000, 0)::float8`;

interface StoredFacts {
  chatId: string;
  mode: PauseMode | null;
  access: Access | null;
  state: unknown;
  repliedAtMs: number | null;
}

/** Columns of `message n` from which a chat has its name. */
const NAMING = sql`n.push_name, n.sender_phone, n.sender_lid, n.details`;

/** The name that the message `m` gives `chat c`: that of a group, or of the person, who need not have written it. */
const NAME = sql`CASE WHEN c.group_id IS NOT NULL THEN m.details ->> 'subject'
  WHEN m.sender_phone = c.phone OR m.sender_lid = c.lid THEN m.push_name END`;

/** A question `q` that waits for the answer of its person. Two may when two chats became one. */
const IS_ASKED = sql`q.state = 'open' AND q.deadline_at > now()`;

/**
 * The chats that wait for an operator, and why (`NEEDS`). Indexes find them, also for one chat. In a paused chat, the last
 * message of the person or the owner is among the last 5 that got no answer.
 */
const NEEDING = sql`
  SELECT o.chat_id, 'draft' AS need FROM outbox o WHERE o.state = 'draft'
  UNION ALL SELECT w.id, 'stranger' FROM chat w
    WHERE w.access_asked_at > now() - interval '7 days' AND w.access = 'pending'
  UNION ALL SELECT q.chat_id, 'question' FROM person_question q WHERE ${IS_ASKED} AND q.remind_at <= now()
  UNION ALL SELECT d.chat_id, 'failed' FROM dead_letter d WHERE d.replayed_at IS NULL AND d.closed_at IS NULL
  UNION ALL SELECT m.chat_id, 'unanswered' FROM message m
    WHERE m.state = 'received' AND m.received_at <= now() - interval '5 minutes'
  UNION ALL SELECT p.id, 'unanswered' FROM chat p
    CROSS JOIN LATERAL (
      SELECT each.id, each.reason FROM (
        SELECT m.id, m.reason, m.stanza_order FROM message m WHERE m.chat_id = p.id AND m.state = 'ignored'
        ORDER BY m.stanza_order DESC LIMIT 5) AS each
      WHERE each.reason IN ('chat-paused', 'owner-message') ORDER BY each.stanza_order DESC LIMIT 1) AS last
    WHERE p.paused_at IS NOT NULL AND coalesce(p.paused_until, 'infinity') > now() AND last.reason = 'chat-paused'
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.chat_id = p.id AND o.id > last.id)`;

/**
 * Columns of `chat c`. The last message of each state has the highest stanza order of its state, which an index finds, so
 * a page costs the same however many messages its chats have.
 */
const CHATS = sql`
  SELECT c.id::text, c.account_id AS "accountId", c.phone, c.lid, c.username, c.group_id AS "groupId", c.active_at AS "activeAt",
    (SELECT m.received_at FROM ${lastOfEachState(sql`n.received_at`)} ORDER BY m.stanza_order DESC LIMIT 1)
      AS "lastReceivedAt",
    (SELECT count(*)::integer FROM message m WHERE m.chat_id = c.id AND m.state = 'received') AS unanswered,
    (SELECT count(*)::integer FROM dead_letter d
      WHERE d.chat_id = c.id AND d.replayed_at IS NULL AND d.closed_at IS NULL) AS failed,
    ARRAY(SELECT n.need FROM (${NEEDING}) AS n WHERE n.chat_id = c.id) AS needs,
    CASE WHEN is_paused(c) THEN c.paused_at END AS since, CASE WHEN is_paused(c) THEN c.paused_until END AS until,
    CASE WHEN is_paused(c) THEN c.pause_reason END AS reason, pause_mode_of(c) AS mode,
    access_of(c) AS access, c.is_locked AS "isLocked", c.tags, c.notes,
    q.asked_at AS "askedAt", q.remind_at AS "remindAt", q.deadline_at AS "answerUntil"
  FROM chat c
  LEFT JOIN LATERAL (
    SELECT q.asked_at, q.remind_at, q.deadline_at FROM person_question q WHERE q.chat_id = c.id AND ${IS_ASKED}
    ORDER BY q.asked_at LIMIT 1) AS q ON true`;

/** What is stored without being a message to read: what WhatsApp says about other messages. */
const SILENT = sql`('own-message', 'edit-applied', 'deleted', 'reaction', 'timer-changed', 'pin')`;

/** The beginning of a last message of `chat c`; the words of a locked chat are shown in the chat only. */
function shownText(column: Sql): Sql {
  return sql`CASE WHEN c.is_locked THEN '' ELSE left(${column}, ${LAST_MESSAGE_CHARS}::integer) END`;
}

/**
 * Name and last message of `chat c`. Among the last ignored messages, 5 are looked at. Messages of the owner's phone are
 * outgoing.
 */
const WORDS = sql`
  SELECT c.id::text, coalesce(c.group_name, named.name) AS name, last.*
  FROM chat c
  LEFT JOIN LATERAL (
    SELECT ${NAME} AS name FROM ${lastOfEachState(NAMING)}
    WHERE ${NAME} IS NOT NULL ORDER BY m.stanza_order DESC LIMIT 1) AS named ON true
  LEFT JOIN LATERAL (
    SELECT direction, text, kind, at, state FROM (
      SELECT CASE m.reason WHEN 'owner-message' THEN 'outgoing' ELSE 'incoming' END AS direction,
        ${shownText(sql`m.text`)} AS text, coalesce(m.media ->> 'kind', m.kind) AS kind,
        m.received_at AS at, m.state, m.id
      FROM unnest(ARRAY['received', 'answered', 'ignored', 'dead']) AS s (state)
      CROSS JOIN LATERAL (
        SELECT n.* FROM message n WHERE n.chat_id = c.id AND n.state = s.state ORDER BY n.stanza_order DESC LIMIT 5) AS m
      WHERE m.reason IS NULL OR m.reason NOT IN ${SILENT}
      UNION ALL (
        SELECT 'outgoing', ${shownText(sql`o.text`)},
          coalesce(o.special ->> 'kind', o.media ->> 'kind', 'text'), o.queued_at, o.state, o.id
        FROM outbox o WHERE o.chat_id = c.id ORDER BY o.id DESC LIMIT 1)) AS each
    ORDER BY at DESC, id DESC LIMIT 1) AS last ON true`;

/** Chats and their pauses in PostgreSQL. */
export class PostgresChatStore implements ChatStore {
  readonly #postgres: Pick<Postgres, 'query' | 'changes' | 'transaction'>;

  constructor(postgres: Pick<Postgres, 'query' | 'changes' | 'transaction'>) {
    this.#postgres = postgres;
  }

  async list(query: ChatQuery): Promise<ChatRow[]> {
    const conditions = conditionsOf(query);
    if (conditions === 'none') return [];
    // The page first: what is read besides the chat itself is read for the chats of the page only.
    const page = sql`WHERE c.id IN (
      SELECT c.id FROM chat c WHERE ${allOf(conditions)} ORDER BY c.active_at DESC, c.id DESC LIMIT ${query.limit}::integer)
      ORDER BY c.active_at DESC, c.id DESC`;
    return this.#rows('reading chats', sql`${CHATS} ${page}`);
  }

  async searchEnd(query: Omit<ChatQuery, 'limit'>, chats: number): Promise<ChatPosition | undefined> {
    const conditions = conditionsOf({ ...query, text: undefined });
    if (conditions === 'none') return undefined;
    const [row] = await withStorage('finding the end of a search', () =>
      this.#postgres.query<{ id: string; activeAt: Date }>(sql`
        SELECT c.id::text, c.active_at AS "activeAt" FROM chat c WHERE ${allOf(conditions)}
        ORDER BY c.active_at DESC, c.id DESC OFFSET ${chats - 1}::integer LIMIT 1`),
    );
    return row && { activeAtMs: row.activeAt.getTime(), id: row.id };
  }

  async get(id: string): Promise<ChatRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await this.#rows('reading a chat', sql`${CHATS} WHERE c.id = ${key}::bigint`);
    return row;
  }

  async turnFacts(accountId: string, channelIds: readonly string[]): Promise<TurnFacts | undefined> {
    const conditions = ofChats(sql`c.id`, channelIds, accountId);
    if (conditions === 'none') return undefined;
    const [row] = await withStorage('reading what a turn reads of its chat', () =>
      this.#postgres.query<StoredFacts>(sql`
        SELECT c.id::text AS "chatId", pause_mode_of(c) AS mode, access_of(c) AS access, c.policy_state AS state,
          (SELECT (extract(epoch FROM o.queued_at) * 1000)::bigint::float8 FROM outbox o
            WHERE o.chat_id = c.id ORDER BY o.id DESC LIMIT 1) AS "repliedAtMs"
        FROM chat c WHERE ${allOf(conditions)} ORDER BY c.id LIMIT 1`),
    );
    if (!row) return undefined;
    const { chatId, mode, access, state, repliedAtMs } = row;
    return {
      chatId,
      isPaused: mode === 'listen-only' || undefined,
      ...(mode === 'approve' && { isApproving: true }),
      ...(mode === 'auto-reply-loop' && { isInLoop: true }),
      ...(access && { access }),
      ...(state != null && { chatState: storedState(state) }),
      repliedAtMs: repliedAtMs ?? undefined,
    };
  }

  async routeFacts(
    accountId: string,
    channelIds: readonly string[],
    messageId?: string,
  ): Promise<RouteFacts | undefined> {
    const conditions = ofChats(sql`c.id`, channelIds, accountId);
    if (conditions === 'none') return undefined;
    const [row] = await withStorage('reading what routes ask of a chat', () =>
      this.#postgres.query<RouteFacts>(sql`
        SELECT c.id::text AS "chatId", c.tags, NOT EXISTS (
          SELECT 1 FROM message m WHERE m.chat_id = c.id AND m.state = 'answered' AND m.stanza_order < coalesce(
            (SELECT own.stanza_order FROM message own WHERE own.id = ${messageId ?? null}::bigint),
            9223372036854775807)) AS "isFirstContact"
        FROM chat c WHERE ${allOf(conditions)} ORDER BY c.id LIMIT 1`),
    );
    return row;
  }

  async label(
    id: string,
    { tags, notes }: { tags?: readonly string[]; notes?: string },
    check?: ChatCheck,
  ): Promise<ChatRow | undefined> {
    const text = notes === undefined ? undefined : cleanText(notes) || null;
    return this.#changed(
      id,
      'labels',
      'labelling a chat',
      sql`tags = coalesce(${tags ? [...tags].sort() : null}::text[], tags),
        notes = CASE WHEN ${text === undefined} THEN notes ELSE ${text ?? null} END`,
      check,
    );
  }

  async lock(accountId: string, chat: ChatAddress, isLocked: boolean): Promise<void> {
    const { phone, lid, groupId } = addressColumns(chat);
    const [row] = await withStorage('locking a chat', () =>
      this.#postgres.query<{ id: string | null }>(sql`
        SELECT chat_lock(${accountId}, ${phone}, ${lid}, ${groupId}, ${replyToOf({ chat })}, ${isLocked})::text AS id`),
    );
    const id = row?.id;
    if (!id) return;
    const change = isLocked ? 'locked' : 'unlocked';
    this.#postgres.changes.report({ type: 'chat', accountId, chatId: id, id, change });
  }

  async nameGroup(accountId: string, groupId: string, name: string): Promise<void> {
    const rows = await withStorage('naming a group', () =>
      this.#postgres.query<{ id: string }>(sql`
        UPDATE chat SET group_name = ${name} WHERE account_id = ${accountId} AND group_id = ${groupId}
          AND group_name IS DISTINCT FROM ${name} RETURNING id::text`),
    );
    for (const { id } of rows) {
      this.#postgres.changes.report({ type: 'chat', accountId, chatId: id, id, change: 'named' });
    }
  }

  pause(
    id: string,
    { forMs, reason, mode }: { forMs?: number; reason?: string; mode?: PauseMode },
    check?: ChatCheck,
  ): Promise<ChatRow | undefined> {
    return this.#changed(
      id,
      'paused',
      'pausing a chat',
      sql`paused_at = now(), paused_until = now() + ${forMs ?? null}::bigint * interval '1 millisecond',
        pause_reason = ${reason === undefined ? null : cleanText(reason)},
        pause_mode = ${mode === 'approve' ? mode : null}`,
      check,
    );
  }

  resume(id: string, answerMissed?: { node: string }, check?: ChatCheck): Promise<ResumedChat | undefined> {
    const node = answerMissed?.node ?? null;
    return this.#claiming(
      id,
      'resumed',
      'resuming a chat',
      (key) => sql`chat_resume(${key}::bigint, ${node})`,
      check,
    );
  }

  async usePersonSession(
    accountId: string,
    person: string,
    chatId: string,
  ): Promise<PersonSession | undefined> {
    const [row] = await withStorage('reading the session of a person', () =>
      this.#postgres.query<PersonSession & { usedMs: number | null }>(sql`
        WITH before AS (
          SELECT used_at FROM person_session WHERE account_id = ${accountId} AND person = ${person}
        ), used AS (
          INSERT INTO person_session AS p (account_id, person, chat_ids)
          SELECT ${accountId}, ${person}, ARRAY[${chatId}::bigint]
          WHERE NOT EXISTS (SELECT 1 FROM chat c WHERE c.id = ${chatId}::bigint AND c.is_locked)
          ON CONFLICT (account_id, person) DO UPDATE SET used_at = now(),
            chat_ids = (array_remove(p.chat_ids, ${chatId}::bigint) || ${chatId}::bigint)[
              greatest(1, cardinality(array_remove(p.chat_ids, ${chatId}::bigint)) + 2 - ${PERSON_CHATS}::integer):]
          RETURNING number, started_at, chat_ids
        )
        SELECT number, ${STARTED_MS} AS "startMs",
          (extract(epoch FROM before.used_at) * 1000)::float8 AS "usedMs",
          ARRAY(SELECT each.id::text FROM unnest(chat_ids) WITH ORDINALITY AS each (id, place)
            WHERE NOT EXISTS (SELECT 1 FROM chat c WHERE c.id = each.id AND c.is_locked) ORDER BY place) AS "chatIds"
        FROM used LEFT JOIN before ON true`),
    );
    return row && withoutNulls(row);
  }

  async startPersonSession(
    accountId: string,
    person: string,
    messageId: string,
  ): Promise<Pick<PersonSession, 'number' | 'startMs'>> {
    const id = sql`${messageId}::bigint`;
    const [row] = await withStorage('beginning a session of a person', () =>
      this.#postgres.query<Pick<PersonSession, 'number' | 'startMs'>>(sql`
        INSERT INTO person_session AS p (account_id, person, number, started_at, started_by)
        VALUES (${accountId}, ${person}, 2, now(), ${id})
        ON CONFLICT (account_id, person) DO UPDATE SET started_by = ${id},
          number = CASE WHEN p.started_by = ${id} THEN p.number ELSE p.number + 1 END,
          started_at = CASE WHEN p.started_by = ${id} THEN p.started_at ELSE now() END
        RETURNING number, ${STARTED_MS} AS "startMs"`),
    );
    if (!row) throw new RangeError('an upsert returns a row');
    return row;
  }

  async askAccess(id: string): Promise<AccessAsked | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [row] = await withStorage('asking about a chat', () =>
      this.#postgres.query<{
        access: AccessAsked['access'];
        askedAtMs: number | null;
        ownerPhone: string | null;
      }>(sql`
        SELECT access, asked_at_ms AS "askedAtMs", owner_phone AS "ownerPhone"
        FROM chat_ask_access(${key}::bigint)`),
    );
    if (row) this.#postgres.changes.report({ type: 'chat', chatId: id, id, change: 'access-asked' });
    return row && withoutNulls(row);
  }

  decideAccess(
    id: string,
    access: 'approved' | 'refused',
    node: string,
    check?: ChatCheck,
  ): Promise<ResumedChat | undefined> {
    const decide = (key: bigint) => sql`chat_decide_access(${key}::bigint, ${access}, ${node})`;
    return this.#claiming(id, access, 'deciding about a chat', decide, check);
  }

  /** Calls a function that changes a chat and returns the claim on it. */
  async #claiming(
    id: string,
    change: string,
    what: string,
    call: (key: bigint) => Sql,
    check: ChatCheck | undefined,
  ): Promise<ResumedChat | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    const [claim] = await withStorage(what, () =>
      this.#checked(key, check, (on) =>
        on.query<{ worker_node: string | null; worker_epoch: number; is_new_worker: boolean }>(sql`
          SELECT worker_node, worker_epoch, is_new_worker FROM ${call(key)}`),
      ),
    );
    const chat = claim && (await this.get(id));
    if (!chat) return undefined;
    this.#report(chat, change);
    const { worker_node: worker, worker_epoch: epoch, is_new_worker: isNewWorker } = claim;
    return { chat, isNewWorker, ...(worker !== null && { worker: { chatId: id, node: worker, epoch } }) };
  }

  /** Changes a chat and reads it as it is then. */
  async #changed(
    id: string,
    change: string,
    what: string,
    assignments: Sql,
    check: ChatCheck | undefined,
  ): Promise<ChatRow | undefined> {
    const key = rowId(id);
    if (key === undefined) return undefined;
    await withStorage(what, () =>
      this.#checked(key, check, (on) =>
        on.query(sql`UPDATE chat SET ${assignments} WHERE id = ${key}::bigint`),
      ),
    );
    const chat = await this.get(id);
    if (chat) this.#report(chat, change);
    return chat;
  }

  /** Runs a change of a chat after its check; no other change of the chat comes between them. */
  #checked<T>(
    key: bigint,
    check: ChatCheck | undefined,
    work: (on: Pick<Statements, 'query'>) => Promise<T>,
  ): Promise<T> {
    if (!check) return work(this.#postgres);
    return this.#postgres.transaction(async (on) => {
      await on.query(sql`SELECT 1 FROM chat WHERE id = ${key}::bigint FOR UPDATE`);
      const [row] = await on.query<StoredChat>(sql`${CHATS} WHERE c.id = ${key}::bigint`);
      if (row) check(chatRow(row));
      return work(on);
    });
  }

  #report({ id, accountId }: ChatRow, change: string): void {
    this.#postgres.changes.report({ type: 'chat', accountId, chatId: id, id, change });
  }

  async #rows(what: string, statement: Sql): Promise<ChatRow[]> {
    const rows = await withStorage(what, () => this.#postgres.query<StoredChat>(statement));
    const words = await this.#words(rows.map(({ id }) => id));
    return rows.map((row) => chatRow(row, words.get(row.id)));
  }

  /** Names and last messages of chats. One that the database cannot read must not hide the others: it is left out. */
  async #words(ids: string[]): Promise<Map<string, ChatTexts>> {
    const words = new Map<string, ChatTexts>();
    const read = async (some: string[]) => {
      const rows = await withStorage('reading the last messages of chats', () =>
        this.#postgres.query<TextsRow>(sql`${WORDS} WHERE c.id = ANY(${some}::bigint[])`),
      );
      for (const { id, name, ...last } of rows) {
        words.set(id, { ...(name !== null && { name }), ...(last.at !== null && { lastMessage: last }) });
      }
    };
    if (ids.length === 0) return words;
    await read(ids).catch(async (error: unknown) => {
      if (!(error instanceof StorageDamagedError)) throw error;
      for (const id of ids) {
        await read([id]).catch((cause: unknown) => {
          if (!(cause instanceof StorageDamagedError)) throw cause;
        });
      }
    });
    return words;
  }
}

/** The last message `m` of `chat c` in each state, with these columns of `message n`. An index finds each. */
function lastOfEachState(columns: Sql): Sql {
  return sql`unnest(ARRAY['received', 'answered', 'ignored', 'dead']) AS s (state)
    CROSS JOIN LATERAL (
      SELECT ${columns}, n.stanza_order FROM message n
      WHERE n.chat_id = c.id AND n.state = s.state ORDER BY n.stanza_order DESC LIMIT 1) AS m`;
}

function conditionsOf(query: Omit<ChatQuery, 'limit'>): Conditions {
  const {
    accountId,
    channelId,
    chats,
    accounts,
    isPaused,
    isLocked,
    access,
    isWaiting,
    isAsked,
    routeId,
    tag,
    isPlayground,
    hasUnanswered,
    hasFailed,
    after,
    upTo,
  } = query;
  const unanswered = sql`EXISTS (SELECT 1 FROM message m WHERE m.chat_id = c.id AND m.state = 'received')`;
  const failed = sql`EXISTS (
    SELECT 1 FROM dead_letter d WHERE d.chat_id = c.id AND d.replayed_at IS NULL AND d.closed_at IS NULL)`;
  // Few chats, which indexes find, so that a count of them does not read all.
  const waiting = sql`c.id = ANY (ARRAY(
    SELECT w.id FROM chat w WHERE w.access_asked_at > now() - interval '7 days' AND w.access = 'pending'
    UNION SELECT o.chat_id FROM outbox o WHERE o.state = 'draft'))`;
  const needing = sql`c.id = ANY (ARRAY(SELECT n.chat_id FROM (${NEEDING}) AS n))`;
  // In a hash: there may be thousands, and each other chat is compared with them.
  const calm = sql`c.id NOT IN (SELECT n.chat_id FROM (${NEEDING}) AS n)`;
  const asked = sql`c.id = ANY (ARRAY(SELECT q.chat_id FROM person_question q WHERE ${IS_ASKED}))`;
  return together(
    ofChats(sql`c.id`, channelId === undefined ? undefined : [channelId], accountId),
    ofChats(sql`c.id`, chats, accountId),
    ofAccounts(sql`c.account_id`, accounts),
    accountId === undefined ? [] : [sql`c.account_id = ${accountId}`],
    isPlayground === undefined ? [] : [sql`(c.account_id = ${PLAYGROUND}) = ${isPlayground}`],
    isPaused === undefined ? [] : [sql`is_paused(c) = ${isPaused}`],
    isLocked === undefined ? [] : [sql`c.is_locked = ${isLocked}`],
    access === undefined ? [] : [sql`access_of(c) = ${access}`],
    isWaiting === undefined ? [] : [isWaiting ? waiting : sql`NOT ${waiting}`],
    isAsked === undefined ? [] : [isAsked ? asked : sql`NOT ${asked}`],
    query.needsYou === undefined ? [] : [query.needsYou ? needing : calm],
    routeId === undefined ? [] : [sql`c.route_id = ${routeId}`],
    // As the index has it.
    tag === undefined ? [] : [sql`c.tags @> ARRAY[${tag}]::text[] AND c.tags <> '{}'`],
    hasUnanswered === undefined ? [] : [hasUnanswered ? unanswered : sql`NOT ${unanswered}`],
    hasFailed === undefined ? [] : [hasFailed ? failed : sql`NOT ${failed}`],
    named(query.text),
    positionIs(sql`<`, after),
    positionIs(sql`>=`, upTo),
  );
}

function positionIs(comparison: Sql, position: ChatPosition | undefined): Conditions {
  if (!position) return [];
  const key = rowId(position.id);
  if (key === undefined) return 'none';
  return [
    sql`(c.active_at, c.id) ${comparison} (to_timestamp(${position.activeAtMs}::float8 / 1000), ${key}::bigint)`,
  ];
}

/** Chats with this text in their name, user name, number or tags. */
function named(text: string | undefined): Conditions {
  if (text === undefined) return [];
  const pattern = patternOf(text);
  // Numbers are written with a plus and spaces; a word with a letter is not a number.
  const digits = /^[+\d\s()./-]+$/.test(text) ? text.replaceAll(/\D/g, '') : '';
  const number =
    digits === '' ? sql`false` : sql`(c.phone LIKE ${`%${digits}%`} OR c.lid LIKE ${`%${digits}%`})`;
  return [
    sql`(${number} OR '@' || c.username ILIKE ${pattern} OR c.group_name ILIKE ${pattern} OR array_to_string(c.tags, ' ') ILIKE ${pattern}
      OR EXISTS (SELECT 1 FROM ${lastOfEachState(NAMING)} WHERE ${NAME} ILIKE ${pattern}))`,
  ];
}

function chatRow(
  {
    groupId,
    since,
    until,
    reason,
    mode,
    tags,
    needs,
    isLocked,
    askedAt,
    remindAt,
    answerUntil,
    ...row
  }: StoredChat,
  words: ChatTexts = {},
): ChatRow {
  const { phone, lid, ...columns } = row;
  // The owner may have written to a person who wrote nothing yet, or whose messages are no longer stored.
  const name = row.username === null ? {} : { name: `@${row.username}` };
  return {
    ...name,
    ...withoutNulls(columns),
    ...words,
    ...withoutNulls({ phone, lid: lid === null ? null : lidJid(lid) }),
    channelId: channelIdOfChat({ phone, lid, groupId }),
    isGroup: groupId !== null,
    ...(isLocked && { isLocked }),
    ...(askedAt && remindAt && answerUntil && { question: { askedAt, remindAt, until: answerUntil } }),
    ...(needs.length > 0 && { needs: NEEDS.filter((need) => needs.includes(need)) }),
    ...(tags.length > 0 && { tags }),
    ...(since && {
      pause: {
        mode: mode ?? 'listen-only',
        ...withoutNulls({ since, until, reason }),
        phrase: saidBy(reason ?? '').phrase,
      },
    }),
  };
}
