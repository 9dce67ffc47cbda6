import { proto, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaseLostError, StorageUnavailableError } from '../../router/src/core/errors.ts';
import type { MemoryJournal } from '../doubles/memory-journal.ts';
import { type AccountStores, memoryStores, WhatsAppAccount } from '../support/whatsapp-account.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let emulator: WhatsAppEmulator;
let phone: Phone;
let ana: Person;
let accounts: WhatsAppAccount[];

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  ana = createPerson(emulator, { phone: '34600000002', name: 'Ana' });
  accounts = [];
});

afterEach(async () => {
  for (const account of accounts) await account.provider.stop();
  await emulator.stop();
});

function newAccount(stores?: AccountStores, more = {}): WhatsAppAccount {
  const account = new WhatsAppAccount(emulator, stores, more);
  accounts.push(account);
  return account;
}

async function pairedAccount(stores?: AccountStores): Promise<WhatsAppAccount> {
  const account = newAccount(stores);
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
  return account;
}

const device = () => emulator.linkedDevices(phone.pn)[0]?.pn ?? '';

describe('linking', () => {
  it('pairs by QR, and logs in without pairing after a restart', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    expect(first.provider.status()).toMatchObject({ state: 'open', phone: '34600000001', isConnected: true });
    await first.provider.stop();
    const second = newAccount(stores);
    await second.provider.start();
    await second.untilState('open');
    expect(second.states).not.toContain('pairing');
    expect(emulator.linkedDevices(phone.pn)).toHaveLength(1);
  });

  it('pairs by an eight-letter code', async () => {
    const account = newAccount();
    await account.provider.start();
    await account.untilStatus((status) => status.qr !== undefined);
    const status = await account.provider.pair({ method: 'code', phone: '34600000001' });
    expect(status.pairingCode).toMatch(/^[A-Z0-9]{8}$/);
    const open = account.untilState('open');
    await phone.enterCode(status.pairingCode ?? '');
    await open;
  });

  it('discards an unfinished pairing by code instead of logging in with it', async () => {
    const account = newAccount(undefined, { pairingPhone: '34600000001' });
    await account.provider.start();
    const first = await account.untilStatus((status) => status.pairingCode !== undefined);
    const again = account.untilStatus(
      (s) => s.pairingCode !== undefined && s.pairingCode !== first.pairingCode,
    );
    emulator.drop();
    await again;
    expect(account.states).not.toContain('logged-out');
  });

  it('refuses to pair while linked', async () => {
    const account = await pairedAccount();
    await expect(account.provider.pair({ method: 'qr' })).rejects.toMatchObject({ code: 'ALREADY_LINKED' });
  });

  it('unlinks at WhatsApp on logout, and offers a new code', async () => {
    const account = await pairedAccount();
    const unlinked = emulator.waitFor('unlinked');
    const status = await account.provider.logout();
    await unlinked;
    expect(status).toMatchObject({ state: 'pairing', qr: expect.any(String) });
    expect(emulator.linkedDevices(phone.pn)).toEqual([]);
  });

  it('unlinks at WhatsApp for a deletion, and asks for no new code', async () => {
    const account = await pairedAccount();
    const unlinked = emulator.waitFor('unlinked');
    const before = account.states.length;
    expect(await account.provider.unlink()).toMatchObject({ state: 'stopped' });
    await unlinked;
    expect(account.states.slice(before)).not.toContain('pairing');
    expect(emulator.linkedDevices(phone.pn)).toEqual([]);
  });
});

