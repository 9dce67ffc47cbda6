import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../../../router/src/core/models.ts';
import type { AccountStatus } from '../../../../router/src/core/ports/chat-provider.ts';
import { createBaileysProvider } from '../../../../router/src/providers/baileys/baileys-provider.ts';
import type { OpenedSocket } from '../../../../router/src/providers/baileys/connection/open-socket.ts';
import { openAuthState } from '../../../../router/src/providers/baileys/signal/auth-state.ts';
import { MemoryAccountStore } from '../../../doubles/memory-account-store.ts';
import { builtInVersion } from '../../../doubles/memory-client-versions.ts';
import { MemoryJournal } from '../../../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../../../doubles/memory-key-store.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const scope = { accountId: 'main', generation: 1 };
const LID = '900000000000002';

/** A socket of Baileys that the test drives. */
class FakeSocket {
  readonly ev = new EventEmitter();
  readonly ws = new EventEmitter();
  isEnded = false;
  readonly presences: string[] = [];
  readonly read: unknown[] = [];
  readonly reactions: unknown[] = [];
  readMessages = async (keys: unknown[]): Promise<void> => {
    this.read.push(...keys);
  };
  sendMessage = async (to: string, content: object): Promise<void> => {
    this.reactions.push({ to, ...content });
  };
  fetchAccountReachoutTimelock = async (): Promise<void> => undefined;
  fetchNewChatMessageCap = async (): Promise<object> => ({});
  logout = async (): Promise<void> => undefined;
  resyncAppState = async (): Promise<void> => undefined;
  sendPresenceUpdate = async (presence: string, to: string): Promise<void> => {
    this.presences.push(`${presence} ${to}`);
  };
  requestPairingCode = async (): Promise<string> => 'ABCDEFGH';
  sendNode = async (): Promise<void> => undefined;

  async end(): Promise<void> {
    this.isEnded = true;
  }

  update(fields: object): void {
    this.ev.emit('connection.update', fields);
  }

  /** WhatsApp sends the ref of a QR code. */
  async offers(ref: string): Promise<void> {
    const content = [{ tag: 'ref', attrs: {}, content: Buffer.from(ref) }];
    const child = { tag: 'pair-device', attrs: {}, content };
    this.ws.emit('CB:iq,type:set,pair-device', { tag: 'iq', attrs: { id: '1' }, content: [child] });
    await settle();
  }
}

async function setup({ isLinked = true } = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const journal = new MemoryJournal();
  const keyStore = new MemoryKeyStore(journal);
  const statuses: AccountStatus[] = [];
  const sockets: FakeSocket[] = [];
  if (isLinked) {
    const silent = { onStorageFailed: () => undefined, onKeyUnreadable: () => undefined };
    const auth = await openAuthState({ store: keyStore, scope, clock, ...silent });
    auth.creds.me = { id: '34600000001:1@s.whatsapp.net' };
    auth.creds.account = { details: Buffer.from('signed by the phone') };
    auth.saveCreds();
    await auth.flush();
  }
  const provider = createBaileysProvider({
    accountId: 'main',
    events: {
      status: (status: AccountStatus) => statuses.push(status),
      receipts: async () => undefined,
      receive: async () => undefined,
      toStore: () => undefined,
      stored: () => undefined,
      refused: async () => undefined,
      chatLocked: async () => undefined,
      groupNamed: async () => undefined,
    },
    keyStore,
    accountStore: new MemoryAccountStore(() => clock.monotonicMs()),
    journal,
    findSentMessage: async () => undefined,
    findOriginal: async () => undefined,
    clock,
    log,
    versions: builtInVersion(clock),
    maxMessageAgeMs: () => 60_000,
    random: () => 0,
    connect: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return { socket, baileysListener: () => undefined } as unknown as OpenedSocket;
    },
  });
  const socket = () => sockets.at(-1) as FakeSocket;
  const start = async () => {
    await provider.start();
    await settle();
  };
  const open = async () => {
    await start();
    socket().update({ connection: 'open' });
  };
  return { provider, clock, log, keyStore, statuses, sockets, socket, start, open };
}

const reply: OutgoingMessage = {
  accountId: 'main',
  to: '34600000002@s.whatsapp.net',
  waMessageId: '3EB0A',
  text: 'hello',
};

describe('a provider that is not connected', () => {
  it('sends, uploads and reloads nothing', async () => {
    const { provider, start } = await setup();
    await start();
    for (const call of [
      () => provider.send(reply),
      () => provider.upload(reply, new Uint8Array(1)),
      () => provider.reloadMedia('{}'),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'NOT_CONNECTED' });
    }
    await provider.stop();
  });

  it('shows no typing, which is no error', async () => {
    const { provider, start, socket } = await setup();
    await start();
    await provider.setTyping(reply.to, true);
    expect(socket().presences).toEqual([]);
    await provider.stop();
  });
});

