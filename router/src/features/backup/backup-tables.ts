import { hash } from 'node:crypto';
import type pg from 'pg';
import { TABLES } from '../../infra/db/upkeep/table-privileges.ts';
import type { TableHead } from './records.ts';

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

/** The tables of a backup with their columns; a table comes after those that it references. */
export async function backupTables(client: pg.ClientBase): Promise<TableHead[]> {
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
    [[...TABLES], TASKS_SCHEMA],
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
