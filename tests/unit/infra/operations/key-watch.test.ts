import { describe, expect, it } from 'vitest';
import type { Caller, Role } from '../../../../router/src/core/access/caller.ts';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import type { StoredApiKey } from '../../../../router/src/core/ports/api-key-store.ts';
import { CHECK_EVERY_MS, KeyWatch } from '../../../../router/src/infra/operations/key-watch.ts';
import { MemoryConsoleSessions } from '../../../doubles/memory-console-sessions.ts';
import { MemoryConsoleUsers } from '../../../doubles/memory-console-users.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const aKey = (id: string): StoredApiKey => ({
  id,
  name: 'test',
  secretHash: new Uint8Array(),
  scopes: ['tasks'],
  limits: { perMinute: 100, perSecond: 10 },
  createdAt: new Date(0),
});
const callerOf = (key: StoredApiKey): Caller => ({ kind: 'key', key });

function setup() {
  const clock = new FakeClock();
  const [one, two] = [aKey('1'), aKey('2')];
  const stored = new Map([one, two].map((key) => [key.id, key]));
  const lookup = { failure: undefined as Error | undefined, reads: 0 };
  const find = async (id: string) => {
    lookup.reads += 1;
    if (lookup.failure) throw lookup.failure;
    return stored.get(id);
  };
  const users = new MemoryConsoleUsers(() => clock.now());
  const sessions = new MemoryConsoleSessions(users, () => clock.now());
  const watch = new KeyWatch({ keys: { find }, sessions, clock, log: quietLog });
  const ended: string[] = [];
  return { clock, users, sessions, watch, stored, lookup, ended, one, two };
}

describe('KeyWatch', () => {
  it('ends what runs for a revoked key, once, and nothing else', async () => {
    const { watch, stored, ended, one, two } = setup();
    watch.watch(callerOf(one), () => ended.push('1a'));
    watch.watch(callerOf(one), () => ended.push('1b'));
    watch.watch(callerOf(two), () => ended.push('2'));
    watch.watch({ kind: 'admin-key' }, () => ended.push('admin'));
    await watch.check();
    expect(ended).toEqual([]);
    stored.delete('1');
    await watch.check();
    await watch.check();
    expect(ended).toEqual(['1a', '1b']);
    watch.stop();
  });

  it('ends what runs for a session that ended, and for a user who got another role', async () => {
    const { watch, users, sessions, ended } = setup();
    await users.create({ name: 'eva', role: 'owner', passwordHash: '' });
    await users.create({ name: 'ana', role: 'operator', passwordHash: '' });
    const begin = async (id: string, name: string, role: Role) => {
      await sessions.create({ id, tokenHash: Buffer.from(id), userName: name });
      watch.watch({ kind: 'session', session: { id, user: { name, role } } }, () => ended.push(id));
    };
    await begin('1', 'eva', 'owner');
    await begin('2', 'eva', 'owner');
    await begin('3', 'ana', 'operator');
    await watch.check();
    expect(ended).toEqual([]);
    await sessions.end('1');
    await watch.check();
    await users.change('ana', { role: 'viewer' });
    await watch.check();
    expect(ended).toEqual(['1', '3']);
    watch.stop();
  });

  it('finds a key that expired, and one whose notification was lost, with its next check', async () => {
    const { clock, watch, stored, ended, one } = setup();
    stored.set('2', { ...aKey('2'), expiresAt: new Date(clock.now() + CHECK_EVERY_MS) });
    const gone = new Promise<void>((resolve) => watch.watch(callerOf(aKey('2')), resolve));
    watch.watch(callerOf(one), () => ended.push('1'));
    await clock.advanceMs(CHECK_EVERY_MS);
    await gone;
    expect(ended).toEqual([]);
    watch.stop();
  });

  it('ends nothing while the keys cannot be read', async () => {
    const { watch, lookup, stored, ended, one } = setup();
    watch.watch(callerOf(one), () => ended.push('1'));
    stored.delete('1');
    lookup.failure = new StorageUnavailableError({ sentence: 'down' });
    await watch.check();
    expect(ended).toEqual([]);
    lookup.failure = undefined;
    await watch.check();
    expect(ended).toEqual(['1']);
    watch.stop();
  });

  it('reads nothing for a watch that has ended', async () => {
    const { watch, lookup, stored, ended, one } = setup();
    const end = watch.watch(callerOf(one), () => ended.push('1'));
    end();
    stored.delete('1');
    await watch.check();
    expect({ ended, reads: lookup.reads }).toEqual({ ended: [], reads: 0 });
  });
});
