import { BackupError } from './backup-errors.ts';
import type { BackupRecord, TableEnd } from './records.ts';

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
