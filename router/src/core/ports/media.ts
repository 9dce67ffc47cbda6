import type { GivenFile } from '../delivery/agent-file.ts';
import type { PendingTurn } from '../turns/turn.ts';

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

/**
 * The files of received messages, loaded from WhatsApp when they are first needed. Works on every node: it needs no account's
 * connection.
 */
export interface MediaSource {
  /**
   * The bytes of a stored message's file, checked against what the message says.
   * @throws {MediaError} and, when `signal` aborts, the signal's reason
   * @throws {StorageUnavailableError}
   */
  load(turn: Pick<PendingTurn, 'messageId' | 'accountId'>, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * A link to the file, for agents; undefined when there are none (`MediaLinks`).
   * @throws {StorageUnavailableError}
   */
  urlOf(turn: Pick<PendingTurn, 'messageId' | 'accountId' | 'message'>): Promise<string | undefined>;
}

/** A file of a person, as a link contains it. */
export interface LinkedFile {
  accountId: string;
  /** Absent: of a link that an earlier release made. */
  messageId?: string;
  /** The provider's reference to the file; a secret. */
  reference: string;
  /** As the sender wrote it. */
  mimeType: string;
  fileName?: string;
}

/** Links to files of people, for agents. Each node can open the links of the others. */
export interface MediaLinks {
  /** This wa2ai knows its own address. Without it there are no links. */
  readonly isOn: boolean;
  /**
   * An address from which the file can be loaded for an hour; undefined unless `isOn`.
   * @throws {StorageUnavailableError}
   */
  urlOf(file: LinkedFile): Promise<string | undefined>;
  /**
   * What a link leads to, by the last part of its address.
   * @returns `expired`, or `unknown` for what no wa2ai of this database made
   * @throws {StorageUnavailableError}
   */
  open(token: string): Promise<LinkedFile | 'expired' | 'unknown'>;
}

/** Files of people that were loaded once, kept beside their messages until they are too old. */
export interface MessageFiles {
  /**
   * The file of a message; undefined: it is not stored, or its author took the message back before it was answered.
   * @throws {MediaError} its store cannot be used, or it is not what was stored · {StorageUnavailableError}
   */
  load(messageId: string): Promise<Uint8Array | undefined>;
  /** Stores the file of a message. Idempotent. @throws {StorageUnavailableError} it is not stored */
  save(messageId: string, bytes: Uint8Array): Promise<void>;
}

/** A picture that a Markdown text names: `raw` is its part of the text. */
export interface MarkdownPicture {
  raw: string;
  url: string;
}

/** Where pictures in Markdown come from. */
export interface Pictures {
  /** The pictures of a text, in order; none of those in code. Must not throw. */
  find(markdown: string): MarkdownPicture[];
  files: WebFiles;
}

/** Files of web servers. */
export interface WebFiles {
  /**
   * Loads a file. Follows a few redirects; each address is checked by the egress rule.
   * @param url http:// or https://
   * @param options.hosts the only hosts that may be asked, redirects included; absent: every one
   * @throws {FileRefusedError} it was not loaded; the sentence names the host at most
   * @throws the signal's reason when it aborts
   */
  load(url: string, options?: { signal?: AbortSignal; hosts?: readonly string[] }): Promise<GivenFile>;
}
