import { access, constants, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { type Config, ConfigError, FILE_VARIABLES, loadConfig } from '../../config/config.ts';
import { projectFolder } from '../../config/package-version.ts';
import {
  ageDaysOf,
  ageProblem,
  BUILT_IN,
  type ClientVersion,
  VERSION_SOURCES,
} from '../../core/client-version.ts';
import { Wa2aiError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { PHRASES } from '../../core/phrases.ts';
import { withConnection } from '../../infra/db/connections/external-postgres.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { readIfThere } from '../../infra/db/files.ts';
import { errorCode, errorMessage } from '../../infra/db/stores/storage-errors.ts';
import {
  migrationNames,
  presentMigrations,
  type RecordedMigration,
  tableNames,
} from '../../infra/db/upkeep/migrations.ts';
import {
  type MissingRight,
  missingRightSentence,
  missingRightsSql,
} from '../../infra/db/upkeep/table-privileges.ts';
import { openSource } from '../backup/sealed-file.ts';
import { type AccountToCheck, checkWhatsApp, type Finding, proxyFindings } from './check-network.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The running service, as its API shows it. */
export interface RunningService {
  /** Why it is not ready; empty: it is. */
  reasons: ReadonlyArray<{ name: string; message: string }>;
  /** What was found about its agents. */
  agents(): Promise<Finding[]>;
  /** Its WhatsApp accounts. */
  accounts(): Promise<AccountToCheck[]>;
  /** What WhatsApp limits of an account now. */
  limits(accountId: string): Promise<Array<{ kind: string; until: string }>>;
}

const NOT_RUNNING: Finding = {
  check: 'agents',
  level: 'warning',
  message: 'wa2ai does not run on this machine: its agents were not checked.',
  fix: 'Start it with "wa2ai start", then run this command again.',
};

interface ExamineDeps {
  env: Env;
  /** Undefined: no service answers. */
  service: RunningService | undefined;
  log: Logger;
  nowMs(): number;
}

/**
 * Checks everything that wa2ai needs on this machine, whether it runs or not. Changes nothing; the embedded database is started
 * for the check if it does not run.
 */
export async function examine({ env, service, log, nowMs }: ExamineDeps): Promise<Finding[]> {
  const findings = [checkNode(process.versions.node)];
  let config: ReturnType<typeof loadConfig>;
  try {
    config = loadConfig(env, false);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const wrong = error.sentences.map(
      (message): Finding => ({
        check: 'settings',
        level: 'error',
        message,
        fix: 'Correct the setting in .env or in the environment: docs/settings.md.',
      }),
    );
    return [...findings, ...wrong];
  }
  findings.push({ check: 'settings', level: 'ok', message: 'All settings are valid.' });
  const { dataDir, egress, host, port, whatsappWsUrl } = config;
  const files = FILE_VARIABLES.map((name) => env[name]);
  const secrets = [...files, config.dataKeyFile ?? join(dataDir, 'data-key'), '.env'];
  const accounts = (await service?.accounts()) ?? [];
  // The operator does not want this machine to connect to WhatsApp directly.
  const hasDirect = accounts.length === 0 || accounts.some(({ proxy }) => proxy === undefined);
  const [ofPort, ofDisk, ofFolder, ofDatabase, ofWhatsApp, ofAgents, ...ofFiles] = await Promise.all([
    checkPort(host, port, service !== undefined),
    checkDisk(dataDir),
    checkDataFolder(dataDir),
    checkDatabase(config, join(projectFolder(), 'prisma'), { log, nowMs }),
    hasDirect ? checkWhatsApp(nowMs, whatsappWsUrl?.replace(/^ws/, 'http')) : [],
    service?.agents() ?? [NOT_RUNNING],
    ...secrets.flatMap((path) => (path ? [checkSecretFile(path)] : [])),
  ]);
  findings.push(
    ofPort,
    ofDisk,
    ofFolder,
    ...ofFiles.filter((finding) => finding !== undefined),
    ...ofDatabase,
    ...ofWhatsApp,
  );
  const versions = accounts.flatMap(({ clientVersion }) => clientVersion ?? []);
  findings.push(...proxyFindings(accounts));
  findings.push(...versionFindings(versions.length > 0 ? versions : [configuredVersion(config)], nowMs()));
  findings.push(...ofAgents, egressFinding(egress));
  const waiting = (service?.reasons ?? []).map(
    ({ name, message }): Finding => ({
      check: name,
      level: 'warning',
      message,
      fix: 'Run wa2ai status, or open /qr.',
    }),
  );
  return [...findings, ...waiting];
}

/** What a service that does not run would announce first, as far as it is known without its database. */
function configuredVersion({ whatsappVersion }: Pick<Config, 'whatsappVersion'>): ClientVersion {
  const { version, builtAtMs } = BUILT_IN;
  if (typeof whatsappVersion === 'string') return { version, source: 'built-in', sinceMs: builtAtMs };
  return { version: whatsappVersion.join('.'), source: 'setting', sinceMs: builtAtMs };
}

/** One finding for each version. */
export function versionFindings(versions: readonly ClientVersion[], nowMs: number): Finding[] {
  const check = 'version';
  return [...new Map(versions.map((each) => [each.version, each])).values()].map((each): Finding => {
    const { version, source, refusedSinceMs } = each;
    const message = `WhatsApp Web version ${version}, ${ageDaysOf(each, nowMs)} days old. ${PHRASES[VERSION_SOURCES[source]]}`;
    const fix =
      'Update wa2ai, or set WA2AI_WHATSAPP_VERSION=auto and allow outgoing connections to web.whatsapp.com on port 443.';
    if (refusedSinceMs !== undefined) {
      const since = new Date(refusedSinceMs).toISOString();
      return { check, level: 'error', message: `${message} WhatsApp refuses it since ${since}.`, fix };
    }
    if (ageProblem(each, nowMs) === undefined) return { check, level: 'ok', message };
    return {
      check,
      level: 'warning',
      message: `${message} WhatsApp refused earlier ones after 135 days.`,
      fix,
    };
  });
}

function egressFinding(egress: 'private' | 'public' | 'any'): Finding {
  const check = 'egress';
  if (egress !== 'any') return { check, level: 'ok', message: `Agents may be at ${egress} addresses.` };
  return {
    check,
    level: 'warning',
    message: 'Agents may be at every address, also where a cloud machine gets its credentials.',
    fix: 'Set WA2AI_EGRESS=private.',
  };
}

/** With less, PostgreSQL soon cannot write. */
const MIN_FREE_BYTES = 200_000_000;
const LOW_FREE_BYTES = 1_000_000_000;
const OLDEST_NODE = [20, 19];

/** @param version as in `process.versions.node` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  const isNew = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  if (isNew) return { check: 'node', level: 'ok', message: `Node.js ${version}.` };
  return {
    check: 'node',
    level: 'error',
    message: `Node.js ${version} is too old.`,
    fix: `Install Node.js ${OLDEST_NODE.join('.')} or newer.`,
  };
}

/** Whether the service could listen there now. @param isRunning whether wa2ai answers already */
export async function checkPort(host: string, port: number, isRunning: boolean): Promise<Finding> {
  const check = 'port';
  if (isRunning) return { check, level: 'ok', message: 'wa2ai is running and answers.' };
  if (port === 0) return { check, level: 'ok', message: 'A free port is chosen at the start.' };
  const failure = await new Promise<unknown>((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(undefined)));
  });
  if (failure === undefined) return { check, level: 'ok', message: `${host}:${port} is free.` };
  const code = errorCode(failure);
  if (code === 'EADDRINUSE') {
    return {
      check,
      level: 'error',
      message: `Another program listens on ${host}:${port}.`,
      fix: `Find it with "ss -ltnp 'sport = :${port}'" and stop it, or set WA2AI_PORT to another port.`,
    };
  }
  return {
    check,
    level: 'error',
    message: `wa2ai cannot listen on ${host}:${port} (${code ?? errorMessage(failure)}).`,
    fix: 'Set WA2AI_HOST to an address of this machine, and WA2AI_PORT to a port from 1024.',
  };
}

