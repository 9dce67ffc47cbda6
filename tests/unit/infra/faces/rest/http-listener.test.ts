import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type HttpListener, listenHttp } from '../../../../../router/src/infra/faces/rest/http-listener.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

describe('listenHttp', () => {
  let listener: HttpListener | undefined;
  afterEach(() => listener?.close());

  async function listening(): Promise<HttpListener> {
    listener = await listenHttp({ config: { host: '127.0.0.1', port: 0 }, log: quietLog });
    return listener;
  }

  /** Resolves when the bytes of the request are sent. */
  async function sent({ url }: HttpListener) {
    const asked = request(`${url}/api/health`, { agent: false });
    const answer = once(asked, 'response');
    answer.catch(() => undefined);
    asked.end();
    await once(asked, 'finish');
    return { answer };
  }

  it('answers requests that came before there was something to serve, and later ones', async () => {
    const server = await listening();
    const early = await sent(server);
    server.serve((_request, response) => void response.end('hello'));
    const late = await sent(server);
    for (const { answer } of [early, late]) {
      const [response] = await answer;
      expect(response.statusCode).toBe(200);
      response.resume();
    }
  });

  it('closes the connections of requests that wait when the start fails', async () => {
    const server = await listening();
    const { answer } = await sent(server);
    await server.close();
    await expect(answer).rejects.toThrow('socket hang up');
  });
});
