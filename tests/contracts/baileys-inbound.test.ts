import makeWASocket, {
  type BinaryNode,
  DEFAULT_CONNECTION_CONFIG,
  type WAMessage,
} from '@whiskeysockets/baileys';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { KeyChange, KeyScope } from '../../router/src/core/ports/key-store.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { takeMessageListener } from '../../router/src/providers/baileys/connection/check-surface.ts';
import {
  createSocketMemory,
  guardConsole,
  openSocket,
  socketConfig,
} from '../../router/src/providers/baileys/connection/open-socket.ts';
import { InboundRunner } from '../../router/src/providers/baileys/inbound/inbound-runner.ts';
import { fromBaileys } from '../../router/src/providers/baileys/messages/from-baileys.ts';
import { type AuthState, openAuthState } from '../../router/src/providers/baileys/signal/auth-state.ts';
import { MemoryJournal } from '../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../doubles/memory-key-store.ts';
import { quietLog } from '../support/quiet-log.ts';
import { memoryStores, WhatsAppAccount } from '../support/whatsapp-account.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPeople, createPerson } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

const SCOPE: KeyScope = { accountId: 'main', generation: 1 };

/** Keeps all writes, so that the same account can be opened twice in the same state. */
class CopiedStore extends MemoryKeyStore {
  readonly names = new Map<string, { category: string; keyId: string }>();

  override commit(scope: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    for (const { category, keyId } of change.puts)
      this.names.set(`${category} ${keyId}`, { category, keyId });
    return super.commit(scope, change);
  }

  async copy(): Promise<CopiedStore> {
    const store = new CopiedStore(new MemoryJournal());
    const puts = await this.read(SCOPE, [...this.names.values()]);
    await store.commit(SCOPE, { puts, deletes: [], journal: [] });
    return store;
  }

  /** The existing keys of a category. */
  async keysOf(category: string): Promise<string[]> {
    const names = [...this.names.values()].filter((name) => name.category === category);
    return (await this.read(SCOPE, names)).map(({ keyId }) => keyId).sort();
  }
}

let emulator: WhatsAppEmulator;
/** Stanzas of the account's device. */
let arrived: BinaryNode[];
let phone: Phone;
let releaseConsole: () => void;

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  arrived = [];
  emulator.events.on('stanza', ({ stanza }) => arrived.push(stanza));
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  releaseConsole = guardConsole(quietLog);
});
afterEach(async () => {
  await emulator.stop();
  releaseConsole();
});

const device = () => emulator.linkedDevices(phone.pn)[0]?.pn ?? '';

const openAuth = (store: CopiedStore): Promise<AuthState> =>
  openAuthState({
    store,
    scope: SCOPE,
    clock: systemClock,
    onStorageFailed: (error) => {
      throw error;
    },
    onKeyUnreadable: () => undefined,
  });

/** The keys of a linked account, and messages of each kind queued for it. */
async function accountWithMessages(): Promise<CopiedStore> {
  const stores = { ...memoryStores(), keyStore: new CopiedStore() };
  const account = new WhatsAppAccount(emulator, stores);
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
  const [ana, bo] = createPeople(emulator, 2);
  const lea = createPerson(emulator, { phone: '34600000009', via: 'lid' });
  if (!ana || !bo) throw new Error('two people were made');
  const group = createGroup(emulator, { subject: 'Team', members: [ana, bo, phone] });
  await ana.say('hello', { to: phone });
  await bo.say('hello all', { to: group });
  await account.untilReceived(2);
  await account.send(ana.pn, 'hello Ana');
  await ana.nextReply();
  await emulator.waitUntilSettled(device());
  await account.provider.stop();

  await ana.say('a message of a known session', { to: phone });
  await bo.say('a first message', { to: phone });
  await lea.say('by LID', { to: phone });
  await bo.say('of a known sender key', { to: group });
  await ana.say('with a sender key', { to: group });
  await phone.say('of the own phone', { to: ana.pn });
  await ana.say({ reactionMessage: { text: '+', key: { id: 'A', remoteJid: ana.pn } } }, { to: phone });
  // Her phone does not send it again.
  Object.assign(ana, { onReceipt: async () => undefined });
  await ana.say('undecryptable', { to: phone, isCorrupt: true, id: '3EB0CORRUPT' });
  return stores.keyStore;
}

