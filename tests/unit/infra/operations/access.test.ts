import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { NewApiKey } from '../../../../router/src/core/ports/api-key-store.ts';
import { Access, newKey } from '../../../../router/src/infra/operations/access.ts';
import {
  adminKeyMac,
  newSessionToken,
  sessionTokenHash,
} from '../../../../router/src/infra/operations/session-cookie.ts';
import { MemoryApiKeyStore } from '../../../doubles/memory-api-key-store.ts';
import { MemoryConsoleSessions } from '../../../doubles/memory-console-sessions.ts';
import { MemoryConsoleUsers } from '../../../doubles/memory-console-users.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const ADMIN_KEY = 'an-admin-key-for-tests';

/** With `isOpen` there is no admin key. */
async function setup({ isOpen = false, key = {} as Partial<NewApiKey> } = {}) {
  const clock = new FakeClock();
  const keys = new MemoryApiKeyStore(() => clock.now());
  const log = recordingLog();
  const users = new MemoryConsoleUsers(() => clock.now());
  const sessions = new MemoryConsoleSessions(users, () => clock.now());
  const presence = { hasUsers: false };
  const adminKey = isOpen ? undefined : ADMIN_KEY;
  const access = new Access({ adminKey, keys, sessions, presence, clock, log });
  const { id, text, secretHash } = newKey();
  const limits = { perMinute: 100, perSecond: 10 };
  await keys.create({ name: 'test', scopes: ['tasks'], limits, ...key, id, secretHash });
  const from = (address = '10.0.0.1') => ({ address, socket: new EventEmitter() });
  const guess = async (times: number) => {
    for (let n = 0; n < times; n++) await access.callerOf(`wrong-${n}`, from());
  };
  return { access, users, sessions, presence, clock, keys, log, id, text, from, guess };
}

describe('Access', () => {
  it('knows a key of the API, without its hash', async () => {
    const { access, text, id, from } = await setup();
    const caller = await access.callerOf(text, from());
    expect(caller).toMatchObject({ kind: 'key', key: { id, scopes: ['tasks'] } });
    expect(JSON.stringify(caller)).not.toContain('secretHash');
  });

  it('does not know another secret with the id of a key', async () => {
    const { access, id, from } = await setup();
    const other = newKey();
    const text = other.text.replace(other.id, id);
    expect(await access.callerOf(text, from())).toEqual({ kind: 'stranger', refusal: 'unknown' });
  });

  it('refuses a deleted key', async () => {
    const { access, keys, text, id, from } = await setup();
    await keys.delete(id);
    expect(await access.callerOf(text, from())).toEqual({ kind: 'stranger', refusal: 'unknown' });
  });

  it('refuses a key from its expiry on', async () => {
    const expiresAt = new Date(Date.UTC(2026, 0, 1) + 1_000);
    const { access, clock, text, from } = await setup({ key: { expiresAt } });
    await clock.advanceMs(999);
    expect((await access.callerOf(text, from())).kind).toBe('key');
    await clock.advanceMs(1);
    expect(await access.callerOf(text, from())).toEqual({ kind: 'stranger', refusal: 'expired' });
  });

  it('records the use of a key, and not of one that is refused', async () => {
    const { access, keys, clock, text, from } = await setup();
    await access.callerOf(`${text.slice(0, -4)}AAAA`, from());
    expect((await keys.all())[0]?.lastUsedAt).toBeUndefined();
    await access.callerOf(text, from());
    expect((await keys.all())[0]?.lastUsedAt).toEqual(new Date(clock.now()));
  });

  it('without an admin key, honours keys of the API and refuses any other', async () => {
    const { access, keys, text, id, from } = await setup({ isOpen: true });
    expect(await access.callerOf('any-other', from())).toEqual({ kind: 'stranger', refusal: 'unknown' });
    expect(await access.callerOf(text, from())).toMatchObject({ kind: 'key' });
    await keys.delete(id);
    expect(await access.callerOf(text, from())).toEqual({ kind: 'stranger', refusal: 'unknown' });
  });

  it('checks the admin key also while the keys cannot be read', async () => {
    const { access, keys, text, from } = await setup();
    keys.find = () => Promise.reject(new Error('away'));
    expect((await access.callerOf(ADMIN_KEY, from())).kind).toBe('admin-key');
    await expect(access.callerOf(text, from())).rejects.toThrow('away');
  });
});

