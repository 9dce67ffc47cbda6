import { userKeyOf } from '../../router/src/core/access/caller.ts';
import type {
  ConsoleUser,
  ConsoleUsers,
  StoredConsoleUser,
  UserChange,
} from '../../router/src/core/ports/access.ts';

/** Users of the console in memory, for tests. */
export class MemoryConsoleUsers implements ConsoleUsers {
  readonly byKey = new Map<string, StoredConsoleUser>();
  /** Called with the name of a user who can have no session any more. */
  onGone: (name: string) => void = () => undefined;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async create(user: Pick<StoredConsoleUser, 'name' | 'role' | 'passwordHash'>) {
    if (this.byKey.has(userKeyOf(user.name))) return 'exists' as const;
    if (this.byKey.size === 0 && user.role !== 'owner') return 'owner-first' as const;
    const { name, role, passwordHash } = user;
    const stored = { name, role, passwordHash, createdAt: new Date(this.#now()) };
    this.byKey.set(userKeyOf(user.name), stored);
    return shown(stored);
  }

  async all(): Promise<ConsoleUser[]> {
    return [...this.byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, user]) => shown(user));
  }

  async hasAny(): Promise<boolean> {
    return this.byKey.size > 0;
  }

  async find(name: string): Promise<StoredConsoleUser | undefined> {
    return structuredClone(this.byKey.get(userKeyOf(name)));
  }

  async change(name: string, change: UserChange): Promise<ConsoleUser | 'unknown' | 'last-owner'> {
    const user = this.byKey.get(userKeyOf(name));
    if (!user) return 'unknown';
    const staysOwner = (change.role ?? 'owner') === 'owner' && change.isDisabled !== true;
    if (!staysOwner && !this.#hasOwnerBeside(name)) return 'last-owner';
    if (change.role) user.role = change.role;
    if (change.passwordHash) user.passwordHash = change.passwordHash;
    if (change.isDisabled === true) user.disabledAt ??= new Date(this.#now());
    if (change.isDisabled === false) delete user.disabledAt;
    if (user.disabledAt) this.onGone(user.name);
    return shown(user);
  }

  async delete(name: string): Promise<'deleted' | 'unknown' | 'last-owner'> {
    if (!this.byKey.has(userKeyOf(name))) return 'unknown';
    if (!this.#hasOwnerBeside(name)) return 'last-owner';
    this.byKey.delete(userKeyOf(name));
    this.onGone(name);
    return 'deleted';
  }

  #hasOwnerBeside(name: string): boolean {
    return [...this.byKey].some(
      ([key, user]) => key !== userKeyOf(name) && user.role === 'owner' && !user.disabledAt,
    );
  }
}

function shown(user: StoredConsoleUser): ConsoleUser {
  const { passwordHash: _hash, ...rest } = structuredClone(user);
  return rest;
}
