import { hash } from 'node:crypto';
import type pg from 'pg';
import { z } from 'zod';
import { BackupError } from './sealed-file.ts';

/** What a backup says of itself, its first record. */
const manifestSchema = z.object({
  /** ISO 8601: when the snapshot was taken. */
  createdAt: z.string(),
  /** Version of the wa2ai that made it. */
  wa2ai: z.string(),
  /** Which PostgreSQL it was made from. */
  server: z.string(),
  /** Migrations of the database, in the order in which they are applied. */
  migrations: z.array(z.object({ name: z.string(), sha256: z.string() })),
  /** Text of the file with the data keys; undefined: secrets are not encrypted. */
  dataKeys: z.string().optional(),
  /** Settings of the service, by the names of their variables. */
  settings: z.record(z.string(), z.string()),
});
export type Manifest = z.infer<typeof manifestSchema>;

/** `own`: a table of the migrations; `tasks`: one of the engine of durable tasks. */
const tableSchema = z.object({
  group: z.enum(['own', 'tasks']),
  name: z.string().regex(/^[a-z_0-9]+$/),
  columns: z.array(z.string().regex(/^[a-z_0-9]+$/)).min(1),
});
const tableEndSchema = z.object({ rows: z.number().int().min(0), digest: z.string() });
const sequencesSchema = z.record(
  z.string().regex(/^[a-z_0-9]+$/),
  z.object({ lastValue: z.string().regex(/^-?\d+$/), isCalled: z.boolean() }),
);
/** A path inside the data folder: names joined by `/`, none of them `.` or `..`. */
const relativePath = z
  .string()
  .max(4_096)
  .refine((path) => path.split('/').every((name) => name !== '' && name !== '.' && name !== '..'))
  .refine((path) => !path.includes('\0'));
const fileSchema = z.object({
  path: relativePath,
  kind: z.enum(['file', 'folder', 'link']),
  mode: z.number().int().min(0).max(0o777),
  uid: z.number().int().min(0),
  gid: z.number().int().min(0),
  /** Where a link leads. */
  target: z.string().optional(),
});
const fileEndSchema = z.object({ bytes: z.number().int().min(0), sha256: z.string() });
const endSchema = z.object({ tables: z.number().int().min(0), files: z.number().int().min(0) });

export type TableHead = z.infer<typeof tableSchema>;
export type Sequences = z.infer<typeof sequencesSchema>;
export type FileHead = z.infer<typeof fileSchema>;
/** How many rows or bytes there were, and their digest. */
export type TableEnd = z.infer<typeof tableEndSchema>;

/** The parts of a backup in their order: manifest, tables (parents before children) with their rows, sequences, files, end. */
export type BackupRecord =
  | { type: 'manifest'; value: Manifest }
  | { type: 'table'; value: TableHead }
  | { type: 'data'; value: Buffer }
  | { type: 'tableEnd'; value: TableEnd }
  | { type: 'sequences'; value: Sequences }
  | { type: 'file'; value: FileHead }
  | { type: 'fileEnd'; value: z.infer<typeof fileEndSchema> }
  | { type: 'end'; value: z.infer<typeof endSchema> };

const TYPES = ['manifest', 'table', 'data', 'tableEnd', 'sequences', 'file', 'fileEnd', 'end'] as const;
const SCHEMAS = {
  manifest: manifestSchema,
  table: tableSchema,
  tableEnd: tableEndSchema,
  sequences: sequencesSchema,
  file: fileSchema,
  fileEnd: fileEndSchema,
  end: endSchema,
};
const HEAD_BYTES = 5;
/** A record is a part of a row or file, or a short description. */
const MAX_RECORD_BYTES = 16_777_216;
/** Bytes of rows or files that one record carries, about. */
const DATA_BYTES = 65_536;

