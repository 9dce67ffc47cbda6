import { describe, expect, it } from 'vitest';
import { StorageRejectedError, StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { KeyChange, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import { GroupCommit } from '../../../../../router/src/providers/baileys/signal/group-commit.ts';
import { aMessage, aPerson } from '../../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../../doubles/memory-inbox.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { MemoryState } from '../../../../doubles/memory-state.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

class WatchedStore extends MemoryKeyStore {
  readonly commits: KeyChange[] = [];
  failures = 0;
  gate: Promise<void> = Promise.resolve();
  /** Value that is rejected. */
  rejected: string | undefined;

  override async commit(scope: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    this.commits.push(change);
    await this.gate;
    if (change.puts.some(({ value }) => value === this.rejected))
      throw new StorageRejectedError({ sentence: 'rejected' });
    if (this.failures > 0) {
      this.failures -= 1;
      throw new StorageUnavailableError({ sentence: 'no database' });
    }
    return super.commit(scope, change);
  }
}

function setup(hasInbox = false) {
  const inbox = hasInbox ? new MemoryInbox(new MemoryState()) : undefined;
  const store = new WatchedStore(new MemoryJournal(), inbox && (() => inbox));
  const stored = new Map<number, unknown>();
  const clock = new FakeClock();
  const commits = new GroupCommit(store, { accountId: 'main', generation: 1 }, clock);
  const observed: Array<number | string> = [];
  commits.listen({
    durable: (unit, added) => {
      observed.push(unit);
      for (const [name, value] of added) stored.set(name, value);
    },
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
  return { store, clock, commits, observed, stored, append, holdCommits };
}

const entryOf = (waMessageId: string) => ({
  ciphertextHash: `hash of ${waMessageId}`,
  stanzaOrder: 1n,
  waMessageId,
  plaintext: new Uint8Array(),
  stanza: new Uint8Array(),
});
const messageOf = (waMessageId: string) => ({
  message: { ...aMessage('main', aPerson()), waMessageId },
  node: 'n1',
});
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

  it('stores messages with the keys, and says which units have one', async () => {
    const { store, commits, stored } = setup(true);
    for (const name of ['A', 'B']) commits.append([], { journal: entryOf(name), message: messageOf(name) });
    commits.append([{ category: 'session', keyId: 'a', value: '1' }]);
    await commits.flush();
    expect(store.commits.map(({ journal, messages }) => [journal.length, messages?.length])).toEqual([
      [0, 2],
    ]);
    expect([...stored]).toMatchObject([
      [1, { message: { waMessageId: 'A' }, stored: { outcome: 'stored' } }],
      [2, { message: { waMessageId: 'B' }, stored: { outcome: 'stored' } }],
    ]);
  });

  it('stores the keys of a message that the inbox does not take, and its journal entry', async () => {
    const { store, commits, stored } = setup();
    commits.append([{ category: 'session', keyId: 'a', value: '1' }], {
      journal: entryOf('A'),
      message: messageOf('A'),
    });
    await commits.flush();
    expect(store.commits.map(({ journal, messages }) => [journal.length, messages?.length])).toEqual([
      [0, 1],
      [1, undefined],
    ]);
    expect([...stored]).toEqual([]);
  });

  it('fails when the database rejects a unit of something that was sent', async () => {
    const { store, commits, append, observed } = setup();
    store.rejected = 'bad';
    append('a', 'bad');
    await expect(commits.flush()).rejects.toThrow(StorageRejectedError);
    expect(observed).toEqual(['failed']);
  });
});
