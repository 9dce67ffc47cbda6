import { randomBytes } from 'node:crypto';
import { chown, readFile, rm } from 'node:fs/promises';
import type pg from 'pg';
import { PostgresClient } from '../connections/postgres-client.ts';
import { createFile, readIfThere } from '../files.ts';
import type { ServerFolder } from './postgres-folder.ts';
import { DATABASE_NAME } from './postgres-server.ts';
import type { ServerUser } from './postgres-user.ts';

/**
 * The role that the service connects as: owner of the database and of everything in it, and not superuser, so that a statement
 * that an attacker may change cannot run programs or read files of the host. The superuser, named as the database, is for
 * PostgresSupervisor alone.
 */
const SERVICE_ROLE = 'service';

const PASSWORD = /^[0-9a-f]{48}$/;

const IS_RESTRICTED = `(rolcanlogin AND NOT (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls))`;

/**
 * One statement for each object of the database that belongs to the current user: to the superuser, as all did before
 * wa2ai had a role for the service. Sequences of columns, indexes and types of tables follow their table.
 */
const MOVES = `
  WITH own AS (SELECT oid FROM pg_roles WHERE rolname = current_user),
  space AS (
    SELECT n.oid, n.nspname, n.nspowner FROM pg_namespace n
    WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  ),
  dependent AS (SELECT objid FROM pg_depend WHERE deptype = 'e' OR (deptype IN ('a', 'i') AND classid = 'pg_class'::regclass))
  SELECT format('ALTER DATABASE %I OWNER TO ${SERVICE_ROLE}', d.datname) AS move
    FROM pg_database d, own WHERE d.datname = current_database() AND d.datdba = own.oid
  UNION ALL
  SELECT format('ALTER SCHEMA %I OWNER TO ${SERVICE_ROLE}', s.nspname) FROM space s, own WHERE s.nspowner = own.oid
  UNION ALL
  SELECT format('ALTER %s %s OWNER TO ${SERVICE_ROLE}', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
      WHEN 'S' THEN 'SEQUENCE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END, c.oid::regclass)
    FROM pg_class c JOIN space s ON s.oid = c.relnamespace, own
    WHERE c.relowner = own.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'c')
      AND (c.relkind = 'r' OR c.oid NOT IN (SELECT objid FROM dependent))
  UNION ALL
  SELECT format('ALTER ROUTINE %s OWNER TO ${SERVICE_ROLE}', p.oid::regprocedure)
    FROM pg_proc p JOIN space s ON s.oid = p.pronamespace, own
    WHERE p.proowner = own.oid AND p.oid NOT IN (SELECT objid FROM dependent)
  UNION ALL
  SELECT format('ALTER TYPE %s OWNER TO ${SERVICE_ROLE}', t.oid::regtype)
    FROM pg_type t JOIN space s ON s.oid = t.typnamespace, own
    WHERE t.typowner = own.oid AND t.typtype IN ('e', 'd') AND t.oid NOT IN (SELECT objid FROM dependent)`;

/**
 * Makes sure that the service can connect as a role without superuser that owns the database. Creates the role and its password
 * file at the first start, and moves what belongs to the superuser: everything in a folder of an older wa2ai, also after such
 * a version ran on it again. Writes nothing if there is nothing to do.
 * @param superuser a connection that has the lock of the data folder, with the search path `pg_catalog`
 * @returns the URL of the service; contains the password
 */
export async function prepareServiceRole(
  superuser: pg.Client,
  folder: ServerFolder,
  user: ServerUser | undefined,
  port: number,
): Promise<string> {
  const known = await readServicePassword(folder);
  const { rows: roles } = await superuser.query<{ isRestricted: boolean }>(
    `SELECT ${IS_RESTRICTED} AS "isRestricted" FROM pg_roles WHERE rolname = '${SERVICE_ROLE}'`,
  );
  const { rows: moves } = await superuser.query<{ move: string }>(MOVES);
  if (known !== undefined && roles[0]?.isRestricted && moves.length === 0) {
    const url = serviceUrl(known, port);
    if (await accepts(url)) return url;
  }
  const password = known ?? (await createPassword(folder, user));
  await superuser.query('BEGIN');
  try {
    if (roles.length === 0) await superuser.query(`CREATE ROLE ${SERVICE_ROLE}`);
    await superuser.query(
      `ALTER ROLE ${SERVICE_ROLE} LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS PASSWORD '${password}'`,
    );
    for (const { move } of moves) await superuser.query(move);
    await superuser.query('COMMIT');
  } catch (error) {
    await superuser.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
  return serviceUrl(password, port);
}

/**
 * The URL of a server that a service may be using, by the files of its folder; that of the superuser while a wa2ai without a
 * role for the service runs. Contains the password.
 */
export async function urlOfFolder(folder: ServerFolder, port: number): Promise<string> {
  const password = await readServicePassword(folder);
  if (password !== undefined) return serviceUrl(password, port);
  return urlOf(DATABASE_NAME, (await readFile(folder.password, 'utf8')).trim(), port);
}

function urlOf(role: string, password: string, port: number): string {
  return `postgresql://${role}:${password}@127.0.0.1:${port}/${DATABASE_NAME}`;
}

function serviceUrl(password: string, port: number): string {
  return urlOf(SERVICE_ROLE, password, port);
}

/** Undefined if there is none, or it is not one that wa2ai wrote: it goes into a statement. */
async function readServicePassword(folder: ServerFolder): Promise<string | undefined> {
  const text = (await readIfThere(folder.servicePassword))?.trim();
  return text !== undefined && PASSWORD.test(text) ? text : undefined;
}

async function createPassword(folder: ServerFolder, user: ServerUser | undefined): Promise<string> {
  await rm(folder.servicePassword, { force: true });
  const password = await createFile(folder.servicePassword, randomBytes(24).toString('hex'), 0o600);
  if (user) await chown(folder.servicePassword, user.uid, user.gid);
  return password;
}

async function accepts(url: string): Promise<boolean> {
  const client = new PostgresClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  const isAccepted = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  return isAccepted;
}
