import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AccountStore } from '../../router/src/core/ports/account-store.ts';
import type { Inbox, Journal, JournalEntry } from '../../router/src/core/ports/inbox.ts';
import type { KeyChange, KeyScope, KeyStore } from '../../router/src/core/ports/key-store.ts';
import { PostgresAccountStore } from '../../router/src/features/accounts/postgres-account-store.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresJournal } from '../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../router/src/infra/db/stores/postgres-key-store.ts';
import { AccountKeys, KeyTransaction } from '../../router/src/providers/baileys/signal/account-keys.ts';
import { GroupCommit } from '../../router/src/providers/baileys/signal/group-commit.ts';
import { MemoryAccountStore } from '../doubles/memory-account-store.ts';
import { MemoryInbox } from '../doubles/memory-inbox.ts';
import { MemoryJournal } from '../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../doubles/memory-key-store.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { anyText } from '../support/any-text.ts';
import { createTestDatabase } from '../support/database.ts';
import { runs } from '../support/property-runs.ts';
import { aMessage, aPerson, NODE } from './adapters.ts';

interface Stores {
  keys: KeyStore;
  journal: Journal;
  inbox: Inbox;
  accounts: AccountStore;
  /** Takes the account from a process that ended without a stop. */
  countEnd(accountId: string): Promise<void>;
  close(): Promise<void>;
}

const adapters: Array<{ name: string; open(): Promise<Stores> }> = [
  {
    name: 'memory',
    open: async () => {
      const state = new MemoryState();
      const journal = new MemoryJournal(() => state);
      return {
        journal,
        inbox: new MemoryInbox(state),
        keys: new MemoryKeyStore(journal, () => new MemoryInbox(state)),
        accounts: new MemoryAccountStore(),
        countEnd: async (accountId) => journal.countEnd(accountId),
        close: async () => undefined,
      };
    },
  },
  {
    name: 'PostgreSQL',
    open: async () => {
      const database = await createTestDatabase();
      const postgres = database.open();
      return {
        keys: new PostgresKeyStore(postgres),
        journal: new PostgresJournal(postgres),
        inbox: new PostgresInbox(postgres),
        accounts: new PostgresAccountStore(postgres),
        countEnd: async (accountId) => void (await postgres.query(sql`SELECT lease_count_end(${accountId})`)),
        close: () => database.drop(),
      };
    },
  },
];

/** Names as peers may choose them. */
const anyName = fc.oneof(
  anyText(300),
  fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `${text}\0@g.us::1::0`),
  fc.string({ maxLength: 5 }).map((text) => `${text}\udc00`),
  fc.integer({ min: 900, max: 200_000 }).map((length) => randomBytes(length / 2).toString('hex')),
);

const change = (given: Partial<KeyChange>): KeyChange => ({ puts: [], deletes: [], journal: [], ...given });
const put = (keyId: string, value: string, category = 'session') => ({ category, keyId, value });

function entry(order: bigint, given: Partial<JournalEntry> = {}): JournalEntry {
  return {
    ciphertextHash: randomBytes(32).toString('hex'),
    stanzaOrder: order,
    waMessageId: `ID${order}`,
    plaintext: randomBytes(100),
    stanza: Buffer.from('{"from":"a"}'),
    ...given,
  };
}

/** Buffer and Uint8Array do not compare as equal; stores may return either. */
const plain = (entries: JournalEntry[]) =>
  entries.map((e) => ({ ...e, plaintext: [...e.plaintext], stanza: [...e.stanza] }));

