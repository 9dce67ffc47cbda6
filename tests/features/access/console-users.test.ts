import { randomBytes, randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeEach, describe, expect, it } from 'vitest';
import { delaysOf, NAME_DELAYS } from '../../../router/src/core/access/failed-attempts.ts';
import {
  type ConsoleSessions,
  type ConsoleUsers,
  MAX_SESSIONS,
} from '../../../router/src/core/ports/access.ts';
import { PostgresConsoleSessions } from '../../../router/src/features/access/console-sessions.ts';
import { PostgresConsoleUsers } from '../../../router/src/features/access/postgres-console-users.ts';
import { type LoginAttempts, PostgresLoginAttempts } from '../../../router/src/features/access/sign-in.ts';
import { MemoryConsoleSessions } from '../../doubles/memory-console-sessions.ts';
import { MemoryConsoleUsers } from '../../doubles/memory-console-users.ts';
import { MemoryLoginAttempts } from '../../doubles/memory-login-attempts.ts';
import { testDatabase } from '../../support/database.ts';

interface Opened {
  users: ConsoleUsers;
  sessions: ConsoleSessions;
  attempts: LoginAttempts;
  /** Lets everything stored be so much older. */
  age(ms: number): Promise<void>;
}

const database = testDatabase();

const adapters: Array<[string, () => Promise<Opened>]> = [
  [
    'memory',
    async () => {
      let nowMs = Date.UTC(2026, 0, 1);
      const users = new MemoryConsoleUsers(() => nowMs);
      return {
        users,
        sessions: new MemoryConsoleSessions(users, () => nowMs),
        attempts: new MemoryLoginAttempts(() => nowMs),
        age: async (ms) => {
          nowMs += ms;
        },
      };
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const postgres = database.open();
      await postgres.execute(sql`TRUNCATE console_user, console_session, login_attempt`);
      return {
        users: new PostgresConsoleUsers(postgres),
        sessions: new PostgresConsoleSessions(postgres),
        attempts: new PostgresLoginAttempts(postgres),
        age: async (ms) => {
          const by = sql`${ms}::bigint * interval '1 millisecond'`;
          await postgres.execute(sql`UPDATE console_session SET created_at = created_at - ${by},
            last_seen_at = last_seen_at - ${by}, expires_at = expires_at - ${by}`);
          await postgres.execute(
            sql`UPDATE login_attempt SET last_at = last_at - ${by}, allowed_at = allowed_at - ${by}`,
          );
        },
      };
    },
  ],
];

const user = (name: string, role: 'owner' | 'operator' | 'viewer') => ({ name, role, passwordHash: 'h' });

