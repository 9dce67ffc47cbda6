import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type HttpListener,
  listenHttp,
  SERVER_LIMITS,
} from '../../../../router/src/infra/operations/http-listener.ts';
import { quietLog } from '../../../support/quiet-log.ts';
import { rawRequest } from '../../../support/raw-request.ts';

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
    const closed = server.close();
    await expect(answer).rejects.toMatchObject({ code: 'ECONNRESET' });
    await closed;
  });

  it('closes connections without a request while a request still runs', async () => {
    const server = await listening();
    let end: (() => void) | undefined;
    const arrived = new Promise<void>((resolve) =>
      server.serve((_request, response) => {
        end = () => void response.end('hello');
        resolve();
      }),
    );
    const silent = connect(Number(new URL(server.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const { answer } = await sent(server);
    await arrived;
    const gone = once(silent, 'close');
    const closed = server.close();
    await gone;
    end?.();
    const [response] = await answer;
    expect(response.statusCode).toBe(200);
    response.resume();
    await closed;
  });

  it('closes further connections of one address, and takes new ones when others have ended', async () => {
    const limits = { ...SERVER_LIMITS, maxConnectionsPerAddress: 3 };
    listener = await listenHttp({ config: { host: '127.0.0.1', port: 0 }, log: quietLog, limits });
    const { port } = new URL(listener.url);
    const connected = async () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      return socket;
    };
    const open = [await connected(), await connected(), await connected()];
    const fourth = await connected();
    await once(fourth, 'close');
    expect(open.every((socket) => !socket.closed)).toBe(true);
    open[0]?.destroy();
    listener.serve((_request, response) => void response.end('hello'));
    await expect
      .poll(async () => {
        const answer = await rawRequest(`http://127.0.0.1:${port}/`).catch(() => undefined);
        return answer?.text;
      })
      .toBe('hello');
    for (const socket of open) socket.destroy();
  });
});
