import type { Role } from '../access/roles.ts';

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
