import sql, { join, type Sql } from 'sql-template-tag';
import { canonicalRouteChannelId, isUsername, parseJid, writtenForms } from '../../../core/chat-id.ts';
import { say } from '../../../core/phrases.ts';
import {
  type AuditChain,
  type AuditEntry,
  type AuditEvent,
  type AuditLog,
  type AuditQuery,
  auditFields,
} from '../../../core/ports/audit-log.ts';
import { cleanText } from '../../../core/text.ts';
import type { Statements } from '../postgres.ts';
import { type Columns, rowId, withoutNulls } from './rows.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

/** The conditions of a WHERE clause, or `none` if no row can match. */
export type Conditions = Sql[] | 'none';

/** Joins conditions with AND; without any, every row matches. */
export function allOf(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`true` : join([...conditions], ' AND ');
}

/** Rows with a smaller id than this one. */
export function olderThan(id: Sql, before: string | undefined): Conditions {
  if (before === undefined) return [];
  const key = rowId(before);
  return key === undefined ? 'none' : [sql`${id} < ${key}::bigint`];
}

/** Rows with a larger id than this one. */
export function newerThan(id: Sql, after: string | undefined): Conditions {
  if (after === undefined) return [];
  const key = rowId(after);
  return key === undefined ? 'none' : [sql`${id} > ${key}::bigint`];
}

/** Rows of the stored chat with this id. */
export function ofStoredChat(chatId: Sql, id: string | undefined): Conditions {
  if (id === undefined) return [];
  const key = rowId(id);
  return key === undefined ? 'none' : [sql`${chatId} = ${key}::bigint`];
}

/** Rows of the chat with this channelId, in any of its spellings. */
export function ofChat(chatId: Sql, channelId: string | undefined, accountId?: string): Conditions {
  return ofChats(chatId, channelId === undefined ? undefined : [channelId], accountId);
}

/** Rows of the chats with these channelIds, each in any of its spellings. */
export function ofChats(
  chatId: Sql,
  channelIds: readonly string[] | undefined,
  accountId?: string,
): Conditions {
  if (channelIds === undefined) return [];
  const addresses = channelIds
    .map((channelId) => canonicalRouteChannelId(channelId))
    .filter((canonical) => canonical !== undefined && canonical !== '*')
    .map((canonical) => addressIs(canonical ?? ''));
  if (addresses.length === 0) return 'none';
  const account = accountId === undefined ? sql`true` : sql`account_id = ${accountId}`;
  return [sql`${chatId} IN (SELECT id FROM chat WHERE (${join(addresses, ' OR ')}) AND ${account})`];
}

/** Rows of these accounts. */
export function ofAccounts(column: Sql, accounts: readonly string[] | undefined): Sql[] {
  return accounts === undefined ? [] : [sql`${column} = ANY (${[...accounts]}::text[])`];
}

function addressIs(channelId: string): Sql {
  if (!channelId.includes('@')) return sql`phone = ANY (${writtenForms([channelId])}::text[])`;
  if (isUsername(channelId)) return sql`username = ${channelId.slice(1)}`;
  const address = parseJid(channelId);
  if (address?.kind === 'lid') return sql`lid = ${address.lid}`;
  return sql`group_id = ${address?.kind === 'group' ? address.groupId : null}`;
}

/** Messages `m` of a person, whichever of number and LID they were stored with. */
export function fromPerson(from: string | undefined): Conditions {
  if (from === undefined) return [];
  const address = from.includes('@') ? parseJid(from) : undefined;
  if (address && address.kind !== 'lid') return 'none';
  const keys = address ? [address.lid] : writtenForms([from]);
  const others = address
    ? sql`SELECT phone FROM lid_mapping WHERE lid = ANY (${keys}::text[])`
    : sql`SELECT lid FROM lid_mapping WHERE phone = ANY (${keys}::text[])`;
  return [sql`coalesce(m.sender_lid, m.sender_phone) IN (SELECT unnest(${keys}::text[]) UNION ${others})`];
}

/** Rows of a period: its start is included, its end is not. */
export function duringPeriod(at: Sql, { since, until }: { since?: Date; until?: Date }): Sql[] {
  return [
    ...(since ? [sql`${at} >= ${since}::timestamptz`] : []),
    ...(until ? [sql`${at} < ${until}::timestamptz`] : []),
  ];
}

