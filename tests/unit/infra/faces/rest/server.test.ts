import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createHttpServer } from '../../../../../router/src/infra/faces/rest/server.ts';
import { type HttpApi, startHttpApi } from '../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

it('says which setting to change when the port is taken', async () => {
  const port = Number(new URL(api.url).port);
  const second = createHttpServer({ ...api.deps, config: { ...api.deps.config, port } });
  await expect(second).rejects.toMatchObject({
    code: 'CANNOT_LISTEN',
    message: `The REST API could not start: another program uses port ${port} of 127.0.0.1; set WA2AI_PORT to a free one, or stop that program.`,
  });
});

it('says which setting to change when the address is not of this machine', async () => {
  const server = createHttpServer({ ...api.deps, config: { ...api.deps.config, host: '203.0.113.7' } });
  await expect(server).rejects.toThrow('203.0.113.7 is no address of this machine; correct WA2AI_HOST.');
});

it('gives an address that a browser can open', async () => {
  expect(api.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const anywhere = await createHttpServer({ ...api.deps, config: { ...api.deps.config, host: '0.0.0.0' } });
  expect(anywhere.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  await anywhere.close();
});

it('closes at once although a client keeps its connection open', async () => {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  const closed = once(socket, 'close');
  await api.close();
  await closed;
  await expect(fetch(api.url)).rejects.toThrow();
});

it('can be closed twice, and frees its port', async () => {
  await Promise.all([api.close(), api.close()]);
  const port = Number(new URL(api.url).port);
  const next = createServer().listen(port, '127.0.0.1');
  await once(next, 'listening');
  expect((next.address() as AddressInfo).port).toBe(port);
  next.close();
});
