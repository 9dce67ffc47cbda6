import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../router/src/infra/faces/rest/http-listener.ts';
import { TestBed } from '../support/test-bed.ts';

/** The most that the API keeps open. */
const LIMIT = SERVER_LIMITS.maxConnections;
const CONNECTIONS = LIMIT + 100;

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
  const socket = connect(Number(url.port), url.hostname);
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
  await service.untilLog(({ msg }) => msg === 'too many http connections', 20_000, before);
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
