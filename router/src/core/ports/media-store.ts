/** A file outside of the database. */
export interface StoredFile {
  /** The name of its store. */
  store: StoreName;
  /** Where it is there. */
  location: string;
}

export type StoreName = 'disk' | 's3';

/** A file of a store, as its list shows it. */
export interface ListedFile {
  location: string;
  sizeBytes: number;
  storedAtMs: number;
}

/** A place for files outside of the database, which every node reaches. */
export interface MediaStore {
  readonly name: StoreName;
  /**
   * Stores a file under a new location, which contains its SHA-256. It is durable when this resolves.
   * @throws {MediaError} it was not stored
   */
  put(bytes: Uint8Array): Promise<string>;
  /**
   * The file, checked against the hash of its location.
   * @throws {MediaError} `MEDIA_UNAVAILABLE` · `MEDIA_GONE` · `MEDIA_BROKEN`: it is not what was stored
   */
  get(location: string): Promise<Uint8Array>;
  /** Removes a file. Idempotent. @throws {MediaError} */
  remove(location: string): Promise<void>;
  /** All files of the store, in no order. @throws {MediaError} */
  list(): AsyncIterable<ListedFile>;
}

/** Where the files of replies are: in a store, or with their rows in the database. */
export interface ReplyFileStore {
  /** @returns where the file is; undefined: the database is to have it, because no store is used or it did not take the file */
  save(bytes: Uint8Array): Promise<StoredFile | undefined>;
  /** @throws {MediaError} */
  load(file: StoredFile): Promise<Uint8Array>;
}
