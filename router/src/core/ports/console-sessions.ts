import type { Role } from '../access/roles.ts';

/** A session ends when its browser sends nothing for this long ... */
export const SESSION_IDLE_MS = 12 * 3_600_000;
/** ... and this long after it began in any case. */
export const SESSION_MAX_MS = 7 * 86_400_000;
/** Sessions of one user, or of the admin key. A further one ends the one that was not seen for longest. */
export const MAX_SESSIONS = 20;

/** A browser that is signed in. */
export interface ConsoleSession {
  id: string;
  /** Absent: signed in with the admin key. The role is that of now. */
  user?: { name: string; role: Role };
  createdAt: Date;
  /** Of its last request, at most about a minute too early. */
  lastSeenAt: Date;
  /** It ends then, or before, when its browser sends nothing. */
  expiresAt: Date;
  /** What the browser says it is, shortened. */
  userAgent?: string;
  /** From which it was signed in: of the browser, or of the proxy before it. */
  address?: string;
}

/** A session with what its cookie is checked against. */
export interface StoredSession extends ConsoleSession {
  /** SHA-256 of the token in the cookie. */
  tokenHash: Uint8Array;
  /** HMAC of the token under the admin key; only without a user. */
  adminKeyMac?: Uint8Array;
}

/** A session to store; `expiresAt` follows from the time at which it is stored. */
export interface NewSession
  extends Pick<StoredSession, 'id' | 'tokenHash' | 'adminKeyMac' | 'userAgent' | 'address'> {
  /** Name of its user. */
  userName?: string;
}

/**
 * Sessions of the console. A session that has ended, and one of a disabled user, does not exist.
 * @throws {StorageUnavailableError} from every method
 */
export interface ConsoleSessions {
  /** Stores a session, and ends the oldest ones beyond MAX_SESSIONS. @returns undefined: the user is gone or disabled */
  create(session: NewSession): Promise<ConsoleSession | undefined>;
  /** All sessions, oldest first. */
  all(): Promise<StoredSession[]>;
  /** Ends a session on every node. @returns false if there is none */
  end(id: string): Promise<boolean>;
  /** Ends the sessions of a user, or without a name those of the admin key, except one. @returns how many */
  endAllOf(userName: string | undefined, exceptId?: string): Promise<number>;
  /** Records a request now, unless one was recorded less than a minute ago. An ended session stays ended. */
  markSeen(id: string): Promise<void>;
}

/** Finds the session of a request. */
export interface SessionLookup {
  /** The session with this hash of its token. @throws {StorageUnavailableError} */
  find(tokenHash: Uint8Array): Promise<StoredSession | undefined>;
  /** The session with this id. @throws {StorageUnavailableError} */
  byId(id: string): Promise<StoredSession | undefined>;
}