/** Baileys reads stanzas with Buffers in them, and its Signal takes nothing else. */
function copyOf({ tag, attrs, content }: BinaryNode): BinaryNode {
  if (content instanceof Uint8Array) return { tag, attrs: { ...attrs }, content: Buffer.from(content) };
  const children = Array.isArray(content) ? content.map(copyOf) : content;
  return { tag, attrs: { ...attrs }, content: children };
}

interface Observed {
  messages: InboundMessage[];
  /** Receipts and refusals, one per message id. */
  receipts: string[];
}

/** The receipts of a device, one entry per message id, so that bulk receipts equal single ones. */
function receiptsSince(start: number): string[] {
  const said: string[] = [];
  for (const { tag, attrs, content } of arrived.slice(start)) {
    if (tag !== 'receipt' && !(tag === 'ack' && attrs.class === 'message')) continue;
    const { id = '', to, participant, recipient, type, error } = attrs;
    const more = Array.isArray(content) ? content.filter((child) => child.tag === 'list') : [];
    const ids = more.flatMap((list) => (Array.isArray(list.content) ? list.content : []));
    for (const each of [id, ...ids.map((item) => item.attrs.id)]) {
      said.push(JSON.stringify({ tag, id: each, to, participant, recipient, type, error }));
    }
  }
  return said.sort();
}

const comparable = (messages: readonly InboundMessage[]) =>
  messages.map(({ stanzaOrder: _, ...message }) => JSON.stringify(message)).sort((a, b) => (a < b ? -1 : 1));

/** Baileys' own way, from its listener to its event. */
async function byBaileys(store: CopiedStore): Promise<Observed & { stanzas: BinaryNode[] }> {
  const auth = await openAuth(store);
  const memory = createSocketMemory();
  const socket = makeWASocket({
    ...socketConfig({
      accountId: 'main',
      auth,
      memory,
      log: quietLog,
      whatsappWsUrl: emulator.url,
      getMessage: async () => undefined,
      groupMetadata: async () => undefined,
      makeSignalRepository: DEFAULT_CONNECTION_CONFIG.makeSignalRepository,
    }),
  });
  const stanzas: BinaryNode[] = [];
  const upserts: Array<{ message: WAMessage; type: 'notify' | 'append' }> = [];
  socket.ws.prependListener('CB:message', (node: BinaryNode) => stanzas.push(copyOf(node)));
  socket.ev.on('creds.update', () => auth.saveCreds());
  socket.ev.on('messages.upsert', ({ messages, type }) => {
    for (const message of messages) upserts.push({ message, type });
  });
  const start = arrived.length;
  // The refusal follows the retry request and is the last stanza.
  const refused = emulator.waitFor('stanza', ({ stanza: { tag, attrs } }) => {
    return tag === 'ack' && attrs.id === '3EB0CORRUPT';
  });
  await emulator.waitUntilSettled(device());
  await refused;
  const receipts = receiptsSince(start);
  socket.ev.flush();
  await auth.flush();
  await socket.end(undefined);
  const messages: InboundMessage[] = [];
  for (const { message, type } of upserts) {
    const result = fromBaileys(message, contextOf(auth, type));
    if (result.kind === 'message' && result.message.kind !== 'undecryptable') messages.push(result.message);
  }
  return { messages, receipts, stanzas };
}

function contextOf({ creds }: AuthState, upsertType: 'notify' | 'append') {
  return {
    accountId: 'main',
    upsertType,
    stanzaOrder: 0n,
    nowMs: Date.now(),
    maxMessageAgeMs: 86_400_000,
    ownPhone: creds.me?.id.split(/[:@]/)[0],
    ownLid: creds.me?.lid?.split(/[:@]/)[0],
  };
}

