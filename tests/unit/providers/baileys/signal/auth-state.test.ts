import { BufferJSON, type SignalDataSet } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import type { JournalEntry } from '../../../../../router/src/core/ports/inbox.ts';
import {
  DAMAGED_VALUE,
  type KeyChange,
  type KeyScope,
} from '../../../../../router/src/core/ports/key-store.ts';
import {
  type AuthState,
  openAuthState,
} from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const scope: KeyScope = { accountId: 'main', generation: 1 };

/** Counts, fails and delays commits to the store. */
class WatchedStore extends MemoryKeyStore {
  commits: KeyChange[] = [];
  reads = 0;
  failures = 0;
  gate: Promise<void> = Promise.resolve();

  override async commit(at: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    this.commits.push(structuredClone(change));
    await this.gate;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new StorageUnavailableError({ sentence: 'no database' });
    }
    return super.commit(at, change);
  }

  override async read(...args: Parameters<MemoryKeyStore['read']>): ReturnType<MemoryKeyStore['read']> {
    this.reads += 1;
    return super.read(...args);
  }
}

let store: WatchedStore;
let journal: MemoryJournal;
let clock: FakeClock;
let storageFailures: number;
let unreadable: string[];

beforeEach(() => {
  journal = new MemoryJournal();
  store = new WatchedStore(journal);
  clock = new FakeClock();
  storageFailures = 0;
  unreadable = [];
});

const open = (): Promise<AuthState> =>
  openAuthState({
    store,
    scope,
    clock,
    onStorageFailed: () => {
      storageFailures += 1;
    },
    onKeyUnreadable: (category) => unreadable.push(category),
  });

const entry = (hash: string): JournalEntry => ({
  ciphertextHash: hash,
  stanzaOrder: 1n,
  waMessageId: 'A',
  plaintext: new Uint8Array([1, 2]),
  stanza: new Uint8Array([3]),
});

/** A promise that stays pending until `open` is called. */
function shut(): () => void {
  let letGo = () => {};
  store.gate = new Promise((resolve) => {
    letGo = resolve;
  });
  return () => letGo();
}

