import { createHash, randomBytes } from 'node:crypto';
import { MediaError } from '../../core/errors.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { MediaStore, ReplyFileStore, StoredFile, StoreName } from '../../core/ports/media-store.ts';

const LOCATION = /^[0-9a-f]{2}\/([0-9a-f]{64})-[0-9a-f]{16}$/;

/**
 * A new location for a file. It contains the hash of the file, and a random part: each file belongs to one row, so that it
 * can be removed with it.
 */
export function newLocation(bytes: Uint8Array): string {
  const hash = hashOf(bytes);
  return `${hash.slice(0, 2)}/${hash}-${randomBytes(8).toString('hex')}`;
}

/** Whether it is a location of a file; a store has no other names. */
export function isLocation(name: string): boolean {
  return LOCATION.test(name);
}

/** @throws {MediaError} the bytes are not those that were stored there */
export function checkHash(location: string, bytes: Uint8Array): Uint8Array {
  if (hashOf(bytes) === LOCATION.exec(location)?.[1]) return bytes;
  throw new MediaError('MEDIA_BROKEN', `The stored file ${location} was changed or is damaged.`);
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export interface ReplyFileStoresOptions {
  /** Every store that this node can read. */
  stores: readonly MediaStore[];
  /** The one that gets new files. Absent: the database. */
  use: StoreName | undefined;
  log: Logger;
}

/**
 * Writes the files of replies to one store, and reads each from the store that its row names, so that the store can be changed.
 * A file that the store does not take goes to the database: a reply waits for no store.
 */
export class ReplyFileStores implements ReplyFileStore {
  readonly #options: ReplyFileStoresOptions;
  /** Files that were stored, by their bytes in memory: the end of a turn is stored again while the database is away. */
  readonly #saved = new WeakMap<Uint8Array, StoredFile>();

  constructor(options: ReplyFileStoresOptions) {
    this.#options = options;
  }

  async save(bytes: Uint8Array): Promise<StoredFile | undefined> {
    const { use, log } = this.#options;
    const store = use && this.#named(use);
    const saved = this.#saved.get(bytes);
    if (saved || !store) return saved;
    try {
      const file = { store: store.name, location: await store.put(bytes) };
      this.#saved.set(bytes, file);
      return file;
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      log.warn({ err: error, store: store.name }, 'file not stored outside of the database');
      return undefined;
    }
  }

  async load({ store, location }: StoredFile): Promise<Uint8Array> {
    const found = this.#named(store);
    if (found) return found.get(location);
    throw new MediaError(
      'MEDIA_UNAVAILABLE',
      `The file is in the store "${store}", for which this node has no settings (WA2AI_MEDIA_STORE).`,
    );
  }

  #named(name: string): MediaStore | undefined {
    return this.#options.stores.find((store) => store.name === name);
  }
}