describe.each(adapters)('users of the console in %s', (_name, open) => {
  let at: Opened;
  beforeEach(async () => {
    at = await open();
  });
  const begin = async (userName?: string) => {
    const id = randomUUID();
    const mac = userName === undefined ? { adminKeyMac: randomBytes(32) } : { userName };
    const created = await at.sessions.create({
      id,
      tokenHash: randomBytes(32),
      ...mac,
      userAgent: 'a browser',
    });
    return created && id;
  };
  const ids = async () => (await at.sessions.all()).map(({ id }) => id);

  it('begins with an owner, and has each name once whatever its case is', async () => {
    expect(await at.users.hasAny()).toBe(false);
    expect(await at.users.create(user('ana', 'operator'))).toBe('owner-first');
    expect(await at.users.create(user('Ana', 'owner'))).toEqual({
      ...{ name: 'Ana', role: 'owner' },
      createdAt: expect.any(Date),
    });
    expect(await at.users.hasAny()).toBe(true);
    expect(await at.users.create(user('ANA', 'viewer'))).toBe('exists');
    expect(await at.users.find('aNA')).toMatchObject({ name: 'Ana', passwordHash: 'h' });
    await at.users.create(user('Abel', 'viewer'));
    expect((await at.users.all()).map(({ name }) => name)).toEqual(['Abel', 'Ana']);
  });

  it('keeps the last owner who can sign in', async () => {
    await at.users.create(user('ana', 'owner'));
    await at.users.create(user('eva', 'operator'));
    expect(await at.users.delete('ana')).toBe('last-owner');
    expect(await at.users.change('ana', { role: 'viewer' })).toBe('last-owner');
    expect(await at.users.change('ana', { isDisabled: true })).toBe('last-owner');
    expect(await at.users.change('nobody', { role: 'viewer' })).toBe('unknown');
    expect(await at.users.delete('nobody')).toBe('unknown');
    expect(await at.users.change('eva', { role: 'owner' })).toMatchObject({ role: 'owner' });
    expect(await at.users.change('eva', { isDisabled: true })).toMatchObject({
      disabledAt: expect.any(Date),
    });
    expect(await at.users.delete('ana')).toBe('last-owner');
    expect(await at.users.change('eva', { isDisabled: false })).not.toHaveProperty('disabledAt');
    expect(await at.users.delete('ana')).toBe('deleted');
    expect((await at.users.all()).map(({ name }) => name)).toEqual(['eva']);
  });

  it('keeps one of two owners who remove each other at once', async () => {
    for (let round = 0; round < 5; round++) {
      await at.users.create(user('ana', 'owner'));
      await at.users.create(user('eva', 'owner'));
      await Promise.all([
        at.users.change('ana', { role: 'viewer' }),
        at.users.change('eva', { role: 'viewer' }),
      ]);
      const owners = (await at.users.all()).filter(({ role }) => role === 'owner');
      expect(owners).toHaveLength(1);
      for (const name of ['ana', 'eva']) await at.users.change(name, { role: 'owner' });
    }
  });

  it('have sessions with their role of now, which end one by one and together', async () => {
    await at.users.create(user('ana', 'owner'));
    await at.users.create(user('eva', 'owner'));
    const [one, two, other, admin] = [
      await begin('ana'),
      await begin('ANA'),
      await begin('eva'),
      await begin(),
    ];
    expect(await begin('nobody')).toBeUndefined();
    await at.users.change('eva', { role: 'viewer' });
    const found = (await at.sessions.all()).find(({ id }) => id === other);
    expect(found).toMatchObject({ user: { name: 'eva', role: 'viewer' }, userAgent: 'a browser' });
    expect(await at.sessions.end(one ?? '')).toBe(true);
    expect(await at.sessions.end(one ?? '')).toBe(false);
    const three = await begin('ana');
    expect(await at.sessions.endAllOf('Ana', two)).toBe(1);
    expect((await ids()).sort()).toEqual([two, other, admin].sort());
    expect(await ids()).not.toContain(three);
    expect(await at.sessions.endAllOf(undefined)).toBe(1);
    await at.users.change('eva', { isDisabled: true });
    expect(await ids()).toEqual([two]);
    await at.users.change('eva', { isDisabled: false, role: 'owner' });
    expect(await ids()).toEqual([two]);
    await at.users.delete('ana');
    expect(await ids()).toEqual([]);
  });

  it('have sessions that end without requests, and that are limited', async () => {
    const first = await begin();
    await at.age(11 * 3_600_000);
    await at.sessions.markSeen(first ?? '');
    await at.age(11 * 3_600_000);
    expect(await ids()).toEqual([first]);
    await at.age(2 * 3_600_000);
    expect(await ids()).toEqual([]);
    await at.sessions.markSeen(first ?? '');
    expect(await ids()).toEqual([]);
    const oldest = await begin();
    for (let n = 0; n < MAX_SESSIONS; n++) {
      await at.age(1_000);
      await begin();
    }
    expect(await ids()).toHaveLength(MAX_SESSIONS);
    expect(await ids()).not.toContain(oldest);
  });

  it('counts attempts, delays them, and does not count what it refuses', async () => {
    const attempt = { key: `name:${randomUUID()}`, delaysMs: delaysOf(NAME_DELAYS) };
    for (let n = 0; n < 5; n++) expect(await at.attempts.begin(attempt)).toBe(0);
    for (const delayMs of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      for (let n = 0; n < 2; n++) {
        const waitMs = await at.attempts.begin(attempt);
        expect(waitMs).toBeLessThanOrEqual(delayMs);
        // A slow machine may need seconds for the statements.
        expect(waitMs).toBeGreaterThan(Math.max(delayMs - 60_000 * 0.9, 0));
      }
      // A second more, because the clocks of two processor cores may differ.
      await at.age(delayMs + 1_000);
      expect(await at.attempts.begin(attempt)).toBe(0);
    }
    await at.attempts.undo(attempt.key);
    expect(await at.attempts.begin(attempt)).toBe(0);
    expect(await at.attempts.begin(attempt)).toBeGreaterThan(0);
    await at.attempts.forget(attempt.key);
    for (let n = 0; n < 4; n++) expect(await at.attempts.begin(attempt)).toBe(0);
    await at.age(3_600_000 + 1_000);
    for (let n = 0; n < 5; n++) expect(await at.attempts.begin(attempt)).toBe(0);
  });

  it('lets only one of many attempts at once pass when one is allowed', async () => {
    const attempt = { key: `name:${randomUUID()}`, delaysMs: [60_000] };
    const waits = await Promise.all(Array.from({ length: 20 }, () => at.attempts.begin(attempt)));
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(1);
  });
});
