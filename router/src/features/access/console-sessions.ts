import sql from 'sql-template-tag';
import { z } from 'zod';
import { ROLES, userKeyOf } from '../../core/access/caller.ts';
import { nodeMessage } from '../../core/cluster/node-bus.ts';
import {
  type ConsoleSession,
  type ConsoleSessions,
  MAX_SESSIONS,
  type NewSession,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
  type StoredSession,
} from '../../core/ports/access.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import {
  ACCESS_MAX_AGE_MS,
  type CacheNodes,
  NotifiedCache,
  recentUses,
} from '../../infra/db/stores/notified-cache.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

const absent = <T extends z.ZodType>(type: T) => type.nullable().transform((value) => value ?? undefined);

const rowSchema = z.object({
  id: z.string(),
  tokenHash: z.instanceof(Uint8Array),
  adminKeyMac: absent(z.instanceof(Uint8Array)),
  // A role of a newer version is not a role here: the session does not exist.
  user: absent(z.object({ name: z.string(), role: z.enum(ROLES) })),
  createdAt: z.date(),
  lastSeenAt: z.date(),
  expiresAt: z.date(),
  userAgent: absent(z.string()),
  address: absent(z.string()),
});

/** PostgreSQL: a user of the console or a session changed. */
export const usersChanged = nodeMessage('users-changed');

const IDLE = sql`${SESSION_IDLE_MS}::bigint * interval '1 millisecond'`;

const hex = (tokenHash: Uint8Array) => Buffer.from(tokenHash).toString('hex');

/**
 * Sessions of the console in PostgreSQL. `find` and `byId` read a copy of the table, so that a request costs no statement, also
 * one with an invented token. Every change of a session or a user makes all nodes read it again.
 */
export class PostgresConsoleSessions implements ConsoleSessions {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;
  /** By the hash of the token. */
  readonly #copy: NotifiedCache<ReadonlyMap<string, StoredSession>>;
  readonly #seen: ReturnType<typeof recentUses>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>, nodes?: CacheNodes) {
    this.#postgres = postgres;
    this.#copy = new NotifiedCache(nodes, { changed: usersChanged, maxAgeMs: ACCESS_MAX_AGE_MS });
    this.#seen = recentUses(nodes);
  }

  async find(tokenHash: Uint8Array): Promise<StoredSession | undefined> {
    return (await this.#sessions()).get(hex(tokenHash));
  }

  async byId(id: string): Promise<StoredSession | undefined> {
    return [...(await this.#sessions()).values()].find((session) => session.id === id);
  }

  #sessions(): Promise<ReadonlyMap<string, StoredSession>> {
    return this.#copy.read(
      'all',
      async () => new Map((await this.all()).map((session) => [hex(session.tokenHash), session])),
    );
  }

  #write<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.#copy.change(() => withStorage(what, work));
  }

  async create(session: NewSession): Promise<ConsoleSession | undefined> {
    const { id, tokenHash, adminKeyMac, userName, userAgent, address } = session;
    const userKey = userName === undefined ? null : userKeyOf(userName);
    await this.#write('storing a session', () =>
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
    const count = await this.#write('ending a session', () =>
      this.#postgres.execute(sql`DELETE FROM console_session WHERE id = ${id}`),
    );
    return count > 0;
  }

  async endAllOf(userName: string | undefined, exceptId?: string): Promise<number> {
    const userKey = userName === undefined ? null : userKeyOf(userName);
    return this.#write('ending the sessions of a user', () =>
      this.#postgres.execute(sql`
        DELETE FROM console_session WHERE user_key IS NOT DISTINCT FROM ${userKey}::text
          AND id IS DISTINCT FROM ${exceptId ?? null}::text`),
    );
  }

  async markSeen(id: string): Promise<void> {
    if (this.#seen?.has(id)) return;
    this.#seen?.set(id, true);
    await withStorage('recording the use of a session', () =>
      this.#postgres.execute(sql`
        UPDATE console_session SET last_seen_at = now()
        WHERE id = ${id} AND last_seen_at < now() - interval '1 minute' AND last_seen_at > now() - ${IDLE}`),
    );
  }
}
