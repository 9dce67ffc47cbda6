import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { BackupError } from './backup-errors.ts';
import { backupTables, copyIn, quotedTable } from './backup-tables.ts';
import { summarize } from './dump-database.ts';
import type { Sequences, TableEnd, TableHead } from './records.ts';

/**
 * Loads a table and compares what the database then contains with what the backup says. Runs in the caller's transaction. A table
 * of the engine that its present version has no longer is left out: the backup is older, or was made while the engine migrated.
 */
export async function loadTable(
  client: pg.ClientBase,
  table: TableHead,
  data: AsyncIterable<Buffer>,
  end: () => TableEnd,
): Promise<void> {
  if (table.group === 'tasks' && !(await isThere(client, table))) {
    for await (const _ of data);
    return;
  }
  const stream = client.query(copyFrom(copyIn(table)));
  const ended = finished(stream);
  ended.catch(() => undefined); // awaited below
  for await (const chunk of data) {
    if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), ended]);
  }
  stream.end();
  await ended;
  const loaded = await summarize(client, table);
  const expected = end();
  if (loaded.rows === expected.rows && loaded.digest === expected.digest) return;
  throw new BackupError(
    'BACKUP_DAMAGED',
    `The table ${quotedTable(table)} has ${loaded.rows} rows after the restore and ${expected.rows} in the backup, or rows that differ. Nothing was restored. Make a backup with the same version of wa2ai, and restore that one.`,
  );
}

async function isThere(client: pg.ClientBase, table: TableHead): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>('SELECT to_regclass($1) IS NOT NULL AS has', [
    quotedTable(table),
  ]);
  return rows[0]?.has ?? false;
}

/** Removes rows that migrations store, and the durable tasks of a database that is replaced. */
export async function emptyTables(client: pg.ClientBase): Promise<void> {
  const tables = (await backupTables(client)).map(quotedTable);
  await client.query(`TRUNCATE ${tables.join(', ')}`);
}

export async function setSequences(client: pg.ClientBase, sequences: Sequences): Promise<void> {
  for (const [name, { lastValue, isCalled }] of Object.entries(sequences)) {
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [`"${name}"`, lastValue, isCalled]);
  }
}

/**
 * Removes the marks of processes that ran when the backup was made: a chat has no worker, so that the node that takes the
 * account starts one for each chat with an unanswered message.
 */
export async function releaseChats(client: pg.ClientBase): Promise<void> {
  await client.query('UPDATE chat SET worker_node = NULL WHERE worker_node IS NOT NULL');
}
