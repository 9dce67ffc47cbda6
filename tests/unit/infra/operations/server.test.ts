import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SERVER_LIMITS } from '../../../../router/src/infra/operations/http-listener.ts';
import { createHttpServer } from '../../../../router/src/infra/operations/server.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { unusedPort } from '../../../support/unused-port.ts';

let api: HttpApi;
/** The same API, at a port that no other test is given when it is free again. */
async function atOwnPort() {
  const config = { ...api.options.config, port: await unusedPort() };
  return createHttpServer({ ...api.options, config });
}

beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

it('names the setting to change when the port is in use', async () => {
  const port = Number(new URL(api.url).port);
  const second = createHttpServer({ ...api.options, config: { ...api.options.config, port } });
  await expect(second).rejects.toMatchObject({
    code: 'CANNOT_LISTEN',
    message: `The REST API cannot start: another program uses port ${port} of 127.0.0.1. Set WA2AI_PORT to a free port, or stop that program.`,
  });
});

it('names the setting to change when the address is not of this machine', async () => {
  const server = createHttpServer({ ...api.options, config: { ...api.options.config, host: '203.0.113.7' } });
  await expect(server).rejects.toThrow('203.0.113.7 is not an address of this machine. Correct WA2AI_HOST.');
});

it('returns an address that a browser can open', async () => {
  expect(api.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const anywhere = await createHttpServer({
    ...api.options,
    config: { ...api.options.config, host: '0.0.0.0' },
  });
  expect(anywhere.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await anywhere.close();
});

it('closes at once when a client keeps its connection open', async () => {
  const server = await atOwnPort();
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  const closed = once(socket, 'close');
  await server.close();
  await closed;
  await expect(fetch(server.url)).rejects.toThrow();
});

it('can be closed twice, and frees its port', async () => {
  const server = await atOwnPort();
  await Promise.all([server.close(), server.close()]);
  const port = Number(new URL(server.url).port);
  const next = createServer().listen(port, '127.0.0.1');
  await once(next, 'listening');
  expect((next.address() as AddressInfo).port).toBe(port);
  next.close();
});

describe('idle connections', () => {
  const limits = { ...SERVER_LIMITS, maxConnections: 100, headersTimeoutMs: 100, checkEveryMs: 20 };
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** Opens connections to a server. @returns the end of each */
  async function open(count: number, url: string, firstBytes = ''): Promise<Array<Promise<unknown>>> {
    const opened = Array.from({ length: count }, async () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined).resume();
      const closed = new Promise((resolve) => socket.once('close', resolve));
      await once(socket, 'connect');
      if (firstBytes !== '') socket.write(firstBytes);
      return { closed };
    });
    return (await Promise.all(opened)).map(({ closed }) => closed);
  }

  it.each([
    ['nothing', ''],
    ['half a request', 'GET /health/live HTTP/1.1\r\nHost: loc'],
  ])('are closed when they send %s', async (_name, firstBytes) => {
    const server = await createHttpServer({ ...api.options, limits });
    await Promise.all(await open(20, server.url, firstBytes));
    await server.close();
  });

  it('beyond the limit are refused, counted in the log, and leave the API reachable', async () => {
    // None may be closed before all have come.
    const server = await createHttpServer({ ...api.options, limits: { ...limits, headersTimeoutMs: 500 } });
    // More at a time would overflow the listen backlog, and the server would not see them.
    await Promise.all(await open(250, server.url));
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200);
    const drops = api.log.lines.filter(({ message }) => message === 'too many http connections');
    expect(drops.map(({ fields }) => fields.dropped)).toEqual(drops.map((_, i) => 2 ** i));
    expect(drops.length).toBeGreaterThan(5);
    await server.close();
  });
});
