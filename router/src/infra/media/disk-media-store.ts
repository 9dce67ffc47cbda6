import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MediaError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { say } from '../../core/phrases.ts';
import type {
  ListedFile,
  MediaStore,
  ReplyFileStore,
  StoredFile,
  StoreName,
} from '../../core/ports/media.ts';

/** Ends the name of a file that is being written. */
const PART = '.part';

interface DiskMediaStoreOptions {
  /** Created when the first file is stored. */
  folder: string;
  /** Total size of all files, in bytes; a file beyond it is not stored. */
  maxBytes: number;
}

/** Files below a folder that only the user of the service can read. A file appears whole, under its final name. */
export class DiskMediaStore implements MediaStore {
  readonly name = 'disk';
  readonly #options: DiskMediaStoreOptions;
  /** Total size as far as this process knows it; counted before the first file is stored. */
  #usedBytes: Promise<number> | undefined;

  constructor(options: DiskMediaStoreOptions) {
    this.#options = options;
  }

  async put(bytes: Uint8Array): Promise<string> {
    const { maxBytes } = this.#options;
    const location = newLocation(bytes);
    const path = this.#pathOf(location);
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const usedBytes = (await this.used()) + bytes.length;
      if (usedBytes > maxBytes) {
        throw new MediaError('MEDIA_UNAVAILABLE', say('media.folder-full', { folder: this.#options.folder }));
      }
      this.#usedBytes = Promise.resolve(usedBytes);
      await write(`${path}${PART}`, bytes);
      await rename(`${path}${PART}`, path);
      await syncFolder(dirname(path));
      return location;
    } catch (error) {
      await rm(`${path}${PART}`, { force: true }).catch(() => undefined);
      throw storeError(error, 'media.not-written');
    }
  }

  async get(location: string): Promise<Uint8Array> {
    try {
      return checkHash(location, await readFile(this.#pathOf(location)));
    } catch (error) {
      throw storeError(error, 'media.not-read');
    }
  }

  async remove(location: string): Promise<void> {
    const path = this.#pathOf(location);
    try {
      const { size } = await stat(path);
      await rm(path, { force: true });
      this.#usedBytes = this.used().then((used) => Math.max(0, used - size));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw storeError(error, 'media.not-removed');
    }
  }

  async *list(): AsyncGenerator<ListedFile> {
    const { folder } = this.#options;
    let usedBytes = 0;
    for (const part of await namesIn(folder)) {
      for (const name of await namesIn(join(folder, part))) {
        const location = `${part}/${name}`;
        const found = isLocation(location.replace(/\.part$/, ''))
          ? await stat(join(folder, location)).catch(() => undefined)
          : undefined;
        if (!found) continue;
        usedBytes += found.size;
        yield { location, sizeBytes: found.size, storedAtMs: found.mtimeMs };
      }
    }
    // Other processes may write to the same folder.
    this.#usedBytes = Promise.resolve(usedBytes);
  }

  /** Total size of all files, in bytes. @throws {MediaError} */
  used(): Promise<number> {
    this.#usedBytes ??= this.#count().catch((error: unknown) => {
      this.#usedBytes = undefined;
      throw error;
    });
    return this.#usedBytes;
  }

  async #count(): Promise<number> {
    let bytes = 0;
    for await (const { sizeBytes } of this.list()) bytes += sizeBytes;
    return bytes;
  }

  #pathOf(location: string): string {
    if (isLocation(location.replace(/\.part$/, ''))) return join(this.#options.folder, location);
    throw new MediaError('MEDIA_GONE', say('media.bad-location'));
  }
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  const file: FileHandle = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The name of a file is durable when its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return [];
    throw storeError(error, 'media.not-listed');
  }
}

function storeError(
  error: unknown,
  what: 'media.not-written' | 'media.not-read' | 'media.not-removed' | 'media.not-listed',
): MediaError {
  if (error instanceof MediaError) return error;
  const code = codeOf(error);
  if (code === 'ENOENT') return new MediaError('MEDIA_GONE', say('media.not-in-store'));
  return new MediaError('MEDIA_UNAVAILABLE', say(what, { code: code ?? 'unknown' }), {
    cause: error,
  });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

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
  throw new MediaError('MEDIA_BROKEN', say('media.changed', { location }));
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

interface ReplyFileStoresOptions {
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
    throw new MediaError('MEDIA_UNAVAILABLE', say('media.named-store-unknown', { store }));
  }

  #named(name: string): MediaStore | undefined {
    return this.#options.stores.find((store) => store.name === name);
  }
}
