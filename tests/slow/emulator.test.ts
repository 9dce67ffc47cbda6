import { DisconnectReason } from '@whiskeysockets/baileys';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BareClient, MemoryAuth } from '../support/bare-client.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { StreamErrorCode } from '../whatsapp-emulator/faults.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPeople, createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let emulator: WhatsAppEmulator;
let phone: Phone;
let ana: Person;
let clients: BareClient[];

beforeEach(async () => {
  // libsignal prints sessions, keys included, when it closes one
  vi.spyOn(console, 'info').mockImplementation(() => undefined);
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  ana = createPerson(emulator, { phone: '34600000002', name: 'Ana' });
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  await emulator.stop();
  vi.restoreAllMocks();
});

function newClient(...more: [MemoryAuth?, ConstructorParameters<typeof BareClient>[2]?]): BareClient {
  const client = new BareClient(emulator.url, ...more);
  clients.push(client);
  return client;
}

/** Pairs by QR and logs in; resolves when the client is connected. */
async function pairedClient(
  owner = phone,
  more?: ConstructorParameters<typeof BareClient>[2],
): Promise<BareClient> {
  const client = newClient(undefined, more);
  const restart = client.waitForUpdate(({ connection }) => connection === 'close');
  await owner.scan(await client.waitForQr());
  await restart;
  await reconnect(client);
  return client;
}

async function reconnect(client: BareClient): Promise<void> {
  const opened = client.waitForUpdate(({ connection }) => connection === 'open');
  const live = emulator.waitFor('live');
  client.connect();
  await Promise.all([opened, live]);
}

async function hangUp(client: BareClient): Promise<void> {
  const closed = emulator.waitFor('closed');
  client.close();
  await closed;
}

const statusOf = (update: { lastDisconnect?: { error?: unknown } }) =>
  (update.lastDisconnect?.error as { output?: { statusCode?: number } } | undefined)?.output?.statusCode;

const deviceOf = (owner: Phone) => emulator.linkedDevices(owner.pn)[0]?.pn ?? '';

describe('pairing', () => {
  it('links a client by QR code, requests a restart and accepts the login', async () => {
    const client = newClient();
    const restart = client.waitForUpdate(({ connection }) => connection === 'close');
    const device = await phone.scan(await client.waitForQr());
    expect(statusOf(await restart)).toBe(DisconnectReason.restartRequired);
    await reconnect(client);
    expect(client.auth.creds.me).toMatchObject({ id: device, lid: expect.stringMatching(/:\d+@lid$/) });
    expect(emulator.linkedDevices(phone.lid)).toMatchObject([{ pn: device, isOnline: true }]);
  });

  it('links a client by an eight-letter code', async () => {
    const client = newClient();
    await client.waitForQr();
    const restart = client.waitForUpdate(({ connection }) => connection === 'close');
    const code = await client.socket.requestPairingCode('34600000001');
    const device = await phone.enterCode(code);
    expect(statusOf(await restart)).toBe(DisconnectReason.restartRequired);
    await reconnect(client);
    expect(client.auth.creds.me?.id).toBe(device);
  });

  it('links no client when the code is wrong', async () => {
    const client = newClient();
    await client.waitForQr();
    await client.socket.requestPairingCode('34600000001', 'AAAAAAAA');
    await expect(phone.enterCode('BBBBBBBB')).rejects.toThrow();
    expect(emulator.linkedDevices(phone.pn)).toEqual([]);
  });

  it('rejects unlinked credentials', async () => {
    const auth = new MemoryAuth();
    auth.creds.me = { id: '34600000001:5@s.whatsapp.net', name: 'nobody' };
    const client = newClient(auth);
    const update = await client.waitForUpdate(({ connection }) => connection === 'close');
    expect(statusOf(update)).toBe(DisconnectReason.loggedOut);
  });

  it('removes a device that logs out', async () => {
    const client = await pairedClient();
    const unlinked = emulator.waitFor('unlinked');
    await client.socket.logout();
    await unlinked;
    expect(emulator.linkedDevices(phone.pn)).toEqual([]);
  });
});

