import type { Role } from '../access/caller.ts';
import { type Said, say } from '../phrases.ts';
import type { KeyLimits } from './api-key-store.ts';

/** A person who signs in to the console, without the password. */
export interface ConsoleUser {
  /** As its owner wrote it; unique without regard to case. */
  name: string;
  role: Role;
  createdAt: Date;
  /** The user cannot sign in from this time on. */
  disabledAt?: Date;
}

/** A user with the argon2id hash of the password. */
export interface StoredConsoleUser extends ConsoleUser {
  passwordHash: string;
}

/** What changes of a user; what is absent stays. */
export interface UserChange {
  role?: Role;
  passwordHash?: string;
  isDisabled?: boolean;
}

/**
 * Users of the console. Names are compared without regard to case. At any time one user is an owner who is not disabled,
 * once there is a user.
 * @throws {StorageUnavailableError} from every method
 */
export interface ConsoleUsers {
  /**
   * Adds a user.
   * @returns `exists`: the name is taken; `owner-first`: there is no user yet, and the first one must be an owner
   */
  create(
    user: Pick<StoredConsoleUser, 'name' | 'role' | 'passwordHash'>,
  ): Promise<ConsoleUser | 'exists' | 'owner-first'>;
  /** All users in the order of their names. */
  all(): Promise<ConsoleUser[]>;
  /** Whether there is a user, also a disabled one. */
  hasAny(): Promise<boolean>;
  find(name: string): Promise<StoredConsoleUser | undefined>;
  /** Changes a user. A user who becomes disabled has no session any more. @returns `last-owner`: nothing was changed */
  change(name: string, change: UserChange): Promise<ConsoleUser | 'unknown' | 'last-owner'>;
  /** Deletes a user with all sessions. @returns `last-owner`: nothing was changed */
  delete(name: string): Promise<'deleted' | 'unknown' | 'last-owner'>;
}

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
  /** The session with this hash of its token. */
  find(tokenHash: Uint8Array): Promise<StoredSession | undefined>;
  byId(id: string): Promise<StoredSession | undefined>;
  /** All sessions, oldest first. */
  all(): Promise<StoredSession[]>;
  /** Ends a session on every node. @returns false if there is none */
  end(id: string): Promise<boolean>;
  /** Ends the sessions of a user, or without a name those of the admin key, except one. @returns how many */
  endAllOf(userName: string | undefined, exceptId?: string): Promise<number>;
  /** Records a request now, unless one was recorded less than a minute ago. An ended session stays ended. */
  markSeen(id: string): Promise<void>;
}

/** The windows in which requests of a key are counted, the shorter one first. */
export const WINDOWS = [
  { name: 'second', seconds: 1, quotaOf: (limits: KeyLimits) => limits.perSecond },
  { name: 'minute', seconds: 60, quotaOf: (limits: KeyLimits) => limits.perMinute },
] as const;

export type WindowName = (typeof WINDOWS)[number]['name'];

/** The state of one window after a request was counted in it. */
export interface WindowState {
  name: WindowName;
  /** Requests that are still allowed in it. */
  remaining: number;
  /** Milliseconds until it ends. */
  resetMs: number;
}

/**
 * The result of counting a request: the windows in which it was counted. The last one is full when the request is not
 * allowed.
 */
export interface LimitResult {
  isAllowed: boolean;
  windows: WindowState[];
}

/** Counts the requests of keys over all nodes, in fixed windows that begin with their first request. */
export interface RateLimiter {
  /**
   * Counts one request of a key. A request that is over the limit of a second is not counted in the minute.
   * @throws {StorageUnavailableError} it is not known whether the request was counted
   */
  count(keyId: string, limits: KeyLimits): Promise<LimitResult>;
}

export const MIN_PASSWORD_CHARS = 12;
/** Longer texts only cost time. */
const MAX_PASSWORD_CHARS = 256;
const MIN_DIFFERENT_CHARS = 5;

/** The form in which a password is hashed: keyboards write the same character in several ways. */
export function normalPassword(password: string): string {
  return password.normalize('NFKC');
}

/** Why this text is not a password for the user, as the end of a sentence that begins with the field; undefined: it is one. */
export function passwordProblem(password: string, name: string): Said | undefined {
  const characters = [...normalPassword(password)];
  if (characters.length < MIN_PASSWORD_CHARS) return say('field.min-chars', { min: MIN_PASSWORD_CHARS });
  if (characters.length > MAX_PASSWORD_CHARS) return say('field.max-chars', { max: MAX_PASSWORD_CHARS });
  if (new Set(characters).size < MIN_DIFFERENT_CHARS) {
    return say('field.different-chars', { min: MIN_DIFFERENT_CHARS });
  }
  const rest = characters.join('').toLowerCase().replaceAll(name.toLowerCase(), '');
  return rest.length < MIN_PASSWORD_CHARS / 2 ? say('field.not-name') : undefined;
}
