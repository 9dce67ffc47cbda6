import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { DatabaseError, errorCode, errorMessage } from '../stores/storage-errors.ts';

/** `invalid_function_definition`: the result or the parameter names differ, so the function must be dropped first. */
const DEFINITION_DIFFERS = '42P13';
/** `insufficient_privilege`: only the owner of a function may replace it. */
const NOT_OWNER = '42501';

interface FunctionFile {
  name: string;
  sql: string;
  functions: string[];
}

/**
 * Brings the functions of the database to the text of the files in `folder` (`*.sql`, applied in the order of their
 * names), in one transaction. Does nothing if they are the same. Call it under the lock of the migrations.
 * @returns whether anything was applied
 * @throws {DatabaseError} DATABASE_MIGRATION: a file failed; DATABASE_RIGHTS: the user does not own the functions.
 *   Nothing was changed
 */
export async function applyFunctions(client: pg.Client, folder: string): Promise<boolean> {
  const files = await readFiles(folder);
  const names = files.flatMap((file) => file.functions);
  const sha256 = hashOf(files);
  const former = await formerState(client);
  if (former?.sha256 === sha256 && (await missingOf(client, names)) === 0) return false;
  await client.query('BEGIN');
  try {
    const ours = [...new Set([...names, ...(former?.names ?? [])])];
    const before = await versionsOf(client, ours);
    for (const file of files) await apply(client, file);
    await dropUnchanged(client, ours, before);
    await client.query(
      `INSERT INTO sql_functions (id, sha256, names, applied_at) VALUES (1, $1, $2, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET sha256 = excluded.sha256, names = excluded.names,
         applied_at = excluded.applied_at`,
      [sha256, names],
    );
    await client.query('COMMIT');
    return true;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function readFiles(folder: string): Promise<FunctionFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql'));
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = (await readFile(join(folder, name), 'utf8')).replaceAll('\r\n', '\n');
      const functions = [...sql.matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm)].map(
        (match) => match[1] ?? '',
      );
      return { name, sql, functions };
    }),
  );
}

function hashOf(files: FunctionFile[]): string {
  return createHash('sha256')
    .update(JSON.stringify(files.map(({ name, sql }) => [name, sql])))
    .digest('hex');
}

async function formerState(client: pg.Client): Promise<{ sha256: string; names: string[] } | undefined> {
  const { rows } = await client.query<{ sha256: string; names: string[] }>(
    'SELECT sha256, names FROM sql_functions WHERE id = 1',
  );
  return rows[0];
}

async function missingOf(client: pg.Client, names: string[]): Promise<number> {
  const { rows } = await client.query<{ missing: number }>(
    `SELECT count(*)::integer AS missing FROM unnest($1::text[]) AS wanted (name) WHERE NOT EXISTS (
       SELECT 1 FROM pg_proc p
       WHERE p.proname = wanted.name AND p.pronamespace = current_schema()::regnamespace)`,
    [names],
  );
  return rows[0]?.missing ?? 0;
}

/** Each function of these names with the version of its catalog row, which every replacement changes. */
async function versionsOf(client: pg.Client, names: string[]): Promise<Map<string, string>> {
  const { rows } = await client.query<{ signature: string; version: string }>(
    `SELECT p.oid::regprocedure::text AS signature, p.oid || ':' || p.xmin::text || ':' || p.ctid::text AS version
     FROM pg_proc p WHERE p.proname = ANY($1) AND p.pronamespace = current_schema()::regnamespace`,
    [names],
  );
  return new Map(rows.map((row) => [row.signature, row.version]));
}

async function apply(client: pg.Client, file: FunctionFile): Promise<void> {
  await client.query('SAVEPOINT file');
  try {
    await client.query(file.sql).catch(async (error: unknown) => {
      if (errorCode(error) !== DEFINITION_DIFFERS) throw error;
      await client.query('ROLLBACK TO SAVEPOINT file');
      await drop(client, [...(await versionsOf(client, file.functions)).keys()]);
      await client.query(file.sql);
    });
  } catch (error) {
    const reason = errorMessage(error);
    if (errorCode(error) === NOT_OWNER) {
      throw new DatabaseError(
        'DATABASE_RIGHTS',
        `The database user may not replace wa2ai's SQL functions: ${reason}. Start this version once with the user that owns them, or make this user their owner.`,
        { cause: error },
      );
    }
    throw new DatabaseError(
      'DATABASE_MIGRATION',
      `The SQL functions of "${file.name}" could not be applied and nothing was changed: ${reason}.`,
      { cause: error },
    );
  }
  await client.query('RELEASE SAVEPOINT file');
}

/** A function that was not replaced is defined by no file, or is an overload with former parameters. */
async function dropUnchanged(
  client: pg.Client,
  names: string[],
  before: ReadonlyMap<string, string>,
): Promise<void> {
  const now = await versionsOf(client, names);
  await drop(
    client,
    [...now]
      .filter(([signature, version]) => before.get(signature) === version)
      .map(([signature]) => signature),
  );
}

async function drop(client: pg.Client, signatures: string[]): Promise<void> {
  if (signatures.length > 0) await client.query(`DROP FUNCTION ${signatures.join(', ')}`);
}
