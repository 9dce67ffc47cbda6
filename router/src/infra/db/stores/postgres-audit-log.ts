import sql, { type Sql } from 'sql-template-tag';
import { auditFields } from '../../../core/access/audit-text.ts';
import { cleanText } from '../../../core/clean-text.ts';
import type {
  AuditChain,
  AuditEntry,
  AuditEvent,
  AuditLog,
  AuditQuery,
} from '../../../core/ports/audit-log.ts';
import type { Statements } from '../postgres.ts';
import { allOf, duringPeriod } from './log-conditions.ts';
import { type Columns, withoutNulls } from './rows.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

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
    if (!row)
      throw new StorageDamagedError(
        'The ends of the audit log are missing: somebody removed the row of audit_chain.',
      );
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
