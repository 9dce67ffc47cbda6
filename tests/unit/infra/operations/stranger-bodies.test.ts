import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  guard,
  MAX_PUBLIC_BODY_BYTES,
  StrangerBodies,
} from '../../../../router/src/infra/operations/guard.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { rawRequest } from '../../../support/raw-request.ts';

let api: HttpApi;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await api.close();
});

/** A connection that began to send a request and sends nothing more. */
async function unfinished(
  path: string,
  head: string,
  body = '',
): Promise<{ socket: Socket; answer: Promise<string> }> {
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const answer = once(socket, 'data').then(([bytes]) => String(bytes).split('\r\n')[0] ?? '');
  answer.catch(() => undefined);
  const isForm = path === '/login' || path === '/first-run';
  const type = `Content-Type: application/${isForm ? 'x-www-form-urlencoded' : 'json'}`;
  socket.write(`POST ${path} HTTP/1.1\r\nHost: ${hostname}\r\n${type}\r\n${head}\r\n\r\n${body}`);
  return { socket, answer };
}

describe('bodies of somebody of whom nothing is known', () => {
  const publicPaths = ['/api/session', '/login', '/first-run', '/rpc'];

  it.each(publicPaths)(
    'are refused at %s before they are read when they are larger than 8 kB',
    async (path) => {
      api = await startHttpApi({ apiKey: ADMIN_KEY });
      const { answer } = await unfinished(path, `Content-Length: ${MAX_PUBLIC_BODY_BYTES + 1}`);
      expect(await answer).toContain('413');
    },
  );

  it.each(publicPaths)(
    'are refused at %s after 8 kB when they do not say how large they are',
    async (path) => {
      api = await startHttpApi({ apiKey: ADMIN_KEY });
      const size = MAX_PUBLIC_BODY_BYTES + 1;
      const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n`;
      const { answer } = await unfinished(path, 'Transfer-Encoding: chunked', chunk);
      expect(await answer).toContain('413');
    },
  );

  it('have 8 kB at each public operation, unless its path has a secret', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    const open = api.endpoints.filter(({ scopes, body, admit }) => scopes === 'public' && body && !admit);
    expect(open.map(({ operationId }) => operationId).sort()).toEqual(['addFirstOwner', 'login', 'signIn']);
    for (const { path, bodyType = 'application/json' } of open) {
      const body = 'x'.repeat(MAX_PUBLIC_BODY_BYTES + 1);
      const headers = { 'content-type': bodyType, 'x-api-key': ADMIN_KEY };
      expect((await rawRequest(api.url + path, { method: 'POST', headers, body })).status, path).toBe(413);
    }
  });

  it('take no more memory together than their limit, and are served again when others have ended', async () => {
    api = await startHttpApi({ apiKey: ADMIN_KEY });
    const strangerBodies = new StrangerBodies(10 * MAX_PUBLIC_BODY_BYTES);
    const { server, url } = await guardedServer(strangerBodies);
    try {
      const seen: number[] = [];
      const answers: Array<Promise<string>> = [];
      for (let connection = 0; connection < 300; connection += 1) {
        const socket = connect(Number(new URL(url).port), '127.0.0.1');
        sockets.push(socket);
        socket.on('error', () => undefined);
        answers.push(once(socket, 'data').then(([bytes]) => String(bytes).split('\r\n')[0] ?? ''));
        await once(socket, 'connect');
        const head = `POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${MAX_PUBLIC_BODY_BYTES}`;
        socket.write(`${head}\r\n\r\n${'x'.repeat(MAX_PUBLIC_BODY_BYTES - 1)}`);
        seen.push(strangerBodies.bytes);
      }
      await expect.poll(() => strangerBodies.bytes).toBe(10 * MAX_PUBLIC_BODY_BYTES);
      expect(Math.max(...seen)).toBeLessThanOrEqual(10 * MAX_PUBLIC_BODY_BYTES);
      const statuses = await Promise.all(answers.slice(10));
      expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 503 Service Unavailable']));
      for (const socket of sockets.splice(0)) socket.destroy();
      await expect.poll(() => strangerBodies.bytes).toBe(0);
    } finally {
      server.close();
    }
  });
});

/** A server whose public path reads bodies behind the guard, with this memory for strangers. */
async function guardedServer(strangerBodies: StrangerBodies) {
  const { default: express } = await import('express');
  const { config, access, limiter } = api.options;
  const app = express();
  app.use(
    guard({ config, access, limiter, isLocal: () => false, strangerBodies })({ scopes: 'public' }),
    express.raw({ type: () => true }),
  );
  app.use(((error, _request, response, _next) => {
    response.status(error.status ?? 500).end();
  }) as import('express').ErrorRequestHandler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as import('node:net').AddressInfo;
  return { server, url: `http://127.0.0.1:${port}` };
}
