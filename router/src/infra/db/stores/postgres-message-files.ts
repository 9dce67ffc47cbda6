import sql from 'sql-template-tag';
import { MediaError } from '../../../core/errors.ts';
import type { ReplyMedia } from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';
import type { MessageFiles, ReplyFileStore, StoreName } from '../../../core/ports/media.ts';
import type { LateReply } from '../../../core/ports/pending-answers.ts';
import { cleanText } from '../../../core/text.ts';
import type { NewReply } from '../../../core/turns/turn.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/**
 * The files of replies for `inbox_finish_turn` and `reply_later`: null for replies of text, or altogether when none has one. A
 * file that a store takes is there when this resolves.
 */
export async function filesJson(
  replies: ReadonlyArray<NewReply | LateReply>,
  files: ReplyFileStore | undefined,
): Promise<string | null> {
  if (replies.every(({ media }) => !media)) return null;
  return JSON.stringify(
    await Promise.all(
      replies.map(async ({ media, file }) => {
        if (!media || !file) return null;
        const stored = await files?.save(file);
        if (stored) return { media: storableMedia(media), ...stored };
        const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('base64');
        return { media: storableMedia(media), bytes };
      }),
    ),
  );
}

function storableMedia({ kind, mimeType, fileName, sizeBytes }: ReplyMedia): ReplyMedia {
  return {
    kind,
    mimeType: cleanText(mimeType),
    ...(fileName !== undefined && { fileName: cleanText(fileName) }),
    sizeBytes,
  };
}

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
    throw new MediaError('MEDIA_UNAVAILABLE', say('media.store-unknown'));
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
