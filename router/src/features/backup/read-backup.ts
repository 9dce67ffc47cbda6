import { createHash } from 'node:crypto';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { TableSummary } from './create-backup.ts';
import { type BackupRecord, decodeRecords, type Manifest, RowDigest, type TableEnd } from './records.ts';
import { BackupError, unsealed } from './sealed-file.ts';

/**
 * The records of a backup in their order.
 * @throws {BackupError} as `unsealed` and `decodeRecords`
 */
export async function* readBackup(path: string, passphrase: string): AsyncGenerator<BackupRecord> {
  const output = new PassThrough();
  const reading = pipeline(Readable.from(unsealed(path, passphrase)), createGunzip(), output).catch(
    (error: unknown) => output.destroy(error as Error),
  );
  try {
    yield* decodeRecords(output);
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError(
      'BACKUP_DAMAGED',
      `The backup ${path} cannot be unpacked. Nothing was restored from it. Use another copy.`,
      { cause: error },
    );
  } finally {
    output.destroy();
    await reading;
  }
}

/** What a backup contains, from a reading of the whole file. */
interface BackupContents {
  manifest: Manifest;
  tables: TableSummary[];
  files: number;
}

/**
 * Reads a whole backup and checks it: every chunk is authentic, nothing is missing, and rows and files have the digests that
 * the backup names. Stores nothing.
 * @throws {BackupError}
 */
export async function checkBackup(path: string, passphrase: string): Promise<BackupContents> {
  const tables: TableSummary[] = [];
  let manifest: Manifest | undefined;
  let files = 0;
  let rows = new RowDigest();
  let file = createHash('sha256');
  let table: Omit<TableSummary, 'rows' | 'digest'> | undefined;
  for await (const { type, value } of readBackup(path, passphrase)) {
    if (type === 'manifest') manifest = value;
    if (type === 'table') {
      table = value;
      rows = new RowDigest();
    }
    if (type === 'file') file = createHash('sha256');
    if (type === 'data' && table) rows.add(value);
    if (type === 'data' && !table) file.update(value);
    if (type === 'tableEnd' && table) {
      if (value.rows !== rows.rows || value.digest !== rows.digest) throw inconsistent(`table ${table.name}`);
      tables.push({ ...table, ...value });
      table = undefined;
    }
    if (type === 'fileEnd') {
      if (value.sha256 !== file.digest('hex')) throw inconsistent('a file');
      files += 1;
    }
    if (type === 'end' && (value.tables !== tables.length || value.files !== files)) {
      throw inconsistent('its end');
    }
  }
  if (!manifest) throw inconsistent('its beginning');
  return { manifest, tables, files };
}

function inconsistent(what: string): BackupError {
  return new BackupError(
    'BACKUP_DAMAGED',
    `The backup contradicts itself: ${what} is not what it says. Nothing was restored from it. Use another copy.`,
  );
}

/** Reads the records of a checked backup one after the other; rows and bytes of files as streams of their own. */
export class RecordReader {
  readonly #records: AsyncIterator<BackupRecord>;
  #last: BackupRecord | undefined;

  constructor(records: AsyncIterable<BackupRecord>) {
    this.#records = records[Symbol.asyncIterator]();
  }

  /** Undefined at the end. */
  async next(): Promise<BackupRecord | undefined> {
    const { value, done } = await this.#records.next();
    this.#last = done ? undefined : value;
    return this.#last;
  }

  /** The data of the table or file whose record was read last, up to its end, which is then the last record. */
  async *data(): AsyncGenerator<Buffer, void, undefined> {
    for (let record = await this.next(); record?.type === 'data'; record = await this.next()) {
      yield record.value;
    }
  }

  /** The record that ended the data. @throws {BackupError} BACKUP_DAMAGED: another one did */
  endOf(type: 'tableEnd'): TableEnd {
    if (this.#last?.type === type) return this.#last.value;
    throw new BackupError(
      'BACKUP_DAMAGED',
      'The file was changed while it was restored. Nothing was restored.',
    );
  }

  /** Closes the file; needed when not all records were read. */
  async close(): Promise<void> {
    await this.#records.return?.();
  }
}