/** Bytes as records of at most 64 KiB. */
export async function* dataRecords(source: AsyncIterable<Buffer>): AsyncGenerator<BackupRecord> {
  let pending: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    for (let rest = chunk; rest.length > 0; ) {
      const taken = rest.subarray(0, DATA_BYTES - bytes);
      pending.push(taken);
      bytes += taken.length;
      rest = rest.subarray(taken.length);
      if (bytes < DATA_BYTES) continue;
      yield { type: 'data', value: Buffer.concat(pending) };
      pending = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield { type: 'data', value: Buffer.concat(pending) };
}

/** Writes records one after the other: a byte for the type, four for the length, and the JSON or the bytes. */
export async function* encodeRecords(records: AsyncIterable<BackupRecord>): AsyncGenerator<Buffer> {
  for await (const { type, value } of records) {
    const payload = type === 'data' ? value : Buffer.from(JSON.stringify(value));
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt8(TYPES.indexOf(type), 0);
    head.writeUInt32BE(payload.length, 1);
    yield Buffer.concat([head, payload]);
  }
}

/**
 * Reads records; the last one is `end`.
 * @throws {BackupError} BACKUP_DAMAGED: these bytes are not records, or end before the last one
 */
export async function* decodeRecords(source: AsyncIterable<Buffer>): AsyncGenerator<BackupRecord> {
  let buffered: Buffer = Buffer.alloc(0);
  let isComplete = false;
  for await (const chunk of source) {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (;;) {
      if (buffered.length < HEAD_BYTES) break;
      const length = buffered.readUInt32BE(1);
      if (length > MAX_RECORD_BYTES || isComplete) throw unreadable();
      if (buffered.length < HEAD_BYTES + length) break;
      const record = decode(buffered.readUInt8(0), buffered.subarray(HEAD_BYTES, HEAD_BYTES + length));
      isComplete = record.type === 'end';
      yield record;
      buffered = buffered.subarray(HEAD_BYTES + length);
    }
  }
  if (buffered.length > 0 || !isComplete) throw unreadable();
}

function decode(code: number, payload: Buffer): BackupRecord {
  const type = TYPES[code];
  if (type === undefined) throw unreadable();
  if (type === 'data') return { type, value: payload };
  try {
    return { type, value: SCHEMAS[type].parse(JSON.parse(payload.toString('utf8'))) } as BackupRecord;
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause?: unknown): BackupError {
  return new BackupError(
    'BACKUP_DAMAGED',
    'The backup contains something that this version of wa2ai cannot read. Nothing was restored from it. Use the version that made it, or another copy.',
    { cause },
  );
}

/** The schema of the engine of durable tasks. */
export const TASKS_SCHEMA = 'dbos';

/**
 * Tables whose rows are of the processes that run: which nodes there are, their leases, keys of locks, counters of requests and failed logins. Others say what
 * the schema is, which a restore makes itself.
 */
const LEFT_OUT = new Set([
  'node',
  'account_lease',
  'lock_key',
  'api_key_rate',
  'login_attempt',
  'sql_functions',
  '_prisma_migrations',
  'dbos_migrations',
]);

/** The name of a table in SQL. */
export function quotedTable({ group, name }: Pick<TableHead, 'group' | 'name'>): string {
  return group === 'tasks' ? `"${TASKS_SCHEMA}"."${name}"` : `"${name}"`;
}

/**
 * The tables of a backup with their columns; a table comes after those that it references.
 * @param tables names of all tables of wa2ai, there or not
 */
export async function backupTables(client: pg.ClientBase, tables: readonly string[]): Promise<TableHead[]> {
  const { rows } = await client.query<{
    group: TableHead['group'];
    name: string;
    columns: string[];
    parents: string[];
  }>(
    `SELECT CASE WHEN n.nspname = $2 THEN 'tasks' ELSE 'own' END AS "group", c.relname AS name,
       (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
       ARRAY(SELECT DISTINCT p.relname::text FROM pg_constraint f JOIN pg_class p ON p.oid = f.confrelid
        WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> f.conrelid) AS parents
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND (n.nspname = current_schema() AND c.relname = ANY ($1) OR n.nspname = $2)
     ORDER BY 1, 2`,
    [tables, TASKS_SCHEMA],
  );
  const waiting = rows.filter(({ name }) => !LEFT_OUT.has(name));
  const ordered: TableHead[] = [];
  while (waiting.length > 0) {
    const names = new Set(waiting.map(({ name }) => name));
    const index = waiting.findIndex(({ parents }) => !parents.some((parent) => names.has(parent)));
    const [table] = waiting.splice(index, 1);
    if (index < 0 || !table) throw new TypeError('tables reference each other in a circle');
    ordered.push({ group: table.group, name: table.name, columns: table.columns });
  }
  return ordered;
}

/** Statements after which every server writes a value as the same text. */
export const TEXT_SETTINGS = `SET client_encoding TO 'UTF8'; SET datestyle TO 'ISO'; SET timezone TO 'UTC';
  SET intervalstyle TO 'postgres'; SET bytea_output TO 'hex'; SET extra_float_digits TO 1; SET statement_timeout TO 0;
  SET idle_in_transaction_session_timeout TO 0`;

/** The rows of a table as COPY writes them as text. */
export function copyOut(table: TableHead): string {
  return `COPY ${quotedTable(table)} (${columnsOf(table)}) TO STDOUT`;
}

export function copyIn(table: TableHead): string {
  return `COPY ${quotedTable(table)} (${columnsOf(table)}) FROM STDIN`;
}

function columnsOf({ columns }: TableHead): string {
  return columns.map((column) => `"${column}"`).join(', ');
}

const NEW_LINE = 0x0a;

/**
 * The digest of rows in the text format of COPY, one row a line, whatever their order: the number of rows and the sum of
 * their SHA-256, each as four 64-bit numbers. Two servers may return the same rows in different order.
 */
export class RowDigest {
  rows = 0;
  readonly #sum = new BigUint64Array(4);
  #carry: Buffer[] = [];

  /** Takes bytes as they come; a row may continue in the next call. */
  add(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, start)) {
      const line = bytes.subarray(start, end);
      this.#addRow(this.#carry.length === 0 ? line : Buffer.concat([...this.#carry, line]));
      this.#carry = [];
      start = end + 1;
    }
    // A copy: the caller may use its buffer again.
    if (start < bytes.length) this.#carry.push(Buffer.from(bytes.subarray(start)));
  }

  /** Hexadecimal digits, when all rows were added. */
  get digest(): string {
    return [...this.#sum].map((part) => part.toString(16).padStart(16, '0')).join('');
  }

  #addRow(row: Buffer): void {
    const digest = hash('sha256', row, 'buffer');
    // An element of the array keeps the lowest 64 bits of a sum.
    for (const [index, part] of this.#sum.entries()) {
      this.#sum[index] = part + digest.readBigUInt64BE(index * 8);
    }
    this.rows += 1;
  }
}
