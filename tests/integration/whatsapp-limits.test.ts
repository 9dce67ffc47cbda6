import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { type AccountStores, memoryStores, WhatsAppAccount } from '../support/whatsapp-account.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

const HOUR_MS = 3_600_000;

let emulator: WhatsAppEmulator;
let phone: Phone;
let stranger: Person;
let stores: AccountStores;
let accounts: WhatsAppAccount[];
let logins: number;

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  stranger = createPerson(emulator, { phone: '34600000002' });
  stores = memoryStores();
  accounts = [];
  logins = 0;
  emulator.events.on('logged-in', () => {
    logins += 1;
  });
});

afterEach(async () => {
  for (const account of accounts) await account.provider.stop();
  await emulator.stop();
});

function newAccount(more = {}): WhatsAppAccount {
  const account = new WhatsAppAccount(emulator, stores, more);
  accounts.push(account);
  return account;
}

async function pairedAndLimited(more = {}): Promise<WhatsAppAccount> {
  const account = newAccount(more);
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
  emulator.lockNewContacts(HOUR_MS);
  await account.untilState('restricted');
  await account.send(stranger.pn, 'hello');
  await account.untilState('restricted');
  return account;
}

describe('a limit on writing to new contacts', () => {
  it('is reported with the refusal, and kept over a restart until it ends', async () => {
    const first = await pairedAndLimited();
    await first.untilRefused();
    const [refused] = first.refused;
    expect(refused?.code).toBe('463');
    expect(refused?.limitLeftMs).toBeGreaterThan(HOUR_MS - 60_000);
    await first.provider.stop();
    const second = newAccount();
    await second.provider.start();
    const status = await second.untilState('restricted');
    expect(status).toMatchObject({
      isConnected: true,
      reason: expect.stringContaining('WEB_COMPANION_ONLY'),
    });
    expect(second.provider.status().limitLeftMs).toBeGreaterThan(HOUR_MS - 60_000);
    await stores.accountStore.endLimit('main', 'new-contacts');
    emulator.faults.clear();
    await second.provider.stop();
    const third = newAccount();
    await third.provider.start();
    await third.untilState('open');
    expect(third.provider.status().limitLeftMs).toBeUndefined();
  });

  it('keeps its length when the clock is set', async () => {
    let jumpedMs = 0;
    const clock = { ...systemClock, now: () => Date.now() + jumpedMs };
    const account = await pairedAndLimited({ clock });
    for (const ms of [5 * HOUR_MS, -5 * HOUR_MS]) {
      jumpedMs = ms;
      const left = account.provider.status().limitLeftMs ?? 0;
      expect(left).toBeLessThan(HOUR_MS + 60_000);
      expect(left).toBeGreaterThan(HOUR_MS - 60_000);
    }
  });

  it('is removed when an admin restarts the account', async () => {
    const account = await pairedAndLimited();
    emulator.faults.clear();
    await account.provider.restart();
    await account.untilState('open');
    await account.provider.stop();
    expect(await stores.accountStore.limits('main')).toEqual([]);
  });
});

describe('a cap of new chats', () => {
  it('is a limit with its end, which WhatsApp tells and ends', async () => {
    const account = newAccount();
    const live = emulator.waitFor('live');
    await account.pairWith(phone);
    await live;
    emulator.countNewChats(30, 30, HOUR_MS);
    const status = await account.untilState('restricted');
    expect(status).toMatchObject({ isConnected: true, reason: expect.stringContaining('30 of 30') });
    const [limit] = account.provider.status().limits ?? [];
    expect(limit?.kind).toBe('new-chats');
    expect(Math.abs((limit?.untilMs ?? 0) - Date.now() - HOUR_MS)).toBeLessThan(60_000);
    emulator.countNewChats(0, 30, HOUR_MS);
    await account.untilState('open');
    expect(account.provider.status().limits).toBeUndefined();
  });
});

describe('a temporary ban', () => {
  it('stops connections over a process restart, until an admin restarts the account', async () => {
    const first = newAccount();
    const live = emulator.waitFor('live');
    await first.pairWith(phone);
    await live;
    emulator.faults.failedLogins = 1;
    emulator.faults.failureReason = 402;
    emulator.drop();
    await first.untilState('restricted');
    await first.provider.stop();
    logins = 0;

    const second = newAccount();
    await second.provider.start();
    const status = await second.untilState('restricted');
    expect(status).toMatchObject({ isConnected: false, reason: expect.stringContaining('402') });
    expect(status.retryAtMs).toBeGreaterThan(Date.now() + HOUR_MS - 60_000);
    await expect(second.send(stranger.pn, 'hello')).rejects.toMatchObject({ code: 'NOT_CONNECTED' });
    expect(logins).toBe(0);
    await second.provider.restart();
    await second.untilState('open');
    await second.provider.stop();
    expect(await stores.accountStore.limits('main')).toEqual([]);
  });
});
