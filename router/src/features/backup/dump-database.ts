import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { backupTables, copyOut, TEXT_SETTINGS } from './backup-tables.ts';
import { type BackupRecord, dataRecords, type Sequences, type TableEnd, type TableHead } from './records.ts';
import { RowDigest } from './row-digest.ts';

/**
 * Begins the one snapshot that a backup is made of: what others commit from now on is not in it, and nobody waits for it.
 * The end of the connection ends it.
 */
export async function beginSnapshot(client: pg.ClientBase): Promise<void> {
  await client.query(TEXT_SETTINGS);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
}

/** All tables with their rows, then the sequences. Memory: the longest row. */
export async function* dumpDatabase(
  client: pg.ClientBase,
): AsyncGenerator<BackupRecord, TableSummary[], undefined> {
  const summaries: TableSummary[] = [];
  for (const table of await backupTables(client)) {
    yield { type: 'table', value: table };
    const digest = new RowDigest();
    yield* dataRecords(rowsOf(client, table, digest));
    const value: TableEnd = { rows: digest.rows, digest: digest.digest };
    yield { type: 'tableEnd', value };
    summaries.push({ ...table, ...value });
  }
  yield { type: 'sequences', value: await readSequences(client) };
  return summaries;
}

/** A table and what is in it. */
export type TableSummary = TableHead & TableEnd;

/** How many rows a table has, and their digest. */
export async function summarize(client: pg.ClientBase, table: TableHead): Promise<TableEnd> {
  const digest = new RowDigest();
  for await (const _ of rowsOf(client, table, digest));
  return { rows: digest.rows, digest: digest.digest };
}

async function* rowsOf(
  client: pg.ClientBase,
  table: TableHead,
  digest: RowDigest,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of client.query(copyTo(copyOut(table)))) {
    digest.add(chunk);
    yield chunk;
  }
}

/** A sequence belongs to no snapshot: read after the rows, it is at least as high as their ids. */
async function readSequences(client: pg.ClientBase): Promise<Sequences> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT sequencename::text AS name FROM pg_sequences WHERE schemaname = current_schema()`,
  );
  const sequences: Sequences = {};
  for (const { name } of rows) {
    const { rows: state } = await client.query<{ lastValue: string; isCalled: boolean }>(
      `SELECT last_value::text AS "lastValue", is_called AS "isCalled" FROM "${name}"`,
    );
    if (state[0]) sequences[name] = state[0];
  }
  return sequences;
}
