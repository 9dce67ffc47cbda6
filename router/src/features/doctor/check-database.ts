import { join } from 'node:path';
import { Wa2aiError } from '../../core/errors.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { withConnection } from '../../infra/db/connections/with-connection.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { readIfThere } from '../../infra/db/files.ts';
import {
  migrationNames,
  presentMigrations,
  type RecordedMigration,
} from '../../infra/db/upkeep/migrations.ts';
import {
  type MissingRight,
  missingRightSentence,
  missingRightsSql,
  TABLES,
} from '../../infra/db/upkeep/table-privileges.ts';
import { openSource } from '../backup/open-source.ts';
import type { Finding } from './finding.ts';

const OLDEST_MAJOR = 14;
/** Leases and retention use the clock of the database. */
const MAX_CLOCK_MS = 5_000;

/** The database of the settings: reachable, version, migrations, rights, clock. Creates and changes nothing. */
export async function checkDatabase(
  config: DatabaseConfig,
  prismaFolder: string,
  deps: { log: Logger; nowMs(): number },
): Promise<Finding[]> {
  const check = 'database';
  const isEmbedded = config.databaseUrl === undefined;
  const version = isEmbedded
    ? await readIfThere(join(config.dataDir, 'postgres/data/PG_VERSION')).catch(() => undefined)
    : '';
  if (version === undefined) {
    return [{ check, level: 'ok', message: 'The first start creates the embedded database.' }];
  }
  try {
    const source = await openSource(config, deps.log);
    try {
      return await withConnection(source.url, 'doctor', async (client) => {
        const beforeMs = deps.nowMs();
        const { rows } = await client.query<{ version: number; name: string; nowMs: number; has: boolean }>(
          `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
             extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs",
             to_regclass('_prisma_migrations') IS NOT NULL AS has`,
        );
        const [server] = rows;
        if (!server) throw new TypeError('a SELECT without FROM returns one row');
        const findings = [versionFinding(server), clockFinding(server.nowMs, beforeMs, deps.nowMs())];
        if (!server.has)
          return [...findings, { check, level: 'ok', message: 'The first start creates its tables.' }];
        const { rows: applied } = await client.query<RecordedMigration>(
          'SELECT migration_name AS name, checksum AS sha256 FROM _prisma_migrations WHERE finished_at IS NOT NULL',
        );
        const present = await presentMigrations(applied, prismaFolder);
        const migrations = migrationFinding(
          present.map(({ name }) => name),
          await migrationNames(prismaFolder),
        );
        if (migrations.level !== 'ok') return [...findings, migrations];
        const { rows: missing } = await client.query<MissingRight>(missingRightsSql(TABLES));
        return [...findings, migrations, rightsFinding(missing)];
      });
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!(error instanceof Wa2aiError)) throw error;
    if (error.code === 'DATABASE_MIGRATION') {
      const fix = 'Make a backup with that version first: wa2ai backup FILE.';
      return [{ check: 'migrations', level: 'error', message: error.message, fix }];
    }
    const fix = isEmbedded
      ? 'Stop what uses the data folder, or run this command as the user of the service.'
      : 'Check DATABASE_URL, that the server runs, and that it accepts connections from this machine.';
    return [{ check, level: 'error', message: error.message, fix }];
  }
}

function versionFinding({ version, name }: { version: number; name: string }): Finding {
  const isNew = version >= OLDEST_MAJOR * 10_000;
  if (isNew) return { check: 'database', level: 'ok', message: `PostgreSQL ${name} answers.` };
  return {
    check: 'database',
    level: 'error',
    message: `PostgreSQL ${name} is too old.`,
    fix: `Use PostgreSQL ${OLDEST_MAJOR} or newer.`,
  };
}

/** @param beforeMs when the question was sent, and `afterMs` when the answer was there, by this machine's clock */
export function clockFinding(databaseMs: number, beforeMs: number, afterMs: number): Finding {
  const offMs = databaseMs < beforeMs ? beforeMs - databaseMs : Math.max(0, databaseMs - afterMs);
  const check = 'clock';
  if (offMs <= MAX_CLOCK_MS) {
    return { check, level: 'ok', message: 'The clocks of this machine and of the database agree.' };
  }
  return {
    check,
    level: 'warning',
    message: `The clocks of this machine and of the database differ by ${Math.round(offMs / 1_000)} s.`,
    fix: 'Synchronise both with NTP.',
  };
}

/** Compares the migrations of the database with those of this version. */
export function migrationFinding(applied: readonly string[], known: readonly string[]): Finding {
  const check = 'migrations';
  const newer = applied.find((name) => !known.includes(name));
  if (newer !== undefined) {
    return {
      check,
      level: 'error',
      message: `A newer wa2ai has migrated the database ("${newer}").`,
      fix: 'Start the newer version, or restore a backup of this one.',
    };
  }
  const waiting = known.filter((name) => !applied.includes(name)).length;
  if (waiting === 0) return { check, level: 'ok', message: 'The tables are those of this version.' };
  return {
    check,
    level: 'warning',
    message: `${waiting} migrations are not applied yet. The next start applies them.`,
    fix: 'Make a backup first: wa2ai backup FILE. Then restart wa2ai.',
  };
}

function rightsFinding(missing: readonly MissingRight[]): Finding {
  const check = 'rights';
  const sentence = missingRightSentence(missing);
  if (!sentence) return { check, level: 'ok', message: 'The database user has all rights.' };
  return { check, level: 'error', message: sentence, fix: 'Grant the right as the owner of the tables.' };
}