describe('keys', () => {
  it('are read back as written, byte for byte, also after a restart', async () => {
    const data: SignalDataSet = {
      'pre-key': { 1: { public: Buffer.from([1, 2]), private: Buffer.from([3]) } },
      'sender-key': { g: Buffer.from('[{"senderKeyId":7,"senderMessageKeys":[]}]') },
      'sender-key-memory': { g: { 'a@lid': true } },
      'lid-mapping': { 346: '777' },
      'device-list': { 346: ['0', '3'] },
      tctoken: { '346@lid': { token: Buffer.from([9]), timestamp: '17' } },
      'identity-key': { '346.0': Buffer.from([5, 6]) },
    };
    const first = await open();
    await first.keys.set(data);
    first.groupKeys.written('g');
    await first.steps.settled();
    await first.flush();
    const { keys } = await open();
    for (const [type, values] of Object.entries(data)) {
      expect(await keys.get(type as 'session', Object.keys(values))).toEqual(values);
    }
  });

  it('of skipped group messages stay bytes, in the form that Baileys can read', async () => {
    const state = [{ senderKeyId: 7, senderMessageKeys: [{ iteration: 2, seed: Buffer.from([1, 2, 3]) }] }];
    const auth = await open();
    await auth.keys.set({ 'sender-key': { g: Buffer.from(JSON.stringify(state)) } });
    const { g } = await auth.keys.get('sender-key', ['g']);
    expect(JSON.parse(Buffer.from(g ?? []).toString(), BufferJSON.reviver)).toEqual(state);
  });

  it('of one step are written in one commit, with the journal row that belongs to it', async () => {
    const { steps, commits } = await open();
    await steps.run(async (unit) => {
      unit.set({
        session: { a: { _sessions: {}, version: 'v1' } as never, b: { _sessions: {} } as never },
        'pre-key': { 7: null },
      });
      unit.journal = entry('h');
    });
    await commits.flush();
    expect(store.commits).toHaveLength(1);
    expect(store.commits[0]).toMatchObject({
      puts: [{ keyId: 'a' }, { keyId: 'b' }],
      deletes: [{ category: 'pre-key', keyId: '7' }],
      journal: [{ ciphertextHash: 'h' }],
    });
    expect(await journal.find('main', 'h')).toBeDefined();
  });

  it('of a step that fails are not written', async () => {
    const auth = await open();
    const failing = auth.steps.run(async (unit) => {
      unit.set({ 'lid-mapping': { a: '1' } });
      throw new Error('no such session');
    });
    await expect(failing).rejects.toThrow('no such session');
    expect(await auth.keys.get('lid-mapping', ['a'])).toEqual({});
    expect(store.commits).toHaveLength(0);
  });

  it('are written in the order of calls, many at a time when the store is slow', async () => {
    const { keys, flush } = await open();
    const letGo = shut();
    const first = keys.set({ 'lid-mapping': { a: '1' } });
    await settle();
    const rest = [
      keys.set({ 'lid-mapping': { a: '2', b: '2' } }),
      keys.set({ 'lid-mapping': { a: null } }),
      keys.set({ 'lid-mapping': { a: '4' } }),
    ];
    await Promise.all([first, ...rest]);
    expect(await keys.get('lid-mapping', ['a', 'b'])).toEqual({ a: '4', b: '2' });
    expect(store.commits).toHaveLength(1);
    letGo();
    await flush();
    expect(store.commits).toHaveLength(2);
    expect(await (await open()).keys.get('lid-mapping', ['a', 'b'])).toEqual({ a: '4', b: '2' });
  });

  it('are read from the store once, absent ones too', async () => {
    const { keys } = await open();
    const before = store.reads;
    await keys.get('tctoken', ['x', 'y']);
    await keys.get('tctoken', ['y', 'x']);
    expect(store.reads - before).toBe(1);
  });

  it('cannot be changed through a read value', async () => {
    const { keys } = await open();
    await keys.set({ 'device-list': { g: ['a'] } });
    const { g } = await keys.get('device-list', ['g']);
    g?.push('b');
    expect(await keys.get('device-list', ['g'])).toEqual({ g: ['a'] });
  });

  it('are unchanged when a commit fails three times, and nothing is accepted until the next connection', async () => {
    const auth = await open();
    const { keys } = auth;
    await keys.set({ 'lid-mapping': { a: '1' } });
    await auth.flush();
    store.failures = 3;
    await keys.set({ 'lid-mapping': { a: '2' } });
    await settle();
    await clock.advanceMs(1_000);
    await auth.flush();
    expect(storageFailures).toBe(1);
    expect(await keys.get('lid-mapping', ['a'])).toEqual({ a: '1' });
    await expect(keys.set({ 'lid-mapping': { a: '3' } })).rejects.toThrow(StorageUnavailableError);
    await auth.prepare();
    await keys.set({ 'lid-mapping': { a: '4' } });
    await auth.flush();
    expect(await (await open()).keys.get('lid-mapping', ['a'])).toEqual({ a: '4' });
  });

  it('survive two failed attempts of a commit', async () => {
    const auth = await open();
    store.failures = 2;
    await auth.keys.set({ 'lid-mapping': { a: '2' } });
    await settle();
    await clock.advanceMs(1_000);
    await auth.commits.flush();
    expect(storageFailures).toBe(0);
  });

  it('that are requested at one time are read in one query', async () => {
    const { keys } = await open();
    const before = store.reads;
    await Promise.all([keys.get('tctoken', ['x']), keys.get('session', ['y']), keys.get('tctoken', ['x'])]);
    expect(store.reads - before).toBe(1);
  });

  it('that cannot be read void the step, whatever it returns', async () => {
    const { steps } = await open();
    store.read = () => Promise.reject(new StorageUnavailableError({ sentence: 'no database' }));
    const step = steps.run(async (unit) => {
      await Promise.resolve(steps.keys.get('session', ['a'])).catch(() => undefined);
      unit.set({ session: { a: { _sessions: {} } as never } });
    });
    await expect(step).rejects.toThrow(StorageUnavailableError);
    expect(storageFailures).toBe(1);
    expect(store.commits).toHaveLength(0);
  });

  it('of another generation are not accessible', async () => {
    const first = await open();
    await first.keys.set({ 'lid-mapping': { a: '1' } });
    await first.flush();
    const next = await openAuthState({
      store,
      scope: { accountId: 'main', generation: 2 },
      clock,
      onKeyUnreadable: () => undefined,
      onStorageFailed: () => undefined,
    });
    expect(await next.keys.get('lid-mapping', ['a'])).toEqual({});
  });
});