describe('after wrong keys of an address', () => {
  it('does not let a key of the API wait, nor another address', async () => {
    const { access, guess, text, from } = await setup();
    await guess(3);
    expect((await access.callerOf(text, from())).kind).toBe('key');
    expect((await access.callerOf(ADMIN_KEY, from('10.0.0.2'))).kind).toBe('admin-key');
  });

  it('checks one key of a connection at a time', async () => {
    const { access, clock, guess, from } = await setup();
    await guess(3);
    const connection = from();
    const first = access.callerOf('another guess', connection);
    expect((await access.callerOf(ADMIN_KEY, connection)).kind).toBe('stranger');
    await clock.advanceMs(250);
    expect((await first).kind).toBe('stranger');
  });

  it('does not check the key of a caller that is gone', async () => {
    const { access, clock, guess, from } = await setup();
    await guess(3);
    const connection = from();
    const caller = access.callerOf(ADMIN_KEY, connection);
    connection.socket.emit('close');
    expect((await caller).kind).toBe('stranger');
    expect(clock.sleeping).toBe(0);
    expect(connection.socket.listenerCount('close')).toBe(0);
  });

  it('logs failures 1, 2, 4 with the address and without the key', async () => {
    const { log, guess } = await setup();
    await guess(3);
    expect(log.lines.map(({ fields }) => fields)).toEqual([
      { address: '10.0.0.1', failures: 1 },
      { address: '10.0.0.1', failures: 2 },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain('wrong-');
  });
});

describe('Access to sessions', () => {
  const begin = async (at: Awaited<ReturnType<typeof setup>>, adminKey?: string) => {
    const { id, token } = newSessionToken();
    const bound =
      adminKey === undefined ? { userName: 'ana' } : { adminKeyMac: adminKeyMac(adminKey, token) };
    await at.sessions.create({ id, tokenHash: sessionTokenHash(token), ...bound });
    return { id, token };
  };

  it('knows the user of a session, with the role of now', async () => {
    const at = await setup();
    await at.users.create({ name: 'eva', role: 'owner', passwordHash: '' });
    await at.users.create({ name: 'ana', role: 'operator', passwordHash: '' });
    const { id, token } = await begin(at);
    await at.users.change('ana', { role: 'viewer' });
    const session = { id, user: { name: 'ana', role: 'viewer' } };
    expect(await at.access.callerOfSession(token)).toEqual({ kind: 'session', session });
    await at.users.change('ana', { isDisabled: true });
    expect(await at.access.callerOfSession(token)).toBeUndefined();
  });

  it('ends a session of another admin key, and one that was not used for 12 hours', async () => {
    const at = await setup();
    const [other, own] = [await begin(at, 'the admin key before'), await begin(at, ADMIN_KEY)];
    expect(await at.access.callerOfSession(other.token)).toBeUndefined();
    expect(await at.access.callerOfSession(own.token)).toEqual({ kind: 'session', session: { id: own.id } });
    await at.clock.advanceMs(11 * 3_600_000);
    expect(await at.access.callerOfSession(own.token)).toBeDefined();
    await at.clock.advanceMs(12 * 3_600_000);
    expect(await at.access.callerOfSession(own.token)).toBeUndefined();
  });

  it('needs a login on this machine from the first user on', async () => {
    const { access, presence, from } = await setup({ isOpen: true });
    expect(await access.callerOf(undefined, from())).toEqual({ kind: 'loopback' });
    presence.hasUsers = true;
    expect(await access.callerOf(undefined, from())).toEqual({ kind: 'stranger' });
    expect(await access.callerOf('anything', from())).toEqual({ kind: 'stranger', refusal: 'unknown' });
  });
});
