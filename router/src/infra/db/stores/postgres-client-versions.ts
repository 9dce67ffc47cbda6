import sql from 'sql-template-tag';
import type { ClientVersionStore, LookUpDue, StoredVersions } from '../../../core/client-version.ts';
import type { Statements } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/** Longer than a look-up takes: after it, the node that began one has crashed. */
const RUNNING_FOR = sql`interval '15 seconds'`;
/** Versions that were first seen earlier have no meaning any more. */
const FORGET_AFTER = sql`interval '400 days'`;
/**
 * A stored time may be so far ahead: it is rounded to a millisecond, and a clock may be set back a little. Set back by more, it
 * delays nothing.
 */
const LATEST = sql`clock_timestamp() + ${RUNNING_FOR}`;
const IS_RUNNING = sql`(coalesce(l.ended_at < l.begun_at, true)
  AND l.begun_at BETWEEN clock_timestamp() - ${RUNNING_FOR} AND ${LATEST})`;

/** Versions of WhatsApp Web in PostgreSQL, for all nodes. */
export class PostgresClientVersions implements ClientVersionStore {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async read(): Promise<StoredVersions> {
    const rows = await withStorage('reading the versions of WhatsApp Web', () =>
      this.#postgres.query<{
        version: string;
        firstSeenAt: Date;
        refusedAt: Date | null;
        found: string | null;
        url: string | null;
        foundAt: Date | null;
        isRunning: boolean | null;
      }>(sql`
        SELECT v.version, v.first_seen_at AS "firstSeenAt", v.refused_at AS "refusedAt", l.version AS found, l.url,
          l.found_at AS "foundAt", ${IS_RUNNING} AS "isRunning"
        FROM (SELECT 1 AS id) AS one LEFT JOIN whatsapp_version_look_up l ON l.id = one.id
        LEFT JOIN whatsapp_version v ON true`),
    );
    const [first] = rows;
    return {
      versions: rows.flatMap(({ version, firstSeenAt, refusedAt }) =>
        version === null
          ? []
          : [
              {
                version,
                firstSeenMs: firstSeenAt.getTime(),
                ...(refusedAt && { refusedAtMs: refusedAt.getTime() }),
              },
            ],
      ),
      lookUp: {
        ...(first?.found && { version: first.found }),
        ...(first?.url && { url: first.url }),
        ...(first?.foundAt && { foundAtMs: first.foundAt.getTime() }),
        isRunning: first?.isRunning ?? false,
      },
    };
  }

  async begin({ maxAgeMs, minGapMs }: LookUpDue): Promise<boolean> {
    const ago = (ms: number) => sql`clock_timestamp() - ${ms}::bigint * interval '1 millisecond'`;
    const begun = await withStorage('beginning a look-up of the WhatsApp version', () =>
      this.#postgres.execute(sql`
        INSERT INTO whatsapp_version_look_up AS l (id, begun_at) VALUES (1, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET begun_at = clock_timestamp()
        WHERE NOT ${IS_RUNNING}
          AND (l.found_at IS NULL OR l.found_at NOT BETWEEN ${ago(maxAgeMs)} AND ${LATEST} OR ${maxAgeMs}::bigint = 0)
          AND (l.begun_at NOT BETWEEN ${ago(minGapMs)} AND ${LATEST} OR ${minGapMs}::bigint = 0)`),
    );
    return begun > 0;
  }

  async end(found?: { version: string; url: string }): Promise<void> {
    if (!found) {
      await this.#write(sql`UPDATE whatsapp_version_look_up SET ended_at = clock_timestamp() WHERE id = 1`);
      return;
    }
    const { version, url } = found;
    await this.#write(sql`
      WITH seen AS (
        INSERT INTO whatsapp_version (version) VALUES (${version}) ON CONFLICT (version) DO NOTHING
      ), forgotten AS (
        DELETE FROM whatsapp_version WHERE first_seen_at < now() - ${FORGET_AFTER} AND version <> ${version}
      )
      UPDATE whatsapp_version_look_up SET ended_at = clock_timestamp(), found_at = clock_timestamp(),
        version = ${version}, url = ${url} WHERE id = 1`);
  }

  async see(version: string): Promise<void> {
    await this.#write(
      sql`INSERT INTO whatsapp_version (version) VALUES (${version}) ON CONFLICT (version) DO NOTHING`,
    );
  }

  async setRefused(version: string, isRefused: boolean): Promise<void> {
    await this.#write(
      isRefused
        ? sql`INSERT INTO whatsapp_version AS v (version, refused_at) VALUES (${version}, now())
            ON CONFLICT (version) DO UPDATE SET refused_at = coalesce(v.refused_at, now())`
        : sql`UPDATE whatsapp_version SET refused_at = NULL WHERE version = ${version} AND refused_at IS NOT NULL`,
    );
  }

  async #write(statement: ReturnType<typeof sql>): Promise<void> {
    await withStorage('storing a version of WhatsApp Web', () => this.#postgres.execute(statement));
  }
}
