import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../router/src/infra/operations/http-listener.ts';
import { TestBed } from '../support/test-bed.ts';

/** The most that the API keeps open. */
const LIMIT = SERVER_LIMITS.maxConnections;
const CONNECTIONS = LIMIT + 100;

/** Callers: one address has at most half of the connections. Other systems have only the first one. */
const ADDRESSES = process.platform === 'linux' ? ['127.0.0.1', '127.0.0.2', '127.0.0.3'] : ['127.0.0.1'];

let bed: TestBed;
const sockets: Socket[] = [];

beforeEach(async () => {
  bed = await TestBed.startPaired();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await bed.close();
});

/** A connection to the API that sends nothing; it may be refused. */
async function openIdle(url: URL): Promise<void> {
  const localAddress = ADDRESSES[sockets.length % ADDRESSES.length];
  const socket = connect({ port: Number(url.port), host: url.hostname, localAddress });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
}

it(`answers people while ${CONNECTIONS} idle connections to the API are open`, async () => {
  const { service } = bed;
  const ana = bed.person();
  await ana.say('before', { to: bed.phone });
  expect((await ana.nextReply()).text).toBe('Echo: before');

  const before = service.lines.length;
  const url = new URL(service.url);
  // More at a time would overflow the listen backlog.
  while (sockets.length < CONNECTIONS) {
    await Promise.all(Array.from({ length: 200 }, () => openIdle(url)));
  }
  await service.untilLog(({ msg }) => String(msg).startsWith('too many http connections'), 20_000, before);
  const closed = () => sockets.filter((socket) => socket.closed).length;
  await expect.poll(closed, { timeout: 60_000 }).toBeGreaterThanOrEqual(CONNECTIONS - LIMIT);

  for (const text of ['one', 'two', 'three']) {
    await ana.say(text, { to: bed.phone });
    expect((await ana.nextReply()).text).toBe(`Echo: ${text}`);
  }
  const bob = bed.person({ via: 'lid' });
  await bob.say('hello', { to: bed.phone });
  expect((await bob.nextReply()).text).toBe('Echo: hello');
  const states = service.lines.slice(before).filter(({ msg }) => msg === 'account state');
  expect(states).toEqual([]);
});