/** Rows whose text contains these words, in upper or lower case. */
export function containing(column: Sql, text: string | undefined): Sql[] {
  if (text === undefined) return [];
  return [sql`${column} ILIKE ${patternOf(text)}`];
}

/** A search for a text in all chats does not find what is in locked ones, as on the phone. */
export function notLocked(
  chatId: Sql,
  search: { text?: string; chatId?: string; channelId?: string },
): Sql[] {
  if (search.text === undefined || search.chatId !== undefined || search.channelId !== undefined) return [];
  return [sql`NOT EXISTS (SELECT 1 FROM chat locked WHERE locked.id = ${chatId} AND locked.is_locked)`];
}

/** The pattern of LIKE for texts that contain this one. */
export function patternOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
}

/** All conditions of several groups; `none` if one of them is. */
export function together(...groups: Conditions[]): Conditions {
  return groups.includes('none') ? 'none' : (groups as Sql[][]).flat();
}

/** The audit log in PostgreSQL; see prisma/functions/audit.sql. */
export class PostgresAuditLog implements AuditLog {
  readonly #postgres: Pick<Statements, 'query'>;

  constructor(postgres: Pick<Statements, 'query'>) {
    this.#postgres = postgres;
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    const rows = events.map(storable).map((event) => ({
      text: auditFields(event),
      at: event.at.toISOString(),
      face: event.face,
      caller: event.caller,
      key_id: event.keyId,
      user_name: event.user,
      action: event.action,
      object: event.object,
      outcome: event.outcome,
      request_id: event.requestId,
      address: event.address,
    }));
    await withStorage('writing the audit log', () =>
      this.#postgres.query(sql`SELECT audit_append(${JSON.stringify(rows)}::jsonb)`),
    );
  }

  async entries(query: AuditQuery): Promise<AuditEntry[]> {
    const { before, limit } = query;
    const equal = (column: Sql, value: string | undefined) =>
      value === undefined ? [] : [sql`${column} = ${cleanText(value)}`];
    const conditions = [
      ...duringPeriod(sql`at`, query),
      ...equal(sql`caller`, query.caller),
      ...equal(sql`key_id`, query.keyId),
      ...equal(sql`user_name`, query.user),
      ...equal(sql`action`, query.action),
      ...equal(sql`object`, query.object),
      ...equal(sql`outcome`, query.outcome),
      ...equal(sql`request_id`, query.requestId),
      ...equal(sql`address`, query.address),
      ...(before === undefined ? [] : [sql`seq < ${before}::bigint`]),
    ];
    const rows = await withStorage('reading the audit log', () =>
      this.#postgres.query<Columns<AuditEntry>>(sql`
        SELECT seq, at, face, caller, key_id AS "keyId", user_name AS "user", action, object, outcome, request_id AS "requestId", address,
          encode(hash, 'hex') AS hash
        FROM audit_entry WHERE ${allOf(conditions)} ORDER BY seq DESC LIMIT ${limit}::integer`),
    );
    return rows.map((row) => withoutNulls(row) as AuditEntry);
  }

  async chain(): Promise<AuditChain> {
    const [row] = await withStorage('reading the audit log', () =>
      this.#postgres.query<{ headSeq: bigint; headHash: string; anchorSeq: bigint; anchorHash: string }>(sql`
        SELECT head_seq AS "headSeq", encode(head_hash, 'hex') AS "headHash",
          anchor_seq AS "anchorSeq", encode(anchor_hash, 'hex') AS "anchorHash"
        FROM audit_chain WHERE id = 1`),
    );
    if (!row) throw new StorageDamagedError(say('storage.no-chain-ends'));
    return {
      head: { seq: row.headSeq, hash: row.headHash },
      anchor: { seq: row.anchorSeq, hash: row.anchorHash },
    };
  }
}

/** The event with texts as PostgreSQL stores them, so that the hash covers what is stored. */
function storable(event: AuditEvent): AuditEvent {
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [
      name,
      typeof value === 'string' ? cleanText(value) : value,
    ]),
  ) as unknown as AuditEvent;
}
