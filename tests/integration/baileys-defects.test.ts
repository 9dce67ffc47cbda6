import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StorageUnavailableError } from '../../router/src/core/errors.ts';
import { exportedStores } from '../support/export-stores.ts';
import {
  type AccountStores,
  memoryStores,
  replyAddress,
  unevenStores,
  WhatsAppAccount,
} from '../support/whatsapp-account.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPeople, createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let emulator: WhatsAppEmulator;
let phone: Phone;
let ana: Person;
let accounts: WhatsAppAccount[];
let unreadable: string[];

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  ana = createPerson(emulator, { phone: '34600000002', name: 'Ana' });
  accounts = [];
  unreadable = [];
  emulator.events.on('unreadable', ({ id, reason }) => unreadable.push(`${id}: ${reason}`));
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

async function pairedAccount(stores?: AccountStores, more = {}): Promise<WhatsAppAccount> {
  const account = newAccount(stores, more);
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
  return account;
}

const device = () => emulator.linkedDevices(phone.pn)[0]?.pn ?? '';
const numbered = (count: number, word = 'message') => Array.from({ length: count }, (_, n) => `${word} ${n}`);

describe('a burst', () => {
  it.each(['pn', 'lid'] as const)(
    'of one person by %s, each message answered, is decrypted by both sides',
    async (via) => {
      const person = createPerson(emulator, { phone: '34600000009', via });
      const account = await pairedAccount(unevenStores());
      account.echo();
      const texts = numbered(120);
      for (const text of texts) void person.say(text, { to: phone });
      const answers: Array<string | undefined> = [];
      for (const _ of texts) answers.push((await person.nextReply()).text);
      expect(account.texts).toEqual(texts);
      expect(answers).toEqual(texts.map((text) => `echo: ${text}`));
      expect(unreadable).toEqual([]);
    },
  );

  it('of several messages each from new contacts is delivered in the order of each chat', async () => {
    const account = await pairedAccount(unevenStores());
    const strangers = createPeople(emulator, 5);
    const texts = numbered(8, 'line');
    await Promise.all(
      strangers.flatMap((stranger) => texts.map((text) => stranger.say(text, { to: phone }))),
    );
    await account.untilReceived(strangers.length * texts.length);
    for (const stranger of strangers) {
      const own = account.received.filter((message) => replyAddress(message) === stranger.pn);
      expect(own.map((message) => message.text)).toEqual(texts);
    }
  });

  it('of sends to one chat arrives in the order of the calls', async () => {
    const account = await pairedAccount(unevenStores());
    const texts = numbered(25);
    await Promise.all(texts.map((text) => account.send(ana.pn, text)));
    const arrived: Array<string | undefined> = [];
    for (const _ of texts) arrived.push((await ana.nextReply()).text);
    expect(arrived).toEqual(texts);
  });

  it('in a group is decrypted by both sides', async () => {
    const people = createPeople(emulator, 3);
    const account = await pairedAccount(unevenStores());
    const group = createGroup(emulator, { subject: 'Team', members: [...people, phone] });
    account.echo();
    const texts = numbered(30);
    for (const [index, text] of texts.entries()) void people[index % 3]?.say(text, { to: group });
    const answers = new Set<string | undefined>();
    for (const _ of texts) answers.add((await people[0]?.nextReply())?.text);
    expect([...answers].toSorted()).toEqual(texts.map((text) => `echo: ${text}`).toSorted());
    expect(unreadable).toEqual([]);
  });
});

it('issues one privacy token per contact, not one per message', async () => {
  const account = await pairedAccount();
  for (const text of numbered(4)) {
    const { waMessageId } = await account.send(ana.pn, text);
    await account.untilReceipt(waMessageId, 'delivered');
  }
  const tokens = emulator
    .stanzas()
    .filter(({ tag, attrs }) => tag === 'iq' && attrs.xmlns === 'privacy' && attrs.type === 'set');
  expect(tokens).toHaveLength(1);
});

