import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type HttpApi, startHttpApi } from '../support/http-api.ts';

/** Events of which the connection takes nothing, and those of one report to the streams. */
const MORE_EVENTS = 20_000;
const BATCH = 100;
/** Far above what the operating system buffers for a connection (tens of MB). */
const MAX_EVENTS = 500_000;
/** Makes an event 1 kB. */
const LONG_ID = '7'.repeat(1_000);
/** What a connection has when it still takes more (16 kB), one write of the stream (64 kB), one event, and frames of HTTP. */
const MAX_BUFFERED = 85_000;
const HEARTBEAT_MS = 15_000;

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

/** The end of a connection inside the server, which runs in this process. */
function serverSideOf(client: Socket): Socket {
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  const found = handles.find((handle) => (handle as Socket).remotePort === client.localPort);
  if (!found) throw new Error('the connection has no server side');
  return found as Socket;
}

it('a client of the live events that stops reading costs bounded memory and is disconnected', async () => {
  const client = connect(Number(new URL(api.url).port), '127.0.0.1');
  await once(client, 'connect');
  client.write('GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  let begun = '';
  while (!begun.includes('event: ready')) begun += String((await once(client, 'data'))[0]);
  client.pause();
  const server = serverSideOf(client);
  const isClosed = once(server, 'close');
  let most = 0;
  const report = async () => {
    for (let sent = 0; sent < BATCH; sent += 1) {
      api.live.changes.report({ type: 'message', accountId: 'default', chatId: LONG_ID, id: LONG_ID });
    }
    await api.live.clock.advanceMs(50);
    await nextTurn();
    most = Math.max(most, server.writableLength);
  };
  // The operating system may take more after a moment: the connection is full when it took nothing of many events
  for (let sent = 0, refused = 0; refused < MORE_EVENTS; sent += BATCH) {
    expect(sent).toBeLessThan(MAX_EVENTS);
    await report();
    refused = server.writableNeedDrain ? refused + BATCH : 0;
  }
  expect(most).toBeGreaterThan(10_000);
  expect(most).toBeLessThan(MAX_BUFFERED);
  for (let beats = 0; beats < 3; beats += 1) await api.live.clock.advanceMs(HEARTBEAT_MS);
  await isClosed;
  expect(server.destroyed).toBe(true);
  client.destroy();
});
