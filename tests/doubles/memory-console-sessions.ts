import { userKeyOf } from '../../router/src/core/access/caller.ts';
import {
  type ConsoleSession,
  type ConsoleSessions,
  MAX_SESSIONS,
  type NewSession,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
  type StoredSession,
} from '../../router/src/core/ports/access.ts';
import type { MemoryConsoleUsers } from './memory-console-users.ts';

type Row = Omit<StoredSession, 'user'> & { userName?: string };

/** Sessions of the console in memory, for tests. */
export class MemoryConsoleSessions implements ConsoleSessions {
  #rows: Row[] = [];
  readonly #users: MemoryConsoleUsers;
  readonly #now: () => number;

  constructor(users: MemoryConsoleUsers, now: () => number = Date.now) {
    this.#users = users;
    this.#now = now;
    users.onGone = (name) => void this.endAllOf(name);
  }

  async create(session: NewSession): Promise<ConsoleSession | undefined> {
    const user = session.userName === undefined ? undefined : await this.#users.find(session.userName);
    if (session.userName !== undefined && (!user || user.disabledAt)) return undefined;
    const nowMs = this.#now();
    const own = this.#rows
      .filter((row) => isOf(row, session.userName))
      .sort((a, b) => b.lastSeenAt.getTime() - a.lastSeenAt.getTime());
    const old = new Set(own.slice(MAX_SESSIONS - 1));
    const times = { createdAt: new Date(nowMs), lastSeenAt: new Date(nowMs) };
    const row = { ...structuredClone(session), ...times, expiresAt: new Date(nowMs + SESSION_MAX_MS) };
    this.#rows = [...this.#rows.filter((each) => !old.has(each)), row];
    const { tokenHash: _hash, adminKeyMac: _mac, userName: _name, ...shown } = structuredClone(row);
    return { ...shown, ...(user && { user: { name: user.name, role: user.role } }) };
  }

  all(): Promise<StoredSession[]> {
    return this.#where(() => true);
  }

  async #where(matches: (row: Row) => boolean): Promise<StoredSession[]> {
    const nowMs = this.#now();
    const found = this.#rows
      .filter(({ expiresAt }) => expiresAt.getTime() > nowMs)
      .filter(({ lastSeenAt }) => lastSeenAt.getTime() > nowMs - SESSION_IDLE_MS);
    return Promise.all(
      found.filter(matches).map(async ({ userName, ...row }) => {
        const user = userName === undefined ? undefined : await this.#users.find(userName);
        return { ...structuredClone(row), ...(user && { user: { name: user.name, role: user.role } }) };
      }),
    );
  }

  async find(tokenHash: Uint8Array): Promise<StoredSession | undefined> {
    return (await this.#where((row) => Buffer.from(row.tokenHash).equals(tokenHash)))[0];
  }

  async byId(id: string): Promise<StoredSession | undefined> {
    return (await this.#where((row) => row.id === id))[0];
  }

  async end(id: string): Promise<boolean> {
    const before = this.#rows.length;
    this.#rows = this.#rows.filter((row) => row.id !== id);
    return this.#rows.length < before;
  }

  async endAllOf(userName: string | undefined, exceptId?: string): Promise<number> {
    const before = this.#rows.length;
    this.#rows = this.#rows.filter((row) => !isOf(row, userName) || row.id === exceptId);
    return before - this.#rows.length;
  }

  async markSeen(id: string): Promise<void> {
    const row = this.#rows.find((each) => each.id === id);
    const nowMs = this.#now();
    if (!row || nowMs - row.lastSeenAt.getTime() <= 60_000) return;
    if (row.lastSeenAt.getTime() > nowMs - SESSION_IDLE_MS) row.lastSeenAt = new Date(nowMs);
  }
}

function isOf(row: Row, userName: string | undefined): boolean {
  if (row.userName === undefined || userName === undefined) return row.userName === userName;
  return userKeyOf(row.userName) === userKeyOf(userName);
}