describe.each(adapters)('$name', ({ open }) => {
  let stores: Stores;
  let accountId: string;
  let scope: KeyScope;

  beforeAll(async () => {
    stores = await open();
  });
  afterAll(() => stores.close());
  beforeEach(() => {
    accountId = `account-${randomBytes(6).toString('hex')}`;
    scope = { accountId, generation: 1 };
  });

  describe('keys', () => {
    const value = async (keyId: string, category = 'session', at = scope) =>
      (await stores.keys.read(at, [{ category, keyId }]))[0]?.value;

    it('are written, replaced and deleted in one commit', async () => {
      await stores.keys.commit(scope, change({ puts: [put('a', '1'), put('b', '1')] }));
      await stores.keys.commit(
        scope,
        change({ puts: [put('a', '2'), put('c', '2')], deletes: [{ category: 'session', keyId: 'b' }] }),
      );
      const names = ['a', 'b', 'c'].map((keyId) => ({ category: 'session', keyId }));
      const found = await stores.keys.read(scope, names);
      expect(found.toSorted((x, y) => (x.keyId < y.keyId ? -1 : 1))).toEqual([put('a', '2'), put('c', '2')]);
    });

    it('with any names are read back, or absent when PostgreSQL cannot store the name', async () => {
      const clock = { ...systemClock, sleep: async () => undefined };
      const open = () => {
        const commits = new GroupCommit(stores.keys, scope, clock);
        const failed = (error: unknown) => expect.fail(String(error));
        const keys = new AccountKeys({
          store: stores.keys,
          scope,
          commits,
          onStorageFailed: failed,
          onKeyUnreadable: failed,
        });
        return { commits, keys };
      };
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(anyName, { minLength: 1, maxLength: 6 }), async (names) => {
          const { commits, keys } = open();
          const unit = new KeyTransaction();
          for (const name of names) unit.set({ 'lid-mapping': { [name]: 'x' } });
          keys.append(unit);
          await commits.flush();
          const written = names.filter(
            (name) => !/\p{Surrogate}/u.test(name) && !/\0/.test(name) && name.length < 300,
          );
          for (const reader of [keys, open().keys]) {
            const found = await reader.get('lid-mapping', names);
            expect(Object.keys(found)).toEqual(expect.arrayContaining(written));
            expect(
              Object.keys(found).filter((name) => !!/\p{Surrogate}/u.test(name) || name.length > 1_000),
            ).toEqual([]);
          }
        }),
        { ...runs(60), examples: [[['a\0b']], [['\ud800', 'ok']], [['__proto__']], [['x'.repeat(100_000)]]] },
      );
    });

    it('of several categories are read in one call', async () => {
      await stores.keys.commit(scope, change({ puts: [put('a', '1'), put('a', '2', 'pre-key')] }));
      const found = await stores.keys.read(scope, [
        { category: 'session', keyId: 'a' },
        { category: 'pre-key', keyId: 'a' },
        { category: 'tctoken', keyId: 'a' },
      ]);
      expect(new Set(found.map((key) => `${key.category} ${key.value}`))).toEqual(
        new Set(['session 1', 'pre-key 2']),
      );
    });

    it('are separate for each category, account and generation', async () => {
      await stores.keys.commit(scope, change({ puts: [put('a', 'mine')] }));
      expect(await value('a', 'pre-key')).toBeUndefined();
      expect(await value('a', 'session', { accountId: 'other', generation: 1 })).toBeUndefined();
      expect(await value('a', 'session', { accountId, generation: 2 })).toBeUndefined();
    });

    it('can be deleted when they do not exist', async () => {
      await stores.keys.commit(scope, change({ deletes: [{ category: 'session', keyId: 'nothing' }] }));
      await stores.keys.commit(scope, change({}));
      expect(await value('nothing')).toBeUndefined();
    });

    it('can be many in one commit', async () => {
      const puts = Array.from({ length: 812 }, (_, index) => put(String(index), `key ${index}`, 'pre-key'));
      await stores.keys.commit(scope, change({ puts }));
      expect(await value('811', 'pre-key')).toBe('key 811');
    });

    it('keep each character of id and value', async () => {
      const odd = '120363@g.us::34600_1::0 "quoted" \\ {},' as const;
      await stores.keys.commit(scope, change({ puts: [put(odd, '{"a":"\\"x\\"","é":"✓"}')] }));
      expect(await value(odd)).toBe('{"a":"\\"x\\"","é":"✓"}');
    });
  });

  describe('messages', () => {
    it('are stored with the keys as the inbox stores them, in their order', async () => {
      const [ana, bo] = [aPerson(), aPerson()];
      const messages = [aMessage(accountId, ana), aMessage(accountId, bo), aMessage(accountId, ana)].map(
        (message) => ({ message, node: NODE }),
      );
      const stored = await stores.keys.commit(scope, change({ puts: [put('a', '1')], messages }));
      expect(
        stored.map(({ outcome, isNewWorker, turn }) => [outcome, isNewWorker, turn?.message.text]),
      ).toEqual([
        ['stored', true, messages[0]?.message.text],
        ['stored', true, messages[1]?.message.text],
        ['stored', false, undefined],
      ]);
      expect(stored[0]?.chatId).toBe(stored[2]?.chatId);
      expect(BigInt(stored[0]?.messageId ?? '')).toBeLessThan(BigInt(stored[2]?.messageId ?? ''));
      expect(await stores.keys.read(scope, [{ category: 'session', keyId: 'a' }])).toEqual([put('a', '1')]);
    });

    it('change nothing when they come again, with the same keys', async () => {
      const messages = [{ message: aMessage(accountId, aPerson()), node: NODE }];
      const first = await stores.keys.commit(scope, change({ puts: [put('a', '1')], messages }));
      const second = await stores.keys.commit(scope, change({ puts: [put('a', '1')], messages }));
      expect(second).toMatchObject([{ outcome: 'known', messageId: first[0]?.messageId }]);
    });

    it('are found by id and sender afterwards', async () => {
      const [ana, bo] = [aMessage(accountId, aPerson()), aMessage(accountId, aPerson())];
      await stores.keys.commit(scope, change({ messages: [{ message: ana, node: NODE }] }));
      expect(await stores.inbox.original(ana, ana.waMessageId)).toMatchObject({ isOfSender: true });
      expect(await stores.inbox.original(bo, ana.waMessageId)).toBeUndefined();
    });

    it('count for the highest order', async () => {
      const message = aMessage(accountId, aPerson());
      await stores.keys.commit(scope, change({ messages: [{ message, node: NODE }] }));
      expect(await stores.journal.lastOrder(accountId)).toBe(message.stanzaOrder);
    });
  });

  describe('the journal', () => {
    it('is written with the keys, and returns the decrypted stanzas', async () => {
      const entered = entry(5n);
      await stores.keys.commit(scope, change({ puts: [put('a', '1')], journal: [entered] }));
      const found = await stores.journal.find(accountId, entered.ciphertextHash);
      expect(plain(found ? [found] : [])).toEqual(plain([entered]));
      expect(await stores.journal.find('other', entered.ciphertextHash)).toBeUndefined();
    });

    it('is written without keys too, and with deletes only', async () => {
      const entered = entry(6n);
      const deletes = [{ category: 'pre-key', keyId: '1' }];
      await stores.keys.commit(scope, change({ journal: [entered], deletes }));
      expect(await stores.journal.find(accountId, entered.ciphertextHash)).toBeDefined();
    });

    it('counts the end of a process for all rows once, and then for those that were handled alone', async () => {
      const [first, second] = [entry(10n), entry(11n)];
      await stores.keys.commit(scope, change({ journal: [first, second] }));
      const suspicions = async () =>
        (await stores.journal.pending(accountId, { afterOrder: 0n, limit: 9 })).map((row) =>
          'isDamaged' in row ? row : row.suspicion,
        );
      expect(await suspicions()).toEqual([undefined, undefined]);
      for (let ends = 0; ends < 2; ends += 1) {
        await stores.countEnd(accountId);
        expect(await suspicions()).toEqual([1, 1]);
      }
      await stores.journal.setAlone(accountId, first.ciphertextHash, true);
      await stores.journal.setAlone(accountId, first.ciphertextHash, false);
      await stores.journal.setAlone(accountId, second.ciphertextHash, true);
      for (let ends = 0; ends < 2; ends += 1) await stores.countEnd(accountId);
      expect(await suspicions()).toEqual([1, 2]);
    });

    it('keeps the first of two rows of one ciphertext', async () => {
      const first = entry(7n);
      await stores.keys.commit(scope, change({ journal: [first] }));
      await stores.keys.commit(scope, change({ journal: [{ ...first, stanzaOrder: 8n }] }));
      expect((await stores.journal.find(accountId, first.ciphertextHash))?.stanzaOrder).toBe(7n);
    });

    it('returns pending rows in stanza order, in pages of whole stanzas', async () => {
      const entries = [entry(3n), entry(1n), entry(2n), entry(2n, { waMessageId: 'second part' })];
      for (const one of entries) await stores.keys.commit(scope, change({ journal: [one] }));
      const first = await stores.journal.pending(accountId, { afterOrder: 0n, limit: 2 });
      expect(first.map((e) => e.stanzaOrder)).toEqual([1n, 2n, 2n]);
      const second = await stores.journal.pending(accountId, { afterOrder: 2n, limit: 2 });
      expect(second.map((e) => e.stanzaOrder)).toEqual([3n]);
      expect(await stores.journal.pending('other', { afterOrder: 0n, limit: 2 })).toEqual([]);
    });

    it('marks rows whose messages the inbox is done with', async () => {
      const person = aPerson();
      const messages = [
        aMessage(accountId, person, { ignoredReason: 'too-old' }),
        aMessage(accountId, person),
        aMessage(accountId, person, { ignoredReason: 'too-old' }),
      ];
      const [done, waiting, repeated] = messages;
      for (const message of messages) await stores.inbox.add(message, NODE);
      const rows = [
        ...[done, waiting].map((each) => ({ order: each?.stanzaOrder, waMessageId: each?.waMessageId })),
        // the message was read again from another stanza, and another message has the order of the first one
        { order: (repeated?.stanzaOrder ?? 0n) + 1n, waMessageId: repeated?.waMessageId },
        { order: done?.stanzaOrder, waMessageId: 'another' },
      ].map(({ order = 0n, waMessageId = '' }) => entry(order, { waMessageId }));
      await stores.keys.commit(scope, change({ journal: rows }));
      const pending = await stores.journal.pending(accountId, { afterOrder: 0n, limit: 10 });
      expect(pending.filter((each) => 'isDone' in each).map((each) => each.ciphertextHash)).toEqual([
        rows[0]?.ciphertextHash,
      ]);
      expect(pending).toHaveLength(4);
      expect(await stores.journal.find(accountId, rows[0]?.ciphertextHash ?? '')).not.toHaveProperty(
        'isDone',
      );
    });

    it('deletes rows that the inbox has, and keeps the highest order', async () => {
      const entries = [entry(11n), entry(12n)];
      await stores.keys.commit(scope, change({ journal: entries }));
      expect(await stores.journal.lastOrder(accountId)).toBe(12n);
      const [kept, gone] = entries.map((e) => e.ciphertextHash);
      await stores.journal.forget(accountId, [gone ?? '', 'unknown']);
      await stores.journal.forget(accountId, []);
      const left = await stores.journal.pending(accountId, { afterOrder: 0n, limit: 10 });
      expect(left.map((e) => e.ciphertextHash)).toEqual([kept]);
    });

    it('has no highest order in a new account', async () => {
      expect(await stores.journal.lastOrder(accountId)).toBe(0n);
    });

    it('stores orders as large as a time in milliseconds', async () => {
      const order = 1_790_000_000_000_000n;
      const entered = entry(order);
      await stores.keys.commit(scope, change({ journal: [entered] }));
      expect(
        (await stores.journal.pending(accountId, { afterOrder: order - 1n, limit: 1 }))[0]?.stanzaOrder,
      ).toBe(order);
    });
  });

  describe('accounts', () => {
    it('start with key generation 1', async () => {
      expect(await stores.accounts.load(accountId)).toEqual({ state: 'starting', generation: 1 });
    });

    it('keep the saved fields, and remove the absent ones', async () => {
      await stores.accounts.save(accountId, { state: 'open', phone: '346', lid: '77', pushName: 'Shop' });
      await stores.accounts.save(accountId, { state: 'logged-out', reason: 'ended', phone: '346' });
      expect(await stores.accounts.load(accountId)).toEqual({
        state: 'logged-out',
        reason: 'ended',
        phone: '346',
        generation: 1,
      });
    });

    it('archive keys one generation after the other, saved before or not', async () => {
      expect(await stores.accounts.nextGeneration(accountId)).toBe(2);
      await stores.accounts.save(accountId, { state: 'pairing' });
      expect(await stores.accounts.nextGeneration(accountId)).toBe(3);
      expect((await stores.accounts.load(accountId)).generation).toBe(3);
    });
  });
});