describe('a connected provider', () => {
  const message = { chat: '1@lid', waMessageId: 'W1', from: '34600000002@s.whatsapp.net', fromLid: '1@lid' };

  it('marks messages of people as read, not those of the account, and reacts', async () => {
    const { provider, open, socket } = await setup();
    await open();
    const group = '120363000000000001@g.us';
    const own = { chat: '34600000001@s.whatsapp.net', waMessageId: 'W2', from: '34600000001@s.whatsapp.net' };
    for (const each of [message, { ...message, chat: group }, own]) await provider.markRead(each);
    expect(socket().read).toEqual([
      { remoteJid: '1@lid', id: 'W1', fromMe: false },
      { remoteJid: group, id: 'W1', fromMe: false, participant: '1@lid' },
    ]);
    await provider.react(message, '👀');
    await provider.react(own, '');
    expect(socket().reactions).toEqual([
      { to: '1@lid', react: { text: '👀', key: { remoteJid: '1@lid', id: 'W1', fromMe: false } } },
      { to: own.chat, react: { text: '', key: { remoteJid: own.chat, id: 'W2', fromMe: true } } },
    ]);
    await provider.stop();
  });

  it('ignores failures of what nobody waits for, and does nothing without a connection', async () => {
    const { provider, open, socket, log } = await setup();
    await provider.markRead(message);
    await open();
    socket().readMessages = () => Promise.reject(new Error('closed'));
    await provider.markRead(message);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'debug', message: 'message not marked as read' }),
    );
    await provider.stop();
  });

  it('shows and hides typing, and a failure of it is no error', async () => {
    const { provider, open, socket, log } = await setup();
    await open();
    await provider.setTyping('a', true);
    await provider.setTyping('a', false);
    expect(socket().presences).toEqual(['composing a', 'paused a']);
    socket().sendPresenceUpdate = async () => {
      throw new Error('closed');
    };
    await provider.setTyping('a', true);
    expect(log.lines).toContainEqual(
      expect.objectContaining({
        level: 'debug',
        message: 'typing not shown',
        fields: expect.objectContaining({ jidHash: expect.stringMatching(/^[0-9a-f]{8}$/) }),
      }),
    );
    await provider.stop();
  });

  it('reports how long WhatsApp limits new contacts, until the limit ends', async () => {
    const { provider, open, socket, clock } = await setup();
    await open();
    const timeEnforcementEnds = new Date(clock.now() + 60_000);
    socket().update({ reachoutTimeLock: { isActive: true, timeEnforcementEnds } });
    await clock.advanceMs(20_000);
    socket().ws.emit('frame');
    expect(provider.status()).toMatchObject({ state: 'restricted', isConnected: true, limitLeftMs: 45_000 });
    await clock.advanceMs(44_000);
    expect(provider.status().state).toBe('restricted');
    await clock.advanceMs(1_000);
    expect(provider.status()).not.toHaveProperty('limitLeftMs');
    expect(provider.status().state).toBe('open');
    await provider.stop();
  });

  it('forgets the limit when an operator restarts it', async () => {
    const { provider, open, socket, sockets } = await setup();
    await open();
    socket().update({ reachoutTimeLock: { isActive: true } });
    expect(provider.status().limitLeftMs).toBeGreaterThan(0);
    expect(await provider.restart()).not.toHaveProperty('limitLeftMs');
    await settle();
    expect(sockets.map(({ isEnded }) => isEnded)).toEqual([true, false]);
    await provider.stop();
  });

  it('reports an unreadable key as a problem of the account', async () => {
    const { provider, open, socket, keyStore, log } = await setup();
    await keyStore.commit(scope, {
      puts: [{ category: 'lid-mapping', keyId: `${LID}_reverse`, value: 'damaged' }],
      deletes: [],
      journal: [],
    });
    await open();
    socket().ws.emit('CB:receipt', { tag: 'receipt', attrs: { id: '3EB0A', from: `${LID}@lid` } });
    await settle();
    expect(provider.status().problems).toEqual([expect.stringContaining('1 lid-mapping')]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'error', fields: { category: 'lid-mapping' } }),
    );
    await provider.stop();
  });
});

describe('pairing', () => {
  it('restarts with the new method, and resolves with the code', async () => {
    const { provider, start, socket, sockets } = await setup({ isLinked: false });
    await start();
    await socket().offers('first');
    expect(provider.status()).toMatchObject({ state: 'pairing', qr: expect.stringContaining('#first,') });
    const paired = provider.pair({ method: 'code', phone: '34600000001' });
    await settle();
    await socket().offers('second');
    expect(await paired).toMatchObject({ state: 'pairing', pairingCode: 'ABCDEFGH' });
    expect(sockets).toHaveLength(2);
    await provider.stop();
  });
});

describe('logout', () => {
  it.each<[string, FakeSocket['logout'], number]>([
    ['answers', async () => undefined, 0],
    ['refuses', () => Promise.reject(new Error('closed')), 0],
    ['does not answer for 5 s', () => new Promise(() => undefined), 5_000],
  ])('unlinks here when WhatsApp %s', async (_, logout, waitMs) => {
    const { provider, open, socket, sockets, clock } = await setup();
    await open();
    socket().logout = logout;
    const loggedOut = provider.logout();
    await settle();
    if (waitMs > 0) {
      await clock.advanceMs(waitMs - 1);
      expect(sockets).toHaveLength(1);
      await clock.advanceMs(1);
    }
    await socket().offers('fresh');
    expect(await loggedOut).toMatchObject({ state: 'pairing', qr: expect.stringContaining('#fresh,') });
    expect(sockets).toHaveLength(2);
    await provider.stop();
  });

  it('warns when the device stays linked on the phone', async () => {
    const { provider, open, socket, log } = await setup();
    await open();
    socket().logout = () => Promise.reject(new Error('closed'));
    const loggedOut = provider.logout();
    await settle();
    await socket().offers('fresh');
    await loggedOut;
    expect(log.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: expect.stringMatching(/unlink the device on the phone too/) },
    ]);
    await provider.stop();
  });
});

describe('stopping', () => {
  it('ends the socket, reports it once, and restores the console', async () => {
    const { log } = globalThis.console;
    const { provider, open, socket, statuses } = await setup();
    await open();
    expect(globalThis.console.log).not.toBe(log);
    await provider.stop();
    await provider.stop();
    expect(socket().isEnded).toBe(true);
    expect(statuses.filter(({ state }) => state === 'stopped')).toHaveLength(1);
    expect(globalThis.console.log).toBe(log);
  });
});