describe('an event buffer that Baileys never flushes', () => {
  it('delays neither messages nor receipts', async () => {
    const stores = memoryStores();
    const first = await pairedAccount(stores);
    await first.provider.stop();
    await ana.say('while away', { to: phone });
    emulator.faults.isOfflineEndless = true;
    const second = newAccount(stores);
    await second.provider.start();
    await second.untilReceived(1);
    await ana.say('live', { to: phone });
    await second.untilReceived(2);
    const reply = await second.send(ana.pn, 'answer');
    await second.untilReceipt(reply.waMessageId, 'delivered');
    expect(second.texts).toEqual(['while away', 'live']);
  });
});

describe('a store that does not respond', () => {
  it('leaves messages unacknowledged, and WhatsApp delivers them again when it works', async () => {
    const stores = memoryStores();
    const account = await pairedAccount(stores, { random: () => 0 });
    await ana.say('before', { to: phone });
    await account.untilReceived(1);
    await emulator.waitUntilSettled(device());
    const commit = vi
      .spyOn(stores.keyStore, 'commit')
      .mockRejectedValue(new StorageUnavailableError({ sentence: 'down' }));
    const waiting = account.untilState('waiting');
    await ana.say('meanwhile', { to: phone });
    await waiting;
    expect(emulator.waitingFor(device())).toBe(1);
    commit.mockRestore();
    await account.untilReceived(2);
    expect(account.texts).toEqual(['before', 'meanwhile']);
    await emulator.waitUntilSettled(device());
  });
});

describe('messages that cannot be decrypted', () => {
  it('are requested again, logged in a few lines, and delay no other chat', async () => {
    const account = await pairedAccount();
    const bob = createPerson(emulator, { phone: '34600000003' });
    await ana.say('hello', { to: phone });
    await account.untilReceived(1);
    const before = account.log.length;
    const storm = numbered(60, 'broken');
    for (const text of storm) void ana.say(text, { to: phone, isCorrupt: true });
    await bob.say('still served', { to: phone });
    await account.untilReceived(storm.length + 2);
    expect(new Set(account.texts)).toEqual(new Set(['hello', 'still served', ...storm]));
    const reported = account.log
      .slice(before)
      .filter((line) => line.level === 'warn' || line.level === 'error');
    expect(reported.length).toBeLessThan(10);
  });
});

describe('the log', () => {
  it('contains no text and no phone number at info and above', async () => {
    const account = await pairedAccount();
    await ana.say('a secret text', { to: phone, isCorrupt: true });
    await account.untilReceived(1);
    await account.send(ana.pn, 'a secret answer');
    emulator.endStream(503);
    await account.untilStatus((status) => status.state !== 'open');
    const shown = account.log.filter((line) => ['info', 'warn', 'error'].includes(line.level));
    expect(shown.length).toBeGreaterThan(0);
    expect(JSON.stringify(shown)).not.toMatch(/secret|34600000002/);
  });
});

describe('the asynchronous context of the process', () => {
  async function talk(text: string): Promise<void> {
    await ana.say(text, { to: phone });
    expect((await ana.nextReply()).text).toBe(`echo: ${text}`);
  }

  it('does not grow with reconnects', async () => {
    // The shortest waits between two connections.
    const account = await pairedAccount(memoryStores(), { random: () => 0 });
    account.echo();
    await talk('before');
    const before = await exportedStores();
    for (const text of ['one', 'two', 'three']) {
      const live = emulator.waitFor('live');
      emulator.drop(device());
      await live;
      await talk(text);
    }
    expect(await exportedStores()).toBe(before);
  });

  it('does not grow when an account is acquired and released repeatedly', async () => {
    const stores = memoryStores();
    let account = await pairedAccount(stores);
    account.echo();
    await talk('before');
    await account.provider.stop();
    const before = await exportedStores();
    for (const text of ['one', 'two', 'three']) {
      account = newAccount(stores);
      account.echo();
      await account.provider.start();
      await talk(text);
      await account.provider.stop();
    }
    expect(await exportedStores()).toBe(before);
  });
});
