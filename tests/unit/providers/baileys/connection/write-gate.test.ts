import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import { gateWrites } from '../../../../../router/src/providers/baileys/connection/open-socket.ts';
import { GroupCommit } from '../../../../../router/src/providers/baileys/signal/group-commit.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

let server: Server;

beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
});

/** A store whose commits the test completes. */
class HeldStore extends MemoryKeyStore {
  readonly running: Array<{ end(): void; fail(): void }> = [];

  override commit(): Promise<never[]> {
    return new Promise((resolve, reject) => {
      this.running.push({
        end: () => resolve([]),
        fail: () => reject(new StorageUnavailableError({ sentence: 'no database' })),
      });
    });
  }
}

async function setup() {
  const { port } = server.address() as { port: number };
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const socket = createConnection(port, '127.0.0.1');
  const [other] = await accepted;
  other.on('error', () => undefined);
  const received: string[] = [];
  other.on('data', (bytes: Buffer) => received.push(bytes.toString()));
  const store = new HeldStore();
  const clock = new FakeClock();
  const commits = new GroupCommit(store, { accountId: 'main', generation: 1 }, clock);
  const right = { isHeld: true };
  gateWrites(socket, commits, () => right.isHeld);
  const append = () => commits.append([{ category: 'session', keyId: 'a', value: '1' }]);
  const commitStarted = async () => {
    while (store.running.length === 0) await new Promise((resolve) => setImmediate(resolve));
    return store.running.shift();
  };
  const written = (text: string) =>
    new Promise<Error | undefined>((resolve) => {
      socket.write(text, (error) => resolve(error ?? undefined));
    });
  return { socket, other, received, commits, right, append, commitStarted, written, clock };
}

describe('a gated socket', () => {
  it('writes at once while everything is durable', async () => {
    const { written, other, received } = await setup();
    const data = once(other, 'data');
    await written('hello');
    await data;
    expect(received).toEqual(['hello']);
  });

  it('writes nothing before all earlier units are durable, and then writes in order', async () => {
    const { append, commitStarted, written, other, received, socket } = await setup();
    append();
    const writes = [written('receipt '), written('reply')];
    const commit = await commitStarted();
    await new Promise((resolve) => setImmediate(resolve));
    expect([received, socket.bytesWritten]).toEqual([[], 0]);
    const data = once(other, 'data');
    commit?.end();
    await Promise.all(writes);
    await data;
    expect(received.join('')).toBe('receipt reply');
  });

  it('delays a write for earlier units, and not for later ones', async () => {
    const { append, commitStarted, written, socket } = await setup();
    append();
    const first = await commitStarted();
    const before = written('before');
    append();
    const after = written('after');
    first?.end();
    expect(await before).toBeUndefined();
    expect(socket.bytesWritten).toBe('before'.length);
    (await commitStarted())?.end();
    expect(await after).toBeUndefined();
  });

  it('is destroyed, and writes nothing, when the commit fails', async () => {
    const { append, commitStarted, written, received, clock, other } = await setup();
    const closed = once(other, 'close');
    append();
    const write = written('receipt');
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      (await commitStarted())?.fail();
      await settle();
      await clock.advanceMs(1_000);
    }
    expect(await write).toBeInstanceOf(Error);
    await closed;
    expect(received).toEqual([]);
  });

  it('is destroyed, and writes nothing, when the lease is lost before the commit is done', async () => {
    const { append, commitStarted, written, received, right, other } = await setup();
    const closed = once(other, 'close');
    append();
    const write = written('receipt');
    const commit = await commitStarted();
    right.isHeld = false;
    commit?.end();
    expect(await write).toBeInstanceOf(Error);
    await closed;
    expect(received).toEqual([]);
  });

  it('is destroyed by a write without the lease', async () => {
    const { written, right, received, other } = await setup();
    const closed = once(other, 'close');
    right.isHeld = false;
    expect(await written('receipt')).toBeInstanceOf(Error);
    await closed;
    expect(received).toEqual([]);
  });

  it('ends after the earlier writes', async () => {
    const { append, commitStarted, written, socket, other, received } = await setup();
    const ended = once(other, 'end');
    append();
    void written('last words');
    socket.end();
    (await commitStarted())?.end();
    await ended;
    expect(received.join('')).toBe('last words');
  });
});
