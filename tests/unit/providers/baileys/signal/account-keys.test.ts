import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { KeyChange, KeyName, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import {
  AccountKeys,
  KeyTransaction,
} from '../../../../../router/src/providers/baileys/signal/account-keys.ts';
import { GroupCommit } from '../../../../../router/src/providers/baileys/signal/group-commit.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const SCOPE = { accountId: 'main', generation: 1 };

class WatchedStore extends MemoryKeyStore {
  readonly reads: string[][] = [];
  isDown = false;

  override async read(scope: KeyScope, names: readonly KeyName[]) {
    this.reads.push(names.map(({ keyId }) => keyId));
    if (this.isDown) throw new StorageUnavailableError('no database');
    return super.read(scope, names);
  }

  override async commit(scope: KeyScope, change: KeyChange): Promise<void> {
    if (this.isDown) throw new StorageUnavailableError('no database');
    await super.commit(scope, change);
  }
}

async function setup(stored: Record<string, string> = {}) {
  const store = new WatchedStore();
  const puts = Object.entries(stored).map(([keyId, value]) => ({ category: 'lid-mapping', keyId, value }));
  await store.commit(SCOPE, { puts, deletes: [], journal: [] });
  const clock = new FakeClock();
  const commits = new GroupCommit(store, SCOPE, clock);
  const failures: unknown[] = [];
  const unreadable: string[] = [];
  const keys = new AccountKeys({
    store,
    scope: SCOPE,
    commits,
    onStorageFailed: (error) => failures.push(error),
    onKeyUnreadable: (category) => unreadable.push(category),
  });
  const get = (...keyIds: string[]) => keys.get('lid-mapping', keyIds);
  const write = (keyId: string, value: string | null) => {
    const unit = new KeyTransaction();
    unit.set({ 'lid-mapping': { [keyId]: value as string } });
    return keys.append(unit);
  };
  return { store, clock, commits, keys, get, write, failures, unreadable };
}

describe('AccountKeys', () => {
  it('reads a key from the store once, also one that does not exist', async () => {
    const { store, get } = await setup({ a: '"1"' });
    expect(await get('a', 'b')).toEqual({ a: '1' });
    expect(await get('a', 'b')).toEqual({ a: '1' });
    expect(store.reads).toEqual([['a', 'b']]);
  });

  it('reads the keys that are requested at the same time in one query', async () => {
    const { store, keys, get } = await setup({ a: '"1"', b: '"2"' });
    const warm = keys.warm([{ category: 'lid-mapping', keyId: 'c' }]);
    expect(await Promise.all([get('a'), get('b', 'a'), warm])).toMatchObject([
      { a: '1' },
      { a: '1', b: '2' },
      undefined,
    ]);
    expect(store.reads).toEqual([['c', 'a', 'b']]);
  });

  it('shows a write at once, and stores it with the next commit', async () => {
    const { store, commits, get, write } = await setup({ a: '"1"', b: '"2"' });
    write('a', 'new');
    write('b', null);
    expect(await get('a', 'b')).toEqual({ a: 'new' });
    await commits.flush();
    expect(await get('a', 'b')).toEqual({ a: 'new' });
    const name = (keyId: string) => ({ category: 'lid-mapping', keyId });
    expect([store.stored(SCOPE, name('a')), store.stored(SCOPE, name('b'))]).toEqual(['"new"', undefined]);
    expect(store.reads).toEqual([]);
  });

  it('keeps a write that is newer than a read that started before it', async () => {
    const { get, write } = await setup({ a: '"1"' });
    const read = get('a');
    write('a', 'new');
    await read;
    expect(await get('a')).toEqual({ a: 'new' });
  });

  it('drops the writes of a failed commit and reads again what is stored', async () => {
    const { store, clock, commits, get, write, failures } = await setup({ a: '"1"' });
    store.isDown = true;
    write('a', 'void');
    for (const waitMs of [50, 250]) {
      await settle();
      await clock.advanceMs(waitMs);
    }
    await commits.settled();
    expect(failures).toEqual([expect.any(StorageUnavailableError)]);
    expect(() => write('a', 'void')).toThrow(StorageUnavailableError);
    store.isDown = false;
    await commits.recover();
    expect(await get('a')).toEqual({ a: '1' });
  });

  it('reports a store that does not answer, and asks again at the next read', async () => {
    const { store, get, failures } = await setup({ a: '"1"' });
    store.isDown = true;
    await expect(get('a')).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(failures).toHaveLength(1);
    store.isDown = false;
    expect(await get('a')).toEqual({ a: '1' });
  });

  it('reports an unreadable key once and treats it as absent', async () => {
    const { get, unreadable } = await setup({ a: '{' });
    expect(await get('a')).toEqual({});
    expect(await get('a')).toEqual({});
    expect(unreadable).toEqual(['lid-mapping']);
  });
});
