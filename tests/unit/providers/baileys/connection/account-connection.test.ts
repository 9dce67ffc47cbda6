import { EventEmitter } from 'node:events';
import type { WASocket } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { NotConnectedError, StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import { AccountConnection } from '../../../../../router/src/providers/baileys/connection/account-connection.ts';
import type { OpenedSocket } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import type { BaileysProviderOptions } from '../../../../../router/src/providers/baileys/provider-options.ts';
import { builtInVersion } from '../../../../doubles/memory-client-versions.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

type AccountConnectionParts = ConstructorParameters<typeof AccountConnection>[1];

class FakeSocket {
  readonly ev = new EventEmitter();
  readonly ws = new EventEmitter();
  ends = 0;
  stateReads = 0;

  async resyncAppState(): Promise<void> {
    this.stateReads += 1;
  }

  async end(): Promise<void> {
    this.ends += 1;
  }

  fetchAccountReachoutTimelock = async (): Promise<void> => undefined;
  fetchNewChatMessageCap = async (): Promise<unknown> => this.cap;
  cap: unknown;

  opens(): void {
    this.ev.emit('connection.update', { connection: 'open' });
  }
}

/** A linked account whose parts record what is asked of them. */
function setup(given: { isLinked?: boolean; state?: string } = {}) {
  const calls: string[] = [];
  const sockets: FakeSocket[] = [];
  const statuses: Array<{ state: string; reason?: string; isStorageTrouble?: boolean }> = [];
  const clock = new FakeClock();
  const lease = { isHeld: true, verify: async (): Promise<void> => undefined };
  const limit: { current?: { reason: string; leftMs: number } } = {};
  const auth = {
    isLinked: () => given.isLinked ?? true,
    prepare: async () => void calls.push('prepare'),
    flush: async () => undefined,
    saveCreds: () => undefined,
    keys: { get: async () => ({}) },
  };
  const parts = {
    account: {
      auth,
      record: { state: given.state ?? 'open', reason: 'WhatsApp ended the link (401).' },
      load: async () => auth,
      isLinked: auth.isLinked,
      identity: () => ({}),
      archiveKeys: async () => void calls.push('archive keys'),
    },
    status: {
      set: (status: (typeof statuses)[number]) => void statuses.push(status),
      get state() {
        return statuses.at(-1)?.state;
      },
    },
    pairing: {
      show: () => void statuses.push({ state: 'pairing' }),
      codesOf: () => ({ end: () => undefined }),
    },
    limits: {
      connection: { current: () => undefined, forget: () => undefined },
      newContacts: { end: () => undefined },
      newChats: {
        end: () => undefined,
        begin: async (cap: object) => void calls.push(`cap ${JSON.stringify(cap)}`),
      },
      rate: { begin: async () => void calls.push('rate') },
      current: () => limit.current,
      forget: () => void calls.push('forget limits'),
    },
    inbound: {
      replay: async () => void calls.push('replay'),
      attach: () => () => undefined,
      loggedIn: () => void calls.push('logged in'),
      unlinked: () => void calls.push('unlinked'),
      stop: async () => undefined,
    },
    whatsAppTime: { set: () => undefined, now: () => clock.now() },
  } as unknown as AccountConnectionParts;
  const connection = new AccountConnection(
    {
      accountId: 'main',
      clock,
      log: recordingLog(),
      versions: builtInVersion(clock),
      events: {
        receipts: async () => undefined,
        refused: async (...refusal: unknown[]) => void calls.push(`refused ${refusal.join(' ')}`),
      },
      random: () => 0,
      connect: () => {
        calls.push('connect');
        const socket = new FakeSocket();
        sockets.push(socket);
        return { socket: socket as unknown as WASocket } as OpenedSocket;
      },
      fence: {
        isTakeOver: false,
        isHeld: () => lease.isHeld,
        verify: () => {
          calls.push('verify');
          return lease.verify();
        },
      },
    } as unknown as BaileysProviderOptions,
    parts,
  );
  const open = async () => {
    await connection.start();
    await settle();
    sockets.at(-1)?.opens();
  };
  return { connection, calls, sockets, statuses, clock, lease, limit, open };
}

describe('the connection of an account', () => {
  it('reads the journal and verifies the lease before each login', async () => {
    const { open, calls, sockets, clock } = setup();
    await open();
    expect(calls).toEqual(['prepare', 'replay', 'verify', 'connect', 'logged in']);
    sockets[0]?.ev.emit('connection.update', { connection: 'close' });
    await settle();
    await clock.advanceMs(1_000);
    expect(calls.slice(5)).toEqual(['prepare', 'verify', 'connect']);
  });

  it('shows one state while an account without a link cannot connect, whatever its attempts', async () => {
    const { connection, sockets, statuses, clock } = setup({ isLinked: false });
    await connection.start();
    await settle();
    for (let attempt = 0; attempt < 4; attempt += 1) {
      sockets.at(-1)?.ev.emit('connection.update', { connection: 'close' });
      await settle();
      await clock.advanceMs(10_000);
    }
    expect(sockets).toHaveLength(5);
    const [first, ...later] = statuses.map(({ state }) => state);
    expect(first).toBe('pairing');
    expect(new Set(later)).toEqual(new Set(['waiting']));
  });

  it('does not log in when the lease expires while it is verified', async () => {
    const { connection, lease, sockets } = setup();
    lease.verify = async () => {
      lease.isHeld = false;
    };
    await connection.start();
    await settle();
    expect(sockets).toEqual([]);
  });

  it('reads once which chats are locked, not with each connection', async () => {
    const { open, sockets, clock } = setup();
    await open();
    await settle();
    expect(sockets[0]?.stateReads).toBe(1);
    sockets[0]?.ev.emit('connection.update', { connection: 'close' });
    await settle();
    await clock.advanceMs(1_000);
    sockets[1]?.opens();
    await settle();
    expect(sockets[1]?.stateReads).toBe(0);
  });

  it('waits for a person after WhatsApp ended the link', async () => {
    const { connection, calls, statuses } = setup({ isLinked: false, state: 'logged-out' });
    await connection.start();
    expect(calls).toEqual(['replay', 'unlinked']);
    expect(statuses).toEqual([{ state: 'logged-out', reason: 'WhatsApp ended the link (401).' }]);
  });

  it('ends the socket at once, and once, when the database fails', async () => {
    const { connection, open, sockets, statuses } = setup();
    await open();
    connection.storageFailed(new StorageUnavailableError({ sentence: 'no database' }));
    connection.storageFailed(new StorageUnavailableError({ sentence: 'no database' }));
    expect(sockets[0]?.ends).toBe(1);
    expect(() => connection.openSocket()).toThrow(NotConnectedError);
    await settle();
    expect(statuses.at(-1)).toMatchObject({ state: 'waiting', isStorageTrouble: true });
  });

  it('has no usable socket from the moment when another node has the account', async () => {
    const { connection, open, sockets, clock } = setup();
    await open();
    expect(connection.socket).toBeDefined();
    connection.abandon();
    expect([connection.socket, sockets[0]?.ends]).toEqual([undefined, 1]);
    sockets[0]?.ev.emit('connection.update', { connection: 'close' });
    await clock.advanceMs(120_000);
    expect(sockets).toHaveLength(1);
  });

  it('shows the limit on new contacts while it is open', async () => {
    const { connection, open, limit, statuses } = setup();
    limit.current = { reason: 'too many strangers', leftMs: 10 };
    connection.showOpen();
    expect(statuses).toEqual([]);
    await open();
    expect(statuses.at(-1)).toMatchObject({ state: 'restricted', reason: 'too many strangers' });
    limit.current = undefined;
    connection.showOpen();
    expect(statuses.at(-1)).toMatchObject({ state: 'open' });
  });

  it('asks for the limits after a login and after error 463, and takes no limit from the error itself', async () => {
    const { open, calls, sockets, limit } = setup();
    await open();
    const [socket] = sockets;
    if (!socket) throw new Error('no socket');
    const refuse = async (id: string, error: string) => {
      socket.ws.emit('CB:ack,class:message', { tag: 'ack', attrs: { class: 'message', id, error } });
      await settle();
    };
    calls.length = 0;
    await refuse('ONE', '463');
    socket.cap = { capping_status: 'CAPPED', used_quota: 30, total_quota: 30 };
    limit.current = { reason: 'too many new chats', leftMs: 5_000 };
    await refuse('TWO', '463');
    await refuse('THREE', '429');
    await refuse('FOUR', '479');
    const reason = 'WhatsApp limits the number of new chats: 30 of 30 are used.';
    const phrase = { code: 'account.new-chats-used', values: { used: 30, total: 30 } };
    expect(calls).toEqual([
      'refused ONE 463 ',
      `cap ${JSON.stringify({ reason, phrase, forMs: 3_600_000 })}`,
      'refused TWO 463 5000',
      'rate',
      'refused THREE 429 5000',
      'refused FOUR 479 ',
    ]);
  });

  it('has new keys and no limits after it is unlinked', async () => {
    const { connection, open, calls, sockets } = setup();
    await open();
    calls.length = 0;
    await connection.restartUnlinked();
    await settle();
    expect(calls).toEqual(['archive keys', 'unlinked', 'forget limits', 'prepare', 'verify', 'connect']);
    expect(sockets).toHaveLength(2);
  });
});