/** Free space for the data folder, or for the nearest folder above it that exists. */
export async function checkDisk(dataDir: string): Promise<Finding> {
  const check = 'disk';
  for (let folder = resolve(dataDir); ; folder = dirname(folder)) {
    try {
      const { bavail, bsize } = await statfs(folder);
      const free = bavail * bsize;
      const message = `${(free / 1e9).toFixed(1)} GB are free for ${dataDir}.`;
      if (free >= LOW_FREE_BYTES) return { check, level: 'ok', message };
      const level = free < MIN_FREE_BYTES ? 'error' : 'warning';
      return { check, level, message, fix: 'Free space, or move WA2AI_DATA_DIR to a larger disk.' };
    } catch (error) {
      if (errorCode(error) === 'ENOENT' && dirname(folder) !== folder) continue;
      return {
        check,
        level: 'warning',
        message: `The free space for ${dataDir} is not known (${errorCode(error) ?? errorMessage(error)}).`,
        fix: 'Run this command as the user of the service.',
      };
    }
  }
}

/** Whether this user may write the data folder, or create it. Writes nothing. */
async function checkDataFolder(dataDir: string): Promise<Finding> {
  const check = 'files';
  for (let folder = resolve(dataDir); ; folder = dirname(folder)) {
    const failure = await writeFailure(folder);
    if (failure === 'ENOENT' && dirname(folder) !== folder) continue;
    if (failure === undefined) return { check, level: 'ok', message: `${dataDir} can be written.` };
    return {
      check,
      level: 'error',
      message: `wa2ai cannot write ${dataDir}: ${folder} refuses this user (${failure}).`,
      fix: 'Run this command as the user of the service, make the folder its own with chown, or set WA2AI_DATA_DIR.',
    };
  }
}

/** The code of the error with which a folder refuses writing; undefined: it does not. */
async function writeFailure(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return (await stat(folder)).isDirectory() ? undefined : 'ENOTDIR';
  } catch (error) {
    return errorCode(error) ?? errorMessage(error);
  }
}

/** Whether others on this machine can read a file with a secret. A file that does not exist yields nothing. */
export async function checkSecretFile(path: string): Promise<Finding | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found || process.platform === 'win32') return undefined;
  const check = 'files';
  if ((found.mode & 0o007) === 0) return { check, level: 'ok', message: `${path} is private.` };
  return {
    check,
    level: 'warning',
    message: `Every user of this machine can read ${path}, which contains a secret.`,
    fix: `Run: chmod 600 ${path}`,
  };
}

const OLDEST_MAJOR = 14;
/** Leases and retention use the clock of the database. */
const MAX_CLOCK_MS = 5_000;

/** The database of the settings: reachable, version, migrations, rights, clock. Creates and changes nothing. */
async function checkDatabase(
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
        const { rows: missing } = await client.query<MissingRight>(
          missingRightsSql(await tableNames(prismaFolder)),
        );
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