describe('messages', () => {
  it('carries text both ways by phone number, with both addresses of the person', async () => {
    const client = await pairedClient();
    client.echo();
    const id = await ana.say('hola', { to: phone });
    expect(await ana.nextReply()).toMatchObject({ text: 'echo: hola', chat: phone.pn });
    const { message, type } = await client.waitForMessage(({ message: { key } }) => key.id === id);
    expect(type).toBe('notify');
    expect(message.key).toMatchObject({ remoteJid: ana.pn, remoteJidAlt: ana.lid, addressingMode: 'pn' });
    expect(message.pushName).toBe('Ana');
  });

  it('carries text both ways by LID, with both addresses of the person', async () => {
    const leo = createPerson(emulator, { phone: '34600000003', name: 'Leo', via: 'lid' });
    const client = await pairedClient();
    client.echo();
    const id = await leo.say('hey', { to: phone });
    expect(await leo.nextReply()).toMatchObject({ text: 'echo: hey' });
    const { message } = await client.waitForMessage(({ message: { key } }) => key.id === id);
    expect(message.key).toMatchObject({ remoteJid: leo.lid, remoteJidAlt: leo.pn, addressingMode: 'lid' });
  });

  it.each(['lid', 'pn'] as const)('carries text both ways in a group addressed by %s', async (addressing) => {
    const people = createPeople(emulator, 3);
    const [writer] = people;
    if (!writer) throw new Error('nobody to write');
    const group = createGroup(emulator, { subject: 'Friends', members: [...people, phone], addressing });
    const client = await pairedClient();
    client.echo();
    const id = await writer.say('hello all', { to: group });
    const replies = await Promise.all(people.map((person) => person.nextReply()));
    expect(replies.map(({ text, chat }) => [text, chat])).toEqual(
      people.map(() => ['echo: hello all', group.jid]),
    );
    expect(new Set(replies.map((reply) => reply.id)).size).toBe(1);
    const { message } = await client.waitForMessage(({ message: { key } }) => key.id === id);
    expect(message.key).toMatchObject({
      remoteJid: group.jid,
      participant: addressing === 'lid' ? writer.lid : writer.pn,
      participantAlt: addressing === 'lid' ? writer.pn : writer.lid,
    });
    expect(emulator.bubbles(group.jid).map(({ text, readers }) => [text, readers.length])).toEqual([
      ['hello all', 0],
      ['echo: hello all', 3],
    ]);
  });

  it('copies messages between the client and the own phone', async () => {
    const client = await pairedClient();
    await client.socket.sendMessage(ana.pn, { text: 'from the desk' });
    expect((await phone.waitForCopies(1)).map(({ text, chat }) => [text, chat])).toEqual([
      ['from the desk', ana.pn],
    ]);
    const id = await phone.say('from the pocket', { to: ana });
    const { message } = await client.waitForMessage(({ message: { key } }) => key.id === id);
    expect(message.key).toMatchObject({ remoteJid: ana.pn, fromMe: true });
    expect(message.message?.conversation).toBe('from the pocket');
  });

  it('sends receipts to the client, and typing states to people', async () => {
    ana.habit = { receipts: 'hold', receiptDelayMs: 0 };
    const client = await pairedClient();
    await client.socket.sendMessage(ana.pn, { text: 'seen?' });
    await client.waitForMessage(({ message }) => message.key.fromMe === true);
    const { id: sentId } = await ana.nextReply();
    const delivered = client.waitForStatus(({ update }) => update.status === 3);
    ana.releaseReceipts();
    await delivered;
    const read = client.waitForStatus(({ key, update }) => key.id === sentId && update.status === 4);
    emulator.sendReceipt({
      from: ana,
      to: deviceOf(phone),
      ids: [sentId],
      type: 'read',
      chat: { kind: 'direct', addressing: 'pn' },
    });
    await read;
    await client.socket.sendPresenceUpdate('composing', ana.pn);
    await ana.waitForPresence('composing');
    const id = await ana.say('yes', { to: phone });
    expect(await ana.waitForReceipt(id)).toMatchObject({ id });
  });

  it('serves two accounts that write to each other', async () => {
    const office = createPhone(emulator, { phone: '34600000009', name: 'Office' });
    const shop = await pairedClient();
    const other = await pairedClient(office);
    await shop.socket.sendMessage(office.pn, { text: 'between accounts' });
    const { message } = await other.waitForMessage(({ message: m }) => !m.key.fromMe);
    expect(message.key.remoteJid).toBe(phone.pn);
    await other.socket.sendMessage(phone.pn, { text: 'and back' });
    await shop.waitForMessage(({ message: m }) => m.message?.extendedTextMessage?.text === 'and back');
  });
});