describe('credentials', () => {
  it('are saved one write at a time, with the last state last', async () => {
    const auth = await open();
    const letGo = shut();
    auth.creds.nextPreKeyId = 2;
    auth.saveCreds();
    await settle();
    for (const id of [3, 4, 5]) {
      auth.creds.nextPreKeyId = id;
      auth.saveCreds();
    }
    expect(store.commits).toHaveLength(1);
    letGo();
    await auth.flush();
    expect(store.commits).toHaveLength(2);
    expect((await open()).creds.nextPreKeyId).toBe(5);
  });

  it('are stored together with the pre-keys that they count', async () => {
    const auth = await open();
    auth.creds.nextPreKeyId = 900;
    auth.saveCreds();
    await auth.keys.set({ 'pre-key': { 899: { public: Buffer.from([1]), private: Buffer.from([2]) } } });
    await auth.flush();
    const categories = store.commits.flatMap((commit) => commit.puts.map((put) => put.category));
    expect(categories).toEqual(['creds', 'pre-key']);
  });

  it('that could not be saved are saved before the next connection', async () => {
    const auth = await open();
    auth.creds.nextPreKeyId = 42;
    store.failures = 3;
    auth.saveCreds();
    await settle();
    await clock.advanceMs(1_000);
    await auth.flush();
    await auth.prepare();
    expect((await open()).creds.nextPreKeyId).toBe(42);
  });

  it('of a pairing that was not finished do not try to log in', async () => {
    const auth = await open();
    auth.creds.me = { id: '34600000001@s.whatsapp.net', name: '~' };
    await auth.prepare();
    expect(auth.creds.me).toBeUndefined();
    expect(auth.isLinked()).toBe(false);
  });
});

describe('a stored value that cannot be read', () => {
  const put = (category: string, keyId: string, value: string) =>
    store.commit(scope, { puts: [{ category, keyId, value }], deletes: [], journal: [] });

  it.each([
    ['session', 'garbage'],
    ['session', '5'],
    ['session', '{"version":"v1"}'],
    ['session', '{"_sessions":{"a":'],
    ['pre-key', '{"public":1}'],
    ['pre-key', 'null'],
    ['sender-key', '{}'],
    ['sender-key', '\u0000'],
    ['lid-mapping', '"346'],
    ['device-list', 'undefined'],
    ['app-state-sync-key', '[['],
    ['tctoken', DAMAGED_VALUE],
  ])(
    'of a key (%s: %j) counts as absent, is logged once, and affects no other key',
    async (category, value) => {
      const type = category as 'session';
      const whole = { session: { _sessions: {} } }[category] ?? undefined;
      if (whole) await put(category, 'whole', JSON.stringify(whole));
      await put(category, 'a', value);
      const { keys } = await open();
      for (const _ of [1, 2]) {
        const found = await keys.get(type, ['a', 'whole']);
        expect(found).toEqual(whole ? { whole } : {});
      }
      expect(unreadable).toEqual([category]);
    },
  );

  it('of a key is replaced by the next value', async () => {
    await put('lid-mapping', '346', 'garbage');
    const { keys, flush } = await open();
    await keys.get('lid-mapping', ['346']);
    await keys.set({ 'lid-mapping': { 346: '777' } });
    await flush();
    expect(await (await open()).keys.get('lid-mapping', ['346'])).toEqual({ 346: '777' });
  });

  it.each(['garbage', '{}', 'null', '{"noiseKey":{"public":"AA=="}}', DAMAGED_VALUE])(
    'of the credentials (%j) is reported, and not overwritten',
    async (value) => {
      await put('creds', 'creds', value);
      await expect(open()).rejects.toMatchObject({ code: 'CREDENTIALS_DAMAGED', disposition: 'dead' });
      const name = { category: 'creds', keyId: 'creds' };
      expect(await store.read(scope, [name])).toEqual([{ ...name, value }]);
    },
  );
});
