import { describe, expect, it } from 'vitest';
import { StorageRejectedError, StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { KeyChange, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import { GroupCommit } from '../../../../../router/src/providers/baileys/signal/group-commit.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

class WatchedStore extends MemoryKeyStore {
  readonly commits: KeyChange[] = [];
  failures = 0;
  gate: Promise<void> = Promise.resolve();
  /** Value that is rejected. */
  rejected: string | undefined;

  override async commit(scope: KeyScope, change: KeyChange): Promise<void> {
    this.commits.push(change);
    await this.gate;
    if (change.puts.some(({ value }) => value === this.rejected)) throw new StorageRejectedError('rejected');
    if (this.failures > 0) {
      this.failures -= 1;
      throw new StorageUnavailableError('no database');
    }
    await super.commit(scope, change);
  }
}

function setup() {
  const store = new WatchedStore();
  const clock = new FakeClock();
  const commits = new GroupCommit(store, { accountId: 'main', generation: 1 }, clock);
  const observed: Array<number | string> = [];
  commits.listen({
    durable: (unit) => observed.push(unit),
    failed: () => observed.push('failed'),
    rejected: (unit) => observed.push(`rejected ${unit}`),
  });
  const append = (keyId: string, value: string | undefined, isStanza = false) =>
    commits.append([{ category: 'session', keyId, value }], { isStanza });
  const holdCommits = () => {
    let open: () => void = () => undefined;
    store.gate = new Promise((resolve) => {
      open = resolve;
    });
    return open;
  };
  return { store, clock, commits, observed, append, holdCommits };
}

const put = (keyId: string, value: string) => ({ category: 'session', keyId, value });

describe('GroupCommit', () => {
  it('carries all units appended while a commit runs in the next one, and the last write of a key', async () => {
    const { store, commits, append, observed, holdCommits } = setup();
    const open = holdCommits();
    expect(append('a', '1')).toBe(1);
    await settle();
    append('a', '2');
    append('b', '2');
    append('a', '3');
    append('c', undefined);
    expect([commits.appended, commits.durable]).toEqual([5, 0]);
    open();
    await commits.flush();
    expect(store.commits).toEqual([
      { puts: [put('a', '1')], deletes: [], journal: [] },
      { puts: [put('a', '3'), put('b', '2')], deletes: [{ category: 'session', keyId: 'c' }], journal: [] },
    ]);
    expect(observed).toEqual([1, 5]);
    expect(commits.durable).toBe(5);
  });

  it('voids all units appended before and after a failed commit until it recovers', async () => {
    const { store, clock, commits, append, observed, holdCommits } = setup();
    store.failures = 3;
    const open = holdCommits();
    append('a', '1');
    await settle();
    append('b', '1');
    open();
    await settle();
    await clock.advanceMs(1_000);
    await expect(commits.flush()).rejects.toThrow(StorageUnavailableError);
    expect(() => append('c', '1')).toThrow(StorageUnavailableError);
    expect(observed).toEqual(['failed']);
    await commits.recover();
    expect(append('d', '1')).toBe(3);
    await commits.flush();
    expect(observed).toEqual(['failed', 3]);
    const names = ['a', 'b', 'c', 'd'].map((keyId) => ({ category: 'session', keyId }));
    expect(await store.read({ accountId: 'main', generation: 1 }, names)).toEqual([put('d', '1')]);
  });

  it('leaves out the unit of a stanza that the database rejects, and stores the others, in their order', async () => {
    const { store, commits, append, observed } = setup();
    store.rejected = 'bad';
    append('a', '1', true);
    append('b', 'bad', true);
    append('a', '2');
    await commits.flush();
    expect(observed).toEqual(['rejected 2', 3]);
    const names = ['a', 'b'].map((keyId) => ({ category: 'session', keyId }));
    expect(await store.read({ accountId: 'main', generation: 1 }, names)).toEqual([put('a', '2')]);
    expect(store.commits).toHaveLength(4);
  });

  it('fails when the database rejects a unit of something that was sent', async () => {
    const { store, commits, append, observed } = setup();
    store.rejected = 'bad';
    append('a', 'bad');
    await expect(commits.flush()).rejects.toThrow(StorageRejectedError);
    expect(observed).toEqual(['failed']);
  });
});
