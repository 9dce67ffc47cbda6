import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { LinkedAccount } from '../../../../../router/src/providers/baileys/account/account-status.ts';
import { MemoryAccountStore } from '../../../../doubles/memory-account-store.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';

const ME = { id: '34600000001:7@s.whatsapp.net', lid: '100000000000001:7@lid', name: 'Shop' };

let accountStore: MemoryAccountStore;
let keyStore: MemoryKeyStore;
let loads: number;

beforeEach(() => {
  accountStore = new MemoryAccountStore();
  keyStore = new MemoryKeyStore();
  loads = 0;
});

function newAccount(): LinkedAccount {
  return new LinkedAccount({
    accountId: 'main',
    accountStore,
    keyStore,
    clock: systemClock,
    onLoaded: () => {
      loads += 1;
    },
    onStorageFailed: () => undefined,
    onKeyUnreadable: () => undefined,
  });
}

/** An account that a phone has linked. */
async function linked(): Promise<LinkedAccount> {
  const account = newAccount();
  const auth = await account.load();
  auth.creds.me = ME;
  auth.creds.account = { details: Buffer.from('signed by the phone') };
  auth.saveCreds();
  await auth.flush();
  return account;
}

describe('the keys', () => {
  it('are loaded once, and again by the next process', async () => {
    const account = await linked();
    expect(await account.load()).toBe(await account.load());
    expect(loads).toBe(1);
    const next = newAccount();
    expect(next.isLinked()).toBe(false);
    await next.load();
    expect([next.isLinked(), next.jids()]).toEqual([true, { id: ME.id, lid: ME.lid }]);
  });

  it('are new after the old ones were archived', async () => {
    const account = await linked();
    const before = account.auth?.creds.registrationId;
    await account.archiveKeys();
    expect(account.auth).toBeUndefined();
    const after = await account.load();
    expect(after.isLinked()).toBe(false);
    expect(after.creds.noiseKey).toBeDefined();
    expect(before).toBeDefined();
    expect(account.record?.generation).toBe(2);
  });

  it('stay in use while no phone is linked', async () => {
    const account = newAccount();
    const auth = await account.load();
    await account.archiveKeys();
    expect(account.auth).toBe(auth);
  });
});

describe('the identity', () => {
  it('is taken from the stored account until its keys are linked', async () => {
    await accountStore.save('main', { state: 'logged-out', phone: '34600000001', lid: '100000000000001' });
    const account = newAccount();
    expect(account.jids()).toEqual({ id: '', lid: '' });
    await account.load();
    expect(account.jids()).toEqual({ id: '34600000001@s.whatsapp.net', lid: '100000000000001@lid' });
  });

  it('contains number and LID', async () => {
    const account = await linked();
    expect(account.identity()).toEqual({ phone: '34600000001', lid: '100000000000001', name: 'Shop' });
  });

  it('finds the number of a LID in the mappings of Baileys', async () => {
    const account = await linked();
    await account.auth?.keys.set({ 'lid-mapping': { '900000000000002_reverse': '34600000002' } });
    expect(await account.phoneOfLid('900000000000002')).toBe('34600000002');
    expect(await account.phoneOfLid('900000000000003')).toBeUndefined();
  });

  it('recognizes its own number and LID, and no other', async () => {
    const account = await linked();
    const lid = '900000000000002@lid';
    const phone = '34600000002:3@s.whatsapp.net';
    expect(await account.isSamePerson(lid, phone)).toBe(false);
    await account.auth?.keys.set({
      'lid-mapping': { '900000000000002_reverse': '34600000002', 34600000002: '900000000000002' },
    });
    expect(await account.isSamePerson(lid, phone)).toBe(true);
    expect(await account.isSamePerson(phone, lid)).toBe(true);
    expect(await account.isSamePerson(lid, '34600000003@s.whatsapp.net')).toBe(false);
    expect(await account.isSamePerson('120363000000000001@g.us', '120363000000000001@g.us')).toBe(false);
    expect(await account.chatOf(lid)).toEqual({
      kind: 'person',
      phone: '34600000002',
      lid: '900000000000002',
    });
    expect(await account.chatOf('status@broadcast')).toBeUndefined();
  });
});
