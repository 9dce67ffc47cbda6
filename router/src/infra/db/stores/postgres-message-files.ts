import sql from 'sql-template-tag';
import { MediaError } from '../../../core/errors.ts';
import type { StoreName } from '../../../core/ports/media-store.ts';
import type { MessageFiles } from '../../../core/ports/message-files.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

interface FileRow {
  bytes: Buffer | null;
  store: StoreName | null;
  location: string | null;
}

/** Files of messages in PostgreSQL, with their bytes there or in the store of the settings. */
export class PostgresMessageFiles implements MessageFiles {
  readonly #postgres: Pick<Postgres, 'query' | 'execute' | 'files'>;

  constructor(postgres: Pick<Postgres, 'query' | 'execute' | 'files'>) {
    this.#postgres = postgres;
  }

  async load(messageId: string): Promise<Uint8Array | undefined> {
    const [row] = await withStorage("reading a message's file", () =>
      this.#postgres.query<FileRow>(sql`
        SELECT f.bytes, f.store, f.location FROM message_file f JOIN message m ON m.id = f.message_id
        WHERE f.message_id = ${messageId}::bigint AND m.media_ref IS NOT NULL`),
    );
    if (!row) return undefined;
    const { bytes, store, location } = row;
    if (store === null || location === null) return bytes ?? undefined;
    const { files } = this.#postgres;
    if (files) return files.load({ store, location });
    throw new MediaError('MEDIA_UNAVAILABLE', 'The file is in a store for which this node has no settings.');
  }

  async save(messageId: string, bytes: Uint8Array): Promise<void> {
    // Another view: an agent may answer with the same file, which then has another location in the store.
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const stored = await this.#postgres.files?.save(file);
    await withStorage("storing a message's file", () =>
      this.#postgres.execute(sql`
        INSERT INTO message_file (message_id, bytes, store, location)
        SELECT id, ${stored ? null : file}::bytea, ${stored?.store ?? null}, ${stored?.location ?? null}
        FROM message WHERE id = ${messageId}::bigint AND media_ref IS NOT NULL
        ON CONFLICT (message_id) DO NOTHING`),
    );
  }
}