describe('queries', () => {
  it('answers queries about people, groups and the client', async () => {
    const group = createGroup(emulator, { subject: 'Friends', members: [ana, phone] });
    const { socket } = await pairedClient();
    expect(await socket.onWhatsApp(ana.pn, '34999999999@s.whatsapp.net')).toEqual([
      { jid: ana.pn, exists: true },
    ]);
    expect(await socket.groupFetchAllParticipating()).toMatchObject({
      [group.jid]: { subject: 'Friends', addressingMode: 'lid', size: 2 },
    });
    const { participants } = await socket.groupMetadata(group.jid);
    expect(participants).toMatchObject([
      { id: ana.lid, phoneNumber: ana.pn, admin: 'admin' },
      { id: phone.lid, phoneNumber: phone.pn },
    ]);
    expect(await socket.fetchPrivacySettings()).toMatchObject({ readreceipts: 'all' });
    expect(await socket.fetchBlocklist()).toEqual([]);
    expect(await socket.getBusinessProfile(ana.pn)).toBeUndefined();
    expect(await socket.fetchAccountReachoutTimelock()).toMatchObject({ isActive: false });
    await expect(socket.profilePictureUrl(ana.pn)).rejects.toThrow('item-not-found');
    await socket.resyncAppState(['regular'], false);
    await socket.rotateSignedPreKey();
  });

  it('refuses an unknown query with an error', async () => {
    const { socket } = await pairedClient();
    const unknown = emulator.waitFor('unknown-query');
    const asked = socket.query({
      tag: 'iq',
      attrs: { to: '@s.whatsapp.net', type: 'get', xmlns: 'weather' },
    });
    await expect(asked).rejects.toThrow('feature-not-implemented');
    expect((await unknown).stanza.attrs.xmlns).toBe('weather');
  });
});

describe('the offline queue of a client', () => {
  it('keeps offline messages and delivers them in order, marked as offline', async () => {
    const client = await pairedClient();
    await hangUp(client);
    const texts = Array.from({ length: 20 }, (_, index) => `while away ${index}`);
    for (const text of texts) await ana.say(text, { to: phone });
    await reconnect(client);
    await client.waitForMessage(({ message }) => message.message?.conversation === texts.at(-1));
    expect(client.texts).toEqual(texts);
    expect(new Set(client.upserts.map(({ type }) => type))).toEqual(new Set(['append']));
  });

  it('redelivers messages that were not acknowledged before the connection closed', async () => {
    const client = await pairedClient();
    const device = deviceOf(phone);
    emulator.silence(device);
    const id = await ana.say('into the void', { to: phone });
    expect(emulator.waitingFor(device)).toBe(1);
    await hangUp(client);
    const settled = emulator.waitFor('settled', ({ stanza }) => stanza.attrs.id === id);
    await reconnect(client);
    await Promise.all([settled, emulator.waitUntilSettled(device)]);
    await client.waitForMessage(({ message }) => message.key.id === id);
    expect(client.texts).toEqual(['into the void']);
    expect(emulator.waitingFor(device)).toBe(0);
  });

  it('requests more keys when the one-time keys run out', async () => {
    await pairedClient();
    const device = deviceOf(phone);
    const uploaded = emulator.waitFor(
      'stanza',
      ({ stanza }) => stanza.attrs.xmlns === 'encrypt' && stanza.attrs.type === 'set',
    );
    for (let taken = 0; taken < 808; taken += 1) emulator.takeKeyBundle(device);
    await uploaded;
  });
});

