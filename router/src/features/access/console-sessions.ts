import sql from 'sql-template-tag';
import { z } from 'zod';
import { ROLES, userKeyOf } from '../../core/access/caller.ts';
import type { Clock } from '../../core/clock.ts';
import type { NodeBus } from '../../core/cluster/node-bus.ts';
import {
  type ConsoleSession,
  type ConsoleSessions,
  MAX_SESSIONS,
  type NewSession,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
  type SessionLookup,
  type StoredSession,
} from '../../core/ports/access.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { CachedTable, type NotifyingTransport } from '../../infra/db/stores/notified-cache.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/**
 * Finds sessions in a copy of the table. Every change of a session or a user makes all nodes read it again; a node that
 * missed the notification refuses an ended session after at most a second.
 */
export class CachedConsoleSessions implements ConsoleSessions, SessionLookup {
  readonly #table: ConsoleSessions;
  /** By the hash of the token. */
  readonly #copy: CachedTable<StoredSession>;

  constructor(table: ConsoleSessions, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#copy = new CachedTable(bus, clock, {
      changed: 'users-changed',
      all: () => table.all(),
      keyOf: ({ tokenHash }) => hex(tokenHash),
    });
  }

  create(session: NewSession): Promise<ConsoleSession | undefined> {
    return this.#copy.change(() => this.#table.create(session));
  }

  all(): Promise<StoredSession[]> {
    return this.#table.all();
  }

  async find(tokenHash: Uint8Array): Promise<StoredSession | undefined> {
    return (await this.#copy.rows()).get(hex(tokenHash));
  }

  async byId(id: string): Promise<StoredSession | undefined> {
    return [...(await this.#copy.rows()).values()].find((session) => session.id === id);
  }

  end(id: string): Promise<boolean> {
    return this.#copy.change(() => this.#table.end(id));
  }

  endAllOf(userName: string | undefined, exceptId?: string): Promise<number> {
    return this.#copy.change(() => this.#table.endAllOf(userName, exceptId));
  }

  markSeen(id: string): Promise<void> {
    return this.#copy.markUsed(id, () => this.#table.markSeen(id));
  }
}

function hex(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash).toString('hex');
}

const absent = <T extends z.ZodType>(type: T) => type.nullable().transform((value) => value ?? undefined);

const rowSchema = z.object({
  id: z.string(),
  tokenHash: z.instanceof(Uint8Array),
  adminKeyMac: absent(z.instanceof(Uint8Array)),
  // A role of a newer version is no role here: the session does not exist.
  user: absent(z.object({ name: z.string(), role: z.enum(ROLES) })),
  createdAt: z.date(),
  lastSeenAt: z.date(),
  expiresAt: z.date(),
  userAgent: absent(z.string()),
  address: absent(z.string()),
});

const IDLE = sql`${SESSION_IDLE_MS}::bigint * interval '1 millisecond'`;

/** Sessions of the console in PostgreSQL. Every call reads or writes the table. */
export class PostgresConsoleSessions implements ConsoleSessions {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async create(session: NewSession): Promise<ConsoleSession | undefined> {
    const { id, tokenHash, adminKeyMac, userName, userAgent, address } = session;
    const userKey = userName === undefined ? null : userKeyOf(userName);
    await withStorage('storing a session', () =>
      this.#postgres.query(sql`
        WITH old AS (
          DELETE FROM console_session WHERE expires_at <= now() OR last_seen_at <= now() - ${IDLE} OR id IN (
            SELECT id FROM console_session WHERE user_key IS NOT DISTINCT FROM ${userKey}::text
            ORDER BY last_seen_at DESC OFFSET ${MAX_SESSIONS - 1}::integer))
        INSERT INTO console_session (id, token_hash, user_key, admin_key_mac, expires_at, user_agent, address)
        SELECT ${id}, ${Buffer.from(tokenHash)}, ${userKey}::text, ${adminKeyMac ? Buffer.from(adminKeyMac) : null}::bytea,
          now() + ${SESSION_MAX_MS}::bigint * interval '1 millisecond', ${userAgent ?? null}::text, ${address ?? null}::text
        WHERE ${userKey}::text IS NULL
          OR EXISTS (SELECT 1 FROM console_user WHERE key = ${userKey}::text AND disabled_at IS NULL FOR SHARE)`),
    );
    const created = (await this.all()).find((each) => each.id === id);
    if (!created) return undefined;
    const { tokenHash: _hash, adminKeyMac: _mac, ...shown } = created;
    return shown;
  }

  async all(): Promise<StoredSession[]> {
    const rows = await withStorage('reading the sessions', () =>
      this.#postgres.query(sql`
        SELECT s.id, s.token_hash AS "tokenHash", s.admin_key_mac AS "adminKeyMac", s.created_at AS "createdAt",
          s.last_seen_at AS "lastSeenAt", s.expires_at AS "expiresAt", s.user_agent AS "userAgent", s.address,
          CASE WHEN u.key IS NOT NULL THEN jsonb_build_object('name', u.name, 'role', u.role) END AS "user"
        FROM console_session s LEFT JOIN console_user u ON u.key = s.user_key
        WHERE s.expires_at > now() AND s.last_seen_at > now() - ${IDLE} AND u.disabled_at IS NULL
        ORDER BY s.created_at, s.id`),
    );
    return rows.flatMap((row) => {
      const { data } = rowSchema.safeParse(row);
      if (!data) return [];
      const { adminKeyMac, user, userAgent, address, ...rest } = data;
      return [
        {
          ...rest,
          ...(adminKeyMac && { adminKeyMac }),
          ...(user && { user }),
          ...(userAgent !== undefined && { userAgent }),
          ...(address !== undefined && { address }),
        },
      ];
    });
  }

  async end(id: string): Promise<boolean> {
    const count = await withStorage('ending a session', () =>
      this.#postgres.execute(sql`DELETE FROM console_session WHERE id = ${id}`),
    );
    return count > 0;
  }

  async endAllOf(userName: string | undefined, exceptId?: string): Promise<number> {
    const userKey = userName === undefined ? null : userKeyOf(userName);
    return withStorage('ending the sessions of a user', () =>
      this.#postgres.execute(sql`
        DELETE FROM console_session WHERE user_key IS NOT DISTINCT FROM ${userKey}::text
          AND id IS DISTINCT FROM ${exceptId ?? null}::text`),
    );
  }

  async markSeen(id: string): Promise<void> {
    await withStorage('recording the use of a session', () =>
      this.#postgres.execute(sql`
        UPDATE console_session SET last_seen_at = now()
        WHERE id = ${id} AND last_seen_at < now() - interval '1 minute' AND last_seen_at > now() - ${IDLE}`),
    );
  }
}
