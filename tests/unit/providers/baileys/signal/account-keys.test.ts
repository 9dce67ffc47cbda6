import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { KeyChange, KeyName, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import {
  AccountKeys,
  KeyTransaction,
} from '../../../../../router/src/providers/baileys/signal/account-keys.ts';
import { GroupCommit } from '../../../../../router/src/providers/baileys/signal/group-commit.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const SCOPE = { accountId: 'main', generation: 1 };

class WatchedStore extends MemoryKeyStore {
  readonly reads: string[][] = [];
  isDown = false;

  override async read(scope: KeyScope, names: readonly KeyName[]) {
    this.reads.push(names.map(({ keyId }) => keyId));
    if (this.isDown) throw new StorageUnavailableError({ sentence: 'no database' });
    return super.read(scope, names);
  }

  override async commit(scope: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    if (this.isDown) throw new StorageUnavailableError({ sentence: 'no database' });
    return super.commit(scope, change);
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
  it('keeps a write that is newer than a read that started before it', async () => {
    const { get, write } = await setup({ a: '"1"' });
    const read = get('a');
    write('a', 'new');
    await read;
    expect(await get('a')).toEqual({ a: 'new' });
  });

  it('reports a store that does not answer, and asks again at the next read', async () => {
    const { store, get, failures } = await setup({ a: '"1"' });
    store.isDown = true;
    await expect(get('a')).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(failures).toHaveLength(1);
    store.isDown = false;
    expect(await get('a')).toEqual({ a: '1' });
  });
});