/** wa2ai's way, with the same stanzas. */
async function byWa2ai(store: CopiedStore, stanzas: readonly BinaryNode[]): Promise<Observed> {
  const auth = await openAuth(store);
  const live = emulator.waitFor('live');
  const opened = openSocket({
    accountId: 'main',
    auth,
    memory: createSocketMemory(),
    groupNamed: () => undefined,
    getMessage: async () => undefined,
    mayUse: () => true,
    whatsappWsUrl: emulator.url,
    log: quietLog,
  });
  const messages: InboundMessage[] = [];
  const runner = new InboundRunner({
    accountId: 'main',
    journal: new MemoryJournal(),
    receive: async (message) => {
      messages.push(message);
    },
    toStore: () => undefined,
    stored: () => undefined,
    onTrouble: () => undefined,
    onStorageFailed: () => undefined,
    onRefused: () => undefined,
    onJournalUnreadable: () => undefined,
    onOverflow: () => undefined,
    onReceiptSent: () => undefined,
    phoneOfLid: async () => undefined,
    own: () => ({ id: auth.creds.me?.id ?? '', lid: auth.creds.me?.lid ?? '' }),
    whatsAppNow: () => Date.now(),
    clock: systemClock,
    log: quietLog,
    maxMessageAgeMs: () => 86_400_000,
    random: Math.random,
  });
  await runner.replay();
  const detach = runner.attach({ ...opened, auth });
  opened.socket.ev.on('creds.update', () => auth.saveCreds());
  await live;
  const start = arrived.length;
  const ids = new Set(stanzas.map(({ attrs }) => attrs.id));
  const signalled = new Promise<void>((resolve) => {
    emulator.events.on('stanza', ({ stanza }) => {
      if (stanza.tag !== 'receipt' && stanza.tag !== 'ack') return;
      const said = receiptsSince(start).map(
        (text) => JSON.parse(text) as { id: string; tag: string; type: string },
      );
      // A refused one gets a retry request first, then its ack.
      for (const { id, tag, type } of said) if (tag === 'ack' || type !== 'retry') ids.delete(id);
      if (ids.size === 0) resolve();
    });
  });
  for (const node of stanzas) opened.socket.ws.emit('CB:message', copyOf(node));
  await signalled;
  const receipts = receiptsSince(start);
  detach();
  await opened.socket.end(undefined);
  await runner.stop();
  await auth.flush();
  return { messages: messages.filter(({ kind }) => kind !== 'undecryptable'), receipts };
}

describe('Baileys and wa2ai, given the same stanzas', () => {
  it('produce the same messages, receipts and keys', async () => {
    const store = await accountWithMessages();
    const [one, two] = [await store.copy(), await store.copy()];
    const baileys = await byBaileys(one);
    const own = await byWa2ai(two, baileys.stanzas);
    expect(baileys.messages.length).toBeGreaterThanOrEqual(7);
    expect(comparable(own.messages)).toEqual(comparable(baileys.messages));
    expect(own.receipts).toEqual(baileys.receipts);
    for (const category of ['session', 'sender-key', 'identity-key', 'lid-mapping']) {
      expect(await two.keysOf(category), category).toEqual(await one.keysOf(category));
    }
  });
});

describe('the Baileys surface', () => {
  it('matches rc14', async () => {
    const connected = emulator.waitFor('connected');
    const auth = await openAuth(new CopiedStore());
    const { socket, baileysListener } = openSocket({
      accountId: 'main',
      auth,
      memory: createSocketMemory(),
      groupNamed: () => undefined,
      getMessage: async () => undefined,
      mayUse: () => true,
      whatsappWsUrl: emulator.url,
      log: quietLog,
    });
    expect(typeof baileysListener).toBe('function');
    // A surface with a listener missing or added is not the one that wa2ai supports.
    expect(() => takeMessageListener(socket)).toThrow(/0 listeners of message stanzas instead of one/);
    socket.ws.on('CB:message', () => undefined);
    socket.ws.on('CB:message', () => undefined);
    expect(() => takeMessageListener(socket)).toThrow(/2 listeners of message stanzas instead of one/);
    Object.assign(socket, { sendReceipt: undefined });
    expect(() => takeMessageListener(socket)).toThrow(/the socket has no sendReceipt/);
    await connected;
    await socket.end(undefined);
  });
});
