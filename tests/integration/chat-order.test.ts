import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../router/src/core/errors.ts';
import type { JournalEntry } from '../../router/src/core/ports/inbox.ts';
import type { KeyStore } from '../../router/src/core/ports/key-store.ts';
import { type AccountStores, memoryStores, WhatsAppAccount } from '../support/whatsapp-account.ts';
import type { GroupInfo } from '../whatsapp-emulator/actors.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let emulator: WhatsAppEmulator;
let phone: Phone;
let ana: Person;
let bo: Person;
let group: GroupInfo;
let stores: AccountStores;
let accounts: WhatsAppAccount[];

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  ana = createPerson(emulator, { phone: '34600000002', name: 'Ana' });
  bo = createPerson(emulator, { phone: '34600000003', name: 'Bo' });
  group = createGroup(emulator, { subject: 'Team', members: [ana, bo, phone] });
  stores = memoryStores();
  accounts = [];
});

afterEach(async () => {
  for (const account of accounts) await account.provider.stop();
  await emulator.stop();
});

function newAccount(keyStore: KeyStore = stores.keyStore): WhatsAppAccount {
  const account = new WhatsAppAccount(emulator, { ...stores, keyStore });
  accounts.push(account);
  return account;
}

/** Paired, and `bo` has distributed his sender key: his next message has one part and needs no session. */
async function accountThatKnowsBo(): Promise<WhatsAppAccount> {
  const account = newAccount();
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
  await bo.say('hello', { to: group });
  await account.untilReceived(1);
  await emulator.waitUntilSettled(emulator.linkedDevices(phone.pn)[0]?.pn ?? '');
  return account;
}

async function journalled(): Promise<JournalEntry[]> {
  const entries = await stores.journal.pending('main', { afterOrder: 0n, limit: 10 });
  return entries.filter((entry): entry is JournalEntry => 'plaintext' in entry);
}

/** Ends the time window of earlier messages, as some seconds would. */
async function clearJournal(): Promise<void> {
  const entries = await journalled();
  await stores.journal.forget(
    'main',
    entries.map(({ ciphertextHash }) => ciphertextHash),
  );
}

/**
 * The stores of a process that ends right after the commit for which `isEnough` returns true. The process gets
 * no response to that commit and makes no later one, so nothing is acknowledged. The first commit is slow, so that messages decrypted
 * meanwhile share the next one.
 */
function dyingStore(
  inner: KeyStore,
  isEnough: (journalled: readonly JournalEntry[]) => boolean,
): { store: KeyStore; died: Promise<void> } {
  const journalled: JournalEntry[] = [];
  let isDead = false;
  let die: () => void = () => undefined;
  const died = new Promise<void>((resolve) => {
    die = resolve;
  });
  const mustLive = () => {
    if (isDead) throw new StorageUnavailableError({ sentence: 'the process has ended' });
  };
  const store: KeyStore = {
    read: async (...args) => {
      mustLive();
      return inner.read(...args);
    },
    commit: async (scope, change) => {
      mustLive();
      const isFirst = journalled.length === 0 && change.journal.length > 0;
      if (isFirst) for (let turn = 0; turn < 300; turn++) await new Promise((go) => setImmediate(go));
      const stored = await inner.commit(scope, change);
      journalled.push(...change.journal);
      if (!isEnough(journalled)) return stored;
      isDead = true;
      die();
      throw new StorageUnavailableError({ sentence: 'the process has ended' });
    },
  };
  return { store, died };
}

describe('a group message with its author’s sender key', () => {
  it('is answered before later ones although the process ended while both were in the journal', async () => {
    await (await accountThatKnowsBo()).provider.stop();
    await clearJournal();
    const first = await ana.say('first', { to: group });
    const second = await bo.say('second', { to: group });

    const { store, died } = dyingStore(stores.keyStore, (journalled) => {
      const ids = new Set(journalled.map(({ waMessageId }) => waMessageId));
      return ids.has(first) && ids.has(second);
    });
    const dying = newAccount(store);
    await dying.provider.start();
    await died;
    await dying.provider.abandon();
    const left = await journalled();
    expect(left.map(({ waMessageId }) => waMessageId)).toEqual([first, second]);
    // Messages of earlier commits may have reached core.
    expect(['first', 'second'].slice(0, dying.texts.length)).toEqual(dying.texts);
    expect(dying.texts).not.toContain('second');

    const next = newAccount();
    await next.provider.start();
    await next.untilReceived(2);
    expect(next.texts).toEqual(['first', 'second']);
  });
});

describe('a corrupted message', () => {
  it('is answered before later ones of its chat once its sender sent it again', async () => {
    const account = await accountThatKnowsBo();
    await ana.say('greeting', { to: group });
    await account.untilReceived(2);
    await ana.say('first', { to: group, isCorrupt: true });
    await bo.say('second', { to: group });
    await account.untilReceived(4);
    expect(account.texts).toEqual(['hello', 'greeting', 'first', 'second']);
  });
});