it('does not wait for a chat that another transaction has locked, in PostgreSQL', async () => {
  const database = await createTestDatabase();
  const other = new pg.Client({ connectionString: database.url });
  try {
    const postgres = database.open();
    const keys = new PostgresKeyStore(postgres);
    const at = { accountId: 'main', generation: 1 };
    const person = aPerson();
    await new PostgresInbox(postgres).add(aMessage('main', person), NODE);
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM chat FOR UPDATE');
    const messages = [{ message: aMessage('main', person), node: NODE }];
    const attempt = keys.commit(at, change({ puts: [put('a', '1')], messages }));
    await expect(attempt).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await keys.commit(at, change({ puts: [put('a', '2')] }));
    expect(await keys.read(at, [{ category: 'session', keyId: 'a' }])).toEqual([put('a', '2')]);
  } finally {
    await other.end();
    await database.drop();
  }
});

it('change nothing when a commit fails in PostgreSQL', async () => {
  const database = await createTestDatabase();
  try {
    const postgres = database.open();
    const keys = new PostgresKeyStore(postgres);
    const at = { accountId: 'main', generation: 1 };
    await keys.commit(at, change({ puts: [put('a', '1')] }));
    await postgres.execute(sql`ALTER TABLE journal ADD CONSTRAINT nothing CHECK (false)`);
    const attempt = keys.commit(at, change({ puts: [put('a', '2')], journal: [entry(1n)] }));
    await expect(attempt).rejects.toMatchObject({ code: expect.stringMatching(/^STORAGE_/) });
    await postgres.execute(sql`ALTER TABLE message ADD CONSTRAINT nothing CHECK (false)`);
    const messages = [{ message: aMessage('main', aPerson()), node: NODE }];
    const other = keys.commit(at, change({ puts: [put('a', '3')], messages }));
    await expect(other).rejects.toMatchObject({ code: expect.stringMatching(/^STORAGE_/) });
    expect(await keys.read(at, [{ category: 'session', keyId: 'a' }])).toEqual([put('a', '1')]);
  } finally {
    await database.drop();
  }
});
