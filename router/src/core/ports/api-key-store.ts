import type { Scope } from '../access/scopes.ts';

/** Requests that a key may make, counted over all nodes. */
export interface KeyLimits {
  perMinute: number;
  /** Burst: requests within one second. */
  perSecond: number;
}

/** A key of the API, without its secret. */
export interface ApiKey {
  /** Twelve hexadecimal digits, a visible part of the key. */
  id: string;
  name: string;
  scopes: readonly Scope[];
  /** Canonical channelIds of the only chats it may use; absent: all. */
  chats?: readonly string[];
  /** Ids of the only routes it may use; absent: all. */
  routes?: readonly string[];
  /** Ids of the only WhatsApp accounts it may use; absent: all. */
  accounts?: readonly string[];
  limits: KeyLimits;
  createdAt: Date;
  /** It is refused from this time on. */
  expiresAt?: Date;
  /** Of its last accepted request, at most about a minute too early. */
  lastUsedAt?: Date;
}

/** A key with the SHA-256 of its text. */
export interface StoredApiKey extends ApiKey {
  secretHash: Uint8Array;
}

export type NewApiKey = Omit<StoredApiKey, 'createdAt' | 'lastUsedAt'>;

/**
 * Keys of the API.
 * @throws {StorageUnavailableError} from every method
 */
export interface ApiKeyStore {
  /** Stores a key. @throws {StorageRejectedError} the id exists; nothing was changed */
  create(key: NewApiKey): Promise<ApiKey>;
  /** The key with this id, also if it has expired. */
  find(id: string): Promise<StoredApiKey | undefined>;
  /** All keys, oldest first, also expired ones. One that this version cannot read is absent. */
  all(): Promise<StoredApiKey[]>;
  /** Deletes a key; every node refuses it from then on. @returns false if there is none */
  delete(id: string): Promise<boolean>;
  /** Records a use now, unless one was recorded less than a minute ago. A deleted key stays deleted. */
  markUsed(id: string): Promise<void>;
}