describe('faults on request', () => {
  it.each<[StreamErrorCode, number]>([
    [401, DisconnectReason.loggedOut],
    [403, DisconnectReason.forbidden],
    [405, 405],
    [408, DisconnectReason.timedOut],
    [428, DisconnectReason.connectionClosed],
    [440, DisconnectReason.connectionReplaced],
    [500, DisconnectReason.badSession],
    [503, DisconnectReason.unavailableService],
    [515, DisconnectReason.restartRequired],
  ])('end the stream with %i', async (code, reason) => {
    const client = await pairedClient();
    const closed = client.waitForUpdate(({ connection }) => connection === 'close');
    emulator.endStream(code, deviceOf(phone));
    expect(statusOf(await closed)).toBe(reason);
  });

  it('drop the connection, refuse upgrades and logins, then accept the client', async () => {
    const client = await pairedClient();
    const dropped = client.waitForUpdate(({ connection }) => connection === 'close');
    emulator.drop();
    expect(statusOf(await dropped)).toBe(DisconnectReason.connectionClosed);

    emulator.faults.refusedUpgrades = 1;
    emulator.faults.refusalStatus = 503;
    const response = new Promise<number | undefined>((resolve) => {
      client
        .connect()
        .ws.on('unexpected-response', (_: unknown, { statusCode }: { statusCode?: number }) =>
          resolve(statusCode),
        );
    });
    expect(await response).toBe(503);

    emulator.faults.failedLogins = 1;
    emulator.faults.failureReason = 403;
    const refused = client.waitForUpdate(({ connection }) => connection === 'close');
    client.connect();
    expect(statusOf(await refused)).toBe(DisconnectReason.forbidden);
    await reconnect(client);
  });

  it('replace a session when the same device logs in again', async () => {
    const client = await pairedClient();
    const replaced = client.waitForUpdate(({ connection }) => connection === 'close');
    newClient(client.auth);
    expect(statusOf(await replaced)).toBe(DisconnectReason.connectionReplaced);
  });

  it('deliver twice, and the client shows it once', async () => {
    const client = await pairedClient();
    emulator.faults.duplicates = 1;
    const id = await ana.say('twice', { to: phone });
    const repeated = emulator.waitFor(
      'stanza',
      ({ stanza }) => stanza.tag === 'ack' && stanza.attrs.id === id && stanza.attrs.error === '487',
    );
    await repeated;
    expect(client.texts).toEqual(['twice']);
  });

  it('corrupt a ciphertext, and the client receives the message after a retry request', async () => {
    const client = await pairedClient();
    await ana.say('first', { to: phone });
    await client.waitForMessage(({ message }) => message.message?.conversation === 'first');
    emulator.faults.corruptions = 1;
    const retried = emulator.waitFor('receipt', ({ type }) => type === 'retry');
    await ana.say('second', { to: phone });
    await retried;
    await client.waitForMessage(({ message }) => message.message?.conversation === 'second');
    expect(client.texts).toEqual(['first', 'second']);
  });

  it('make a person request a message of the client again', async () => {
    const client = await pairedClient();
    await client.socket.sendMessage(ana.pn, { text: 'one' });
    await ana.nextReply();
    await ana.loseSession(phone);
    await client.socket.sendMessage(ana.pn, { text: 'two' });
    expect(await ana.nextReply()).toMatchObject({ text: 'two' });
  });

  it('withhold acks, lose messages, refuse messages with a code', async () => {
    const client = await pairedClient();
    emulator.faults.withheldAcks = 1;
    await client.socket.sendMessage(ana.pn, { text: 'no ack' });
    expect(await ana.nextReply()).toMatchObject({ text: 'no ack' });

    emulator.faults.withheldAcks = 1;
    emulator.faults.isWithheldLost = true;
    const lost = emulator.waitFor('stanza', ({ stanza }) => stanza.tag === 'message');
    await client.socket.sendMessage(ana.pn, { text: 'lost' });
    await lost;

    emulator.faults.refusedMessages = 1;
    emulator.faults.refusalCode = 479;
    const refused = client.waitForStatus(({ update }) => update.status === 0);
    await client.socket.sendMessage(ana.pn, { text: 'refused' });
    expect((await refused)[0]?.update.messageStubParameters).toEqual(['479']);
    await client.socket.sendMessage(ana.pn, { text: 'through' });
    expect(await ana.nextReply()).toMatchObject({ text: 'through' });
    expect(emulator.bubbles(ana.pn).map(({ text }) => text)).toEqual(['no ack', 'through']);
  });

  it('delay every frame and keep their order', async () => {
    const client = await pairedClient();
    emulator.slowDown(50);
    const saidAt = performance.now();
    for (const text of ['a', 'b', 'c']) await ana.say(text, { to: phone });
    emulator.slowDown(0);
    await ana.say('d', { to: phone });
    await client.waitForMessage(({ message }) => message.message?.conversation === 'd');
    expect(performance.now() - saidAt).toBeGreaterThanOrEqual(49);
    expect(client.texts).toEqual(['a', 'b', 'c', 'd']);
  });

  it('never end the offline batch', async () => {
    const client = await pairedClient();
    await hangUp(client);
    await ana.say('stuck', { to: phone });
    emulator.faults.isOfflineEndless = true;
    const receipt = emulator.waitFor('receipt');
    await reconnect(client);
    await receipt;
    expect(client.texts).toEqual([]);
  });

  it('ignore keep-alives, and the client closes the connection', async () => {
    const client = await pairedClient(phone, { keepAliveIntervalMs: 50 });
    const closed = client.waitForUpdate(({ connection }) => connection === 'close', 15_000);
    emulator.silence(deviceOf(phone));
    expect(statusOf(await closed)).toBe(DisconnectReason.connectionLost);
  });
});