describe('messages', () => {
  it('receives and sends text by phone number, and reports acks and receipts', async () => {
    const account = await pairedAccount();
    await ana.say('hola', { to: phone });
    await account.untilReceived(1);
    expect(account.received[0]).toMatchObject({
      text: 'hola',
      chat: { kind: 'person', phone: '34600000002', lid: ana.lid.split('@')[0] },
      sender: { pushName: 'Ana' },
    });
    const reply = await account.send(ana.pn, 'buenas');
    expect(await ana.nextReply()).toMatchObject({ id: reply.waMessageId, text: 'buenas' });
    await account.untilReceipt(reply.waMessageId, 'acked');
    await account.untilReceipt(reply.waMessageId, 'delivered');
  });

  it('receives the messages of an offline time in order', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    await first.provider.stop();
    for (const text of ['one', 'two', 'three']) await ana.say(text, { to: phone });
    const second = newAccount(stores);
    await second.provider.start();
    await second.untilReceived(3);
    expect(second.texts).toEqual(['one', 'two', 'three']);
    await emulator.waitUntilSettled(device());
  });

  it('delivers a repeated message with the same id', async () => {
    const account = await pairedAccount();
    emulator.faults.duplicates = 1;
    const id = await ana.say('once', { to: phone });
    await account.untilReceived(1);
    await emulator.waitUntilSettled(device());
    expect(new Set(account.received.map((m) => m.waMessageId))).toEqual(new Set([id]));
    expect(new Set(account.received.map((m) => m.stanzaOrder)).size).toBe(1);
  });

  it('delivers a message again that core could not store', async () => {
    const account = await pairedAccount();
    let refusals = 2;
    account.onReceive = async () => {
      refusals -= 1;
      if (refusals >= 0) throw new StorageUnavailableError({ sentence: 'no database' });
    };
    await ana.say('patient', { to: phone });
    await account.untilReceived(1);
    expect(account.texts).toEqual(['patient']);
  });

  it('delivers a message of the journal after a restart when core did not store it', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    const refused = new Promise<void>((resolve) => {
      first.onReceive = async () => {
        resolve();
        throw new StorageUnavailableError({ sentence: 'no database' });
      };
    });
    const id = await ana.say('do not lose me', { to: phone });
    await refused;
    await emulator.waitUntilSettled(device());
    await first.provider.stop();
    expect(first.received).toEqual([]);
    const second = newAccount(stores);
    await second.provider.start();
    await second.untilReceived(1);
    expect(second.received[0]).toMatchObject({ waMessageId: id, text: 'do not lose me' });
  });

  it('stops at once while core is unavailable and the journal is long', async () => {
    const stores = memoryStores();
    const plaintext = writeRandomPadMax16(proto.Message.encode({ conversation: 'waits' }).finish());
    const entries = Array.from({ length: 600 }, (_, index) => {
      const attrs = { id: `M${index}`, from: `346100${10_000 + index}@s.whatsapp.net`, t: '1700000000' };
      const stanza = Buffer.from(JSON.stringify({ attrs }));
      const common = { waMessageId: attrs.id, stanzaOrder: BigInt(index + 1) };
      return { ...common, ciphertextHash: attrs.id, stanza, plaintext };
    });
    (stores.journal as MemoryJournal).add('main', entries);
    const account = newAccount(stores);
    const asked = new Promise<void>((resolve) => {
      account.onReceive = async () => {
        resolve();
        throw new StorageUnavailableError({ sentence: 'no database' });
      };
    });
    await account.provider.start();
    await asked;
    await account.provider.stop();
    expect(account.provider.status().state).toBe('stopped');
    expect(await stores.journal.pending('main', { afterOrder: 599n, limit: 1 })).toHaveLength(1);
  });

  it('reports a single error 463 without a limit: the account stays open', async () => {
    const account = await pairedAccount();
    emulator.faults.refusedMessages = 1;
    const message = await account.send(ana.pn, 'stranger');
    await account.untilRefused();
    expect(account.refused).toEqual([
      { waMessageId: message.waMessageId, code: '463', limitLeftMs: undefined },
    ]);
    expect(account.provider.status()).toMatchObject({ state: 'open' });
  });

  it('reports an error ack with its code, and the limit that it means', async () => {
    const account = await pairedAccount();
    emulator.faults.reachOutLock = { endsAtMs: Date.now() + 3_600_000, type: 'WEB_COMPANION_ONLY' };
    const message = await account.send(ana.pn, 'stranger');
    await account.untilRefused();
    expect(account.refused).toMatchObject([{ waMessageId: message.waMessageId, code: '463' }]);
    expect(account.provider.status()).toMatchObject({ state: 'restricted', isConnected: true });
  });
});

describe('disconnects', () => {
  it.each([
    [401, 'logged-out'],
    [403, 'logged-out'],
    [405, 'outdated'],
    [440, 'replaced'],
  ] as const)('stops on %i in the state %s, and connects on restart', async (code, state) => {
    const account = await pairedAccount();
    emulator.endStream(code);
    const status = await account.untilState(state);
    expect(status.nextAction).not.toMatch(/^Nothing to do/);
    const again = emulator.waitFor('connected');
    await account.provider.restart();
    await again;
  });

  it('takes the link back from the node that had the account before and logged in once more', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    await first.provider.stop();
    const fence = { isHeld: () => true, verify: async () => undefined };
    const old = newAccount(stores, { fence: { ...fence, isTakeOver: false } });
    const owner = newAccount(stores, { fence: { ...fence, isTakeOver: true }, random: () => 0 });
    await owner.provider.start();
    await owner.untilState('open');
    const taken = owner.untilState('waiting');
    await old.provider.start();
    await taken;
    await Promise.all([old.untilState('replaced'), owner.untilState('open')]);
    expect(owner.provider.status().state).toBe('open');
  });

  it('does not log in with a lease that another node has, or that cannot be verified', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    await first.provider.stop();
    let verified = 0;
    const verify = async () => {
      verified += 1;
      if (verified === 1) throw new StorageUnavailableError({ sentence: 'no database' });
      if (verified === 2) throw new LeaseLostError('main');
    };
    const account = newAccount(stores, {
      fence: { isHeld: () => true, isTakeOver: false, verify },
      random: () => 0,
    });
    await account.provider.start();
    await account.untilState('open');
    expect(verified).toBe(3);
    const { states } = account;
    const refused = states.slice(states.indexOf('waiting'), states.indexOf('open'));
    expect(new Set(refused)).toEqual(new Set(['waiting']));
  });

  it('stays disconnected after a logout, also after a restart of the service', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    emulator.endStream(401);
    await first.untilState('logged-out');
    await first.provider.stop();
    await stores.accountStore.save('main', { state: 'logged-out', reason: 'WhatsApp ended the link (401).' });
    const second = newAccount(stores);
    await second.provider.start();
    expect(second.provider.status().state).toBe('logged-out');
    const status = await second.provider.pair({ method: 'qr' });
    expect(status.qr).toBeDefined();
  });
});
