import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { KeyChange, KeyScope } from '../../../../../router/src/core/ports/key-store.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import {
  createSocketMemory,
  type OpenedSocket,
  openSocket,
} from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { openAuthState } from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

/** A store whose commits wait for the test. */
class WaitingStore extends MemoryKeyStore {
  commitNow: () => void = () => undefined;
  readonly #mayCommit = new Promise<void>((resolve) => {
    this.commitNow = resolve;
  });

  override async commit(scope: KeyScope, change: KeyChange): ReturnType<MemoryKeyStore['commit']> {
    await this.#mayCommit;
    return super.commit(scope, change);
  }
}

let server: WebSocketServer;
let opened: OpenedSocket[];

beforeEach(async () => {
  opened = [];
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
});
afterEach(async () => {
  for (const { socket } of opened) await socket.end(undefined);
  for (const client of server.clients) client.terminate();
  server.close();
});

const url = () => `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;

async function setup({ mayUse = (): boolean => true, store = new MemoryKeyStore() } = {}) {
  const auth = await openAuthState({
    store,
    scope: { accountId: 'main', generation: 1 },
    clock: systemClock,
    onStorageFailed: () => undefined,
    onKeyUnreadable: () => undefined,
  });
  const connected = once(server, 'connection') as Promise<[WebSocket]>;
  const open = () => {
    const one = openSocket({
      accountId: 'main',
      auth,
      memory: createSocketMemory(),
      groupNamed: () => undefined,
      getMessage: async () => undefined,
      mayUse,
      whatsappWsUrl: url(),
      log: quietLog,
    });
    opened.push(one);
    return one;
  };
  return { auth, connected, open };
}

describe('openSocket', () => {
  it('connects at once and begins the handshake', async () => {
    const { open, connected } = await setup();
    open();
    const [peer] = await connected;
    const [frame] = await once(peer, 'message');
    // The Noise handshake begins with "WA".
    expect(Buffer.from(frame).toString('latin1', 0, 2)).toBe('WA');
  });

  it('writes nothing without the right to the account, and closes', async () => {
    const { open, connected } = await setup({ mayUse: () => false });
    open();
    const [peer] = await connected;
    const frames: unknown[] = [];
    peer.on('message', (frame) => frames.push(frame));
    await once(peer, 'close');
    expect(frames).toEqual([]);
  });

  it('writes nothing before what was appended is durable', async () => {
    const store = new WaitingStore();
    const { auth, open, connected } = await setup({ store });
    auth.commits.append([{ category: 'session', keyId: 'a', value: '{}' }]);
    const { socket } = open();
    const [peer] = await connected;
    const frames: unknown[] = [];
    peer.on('message', (frame) => frames.push(frame));
    await socket.waitForSocketOpen();
    // Another connection opens meanwhile, so a frame would have arrived.
    const other = new WebSocket(url());
    await once(other, 'open');
    await settle();
    expect(frames).toEqual([]);
    store.commitNow();
    await once(peer, 'message');
    other.terminate();
  });

  it("gives Baileys' listener of message stanzas, which does not listen any more", async () => {
    const { open } = await setup();
    const { socket, baileysListener } = open();
    expect([typeof baileysListener, socket.ws.listenerCount('CB:message')]).toEqual(['function', 0]);
  });

  it("gives the Signal repository that Baileys uses, over the account's steps", async () => {
    const { auth, open } = await setup();
    const { socket, signal } = open();
    expect(socket.signalRepository).toBe(signal.repository);
    let isFree = (): void => undefined;
    const step = auth.steps.step(
      () =>
        new Promise<void>((resolve) => {
          isFree = resolve;
        }),
    );
    let isValidated = false;
    const validated = signal.repository.validateSession('34600000002@s.whatsapp.net').then(() => {
      isValidated = true;
    });
    await settle();
    expect(isValidated).toBe(false);
    isFree();
    await Promise.all([step, validated]);
  });

  it('does not make sends wait for each other in transactions of Baileys', async () => {
    const { open } = await setup();
    const { socket } = open();
    const { transaction } = socket.authState.keys;
    let finish: () => void = () => undefined;
    const first = transaction(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
      'main',
    );
    expect(await transaction(async () => 'second', 'main')).toBe('second');
    finish();
    await first;
  });
});
