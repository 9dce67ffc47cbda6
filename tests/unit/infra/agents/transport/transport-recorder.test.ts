import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { AgentExchange } from '../../../../../router/src/core/agent-exchange.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../../router/src/infra/agents/transport/egress.ts';
import { TransportRecorder } from '../../../../../router/src/infra/agents/transport/exchange-mask.ts';

const opened: Array<() => void> = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

async function setup(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  opened.push(() => server.close());
  let nowMs = 0;
  const recorder = new TransportRecorder({ now: () => nowMs++ });
  const exchanges: AgentExchange[] = [];
  const during = <T>(work: () => Promise<T>) => recorder.during((exchange) => exchanges.push(exchange), work);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/run?key=12345678`;
  const { signal } = new AbortController();
  const headers = new Headers({ 'x-key': 'a-secret-of-the-route', 'content-type': 'application/json' });
  const request = { method: 'POST' as const, headers, body: '{"say":"a-secret-of-the-route"}', signal };
  return { transport: new AgentTransport(new Egress('any'), recorder), during, exchanges, url, request };
}

describe('TransportRecorder', () => {
  it('records request and answer of an attempt, without secrets', async () => {
    const { transport, during, exchanges, url, request } = await setup((_, response) => {
      response.writeHead(201, { 'content-type': 'text/plain', 'set-cookie': 'a=b' }).end('got 12345678');
    });
    await during(() => transport.fetch(url, { ...request, maxBytes: 100 }));
    expect(exchanges).toEqual([
      {
        at: '1970-01-01T00:00:00.000Z',
        ms: 1,
        request: {
          method: 'POST',
          url: url.replace('12345678', '***'),
          headers: expect.objectContaining({ 'x-key': '***' }),
          body: '{"say":"***"}',
          bytes: 31,
        },
        response: {
          status: 201,
          headers: expect.objectContaining({ 'set-cookie': '***' }),
          body: 'got ***',
          bytes: 12,
        },
      },
    ]);
  });

  it('records the events of a stream', async () => {
    const { transport, during, exchanges, url, request } = await setup((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: one\n\ndata: two\n\n');
    });
    const events: string[] = [];
    await during(() =>
      transport.fetchEvents(url, { ...request, maxBytes: 100 }, (data) => events.push(data)),
    );
    expect(events).toEqual(['one', 'two']);
    expect(exchanges[0]?.response?.body).toBe('data: one\n\ndata: two\n\n');
  });

  it('records what the caller reads of an open answer', async () => {
    const { transport, during, exchanges, url, request } = await setup((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    });
    const text = await during(async () => {
      const result = await transport.open(url, request);
      return result.kind === 'response' ? await result.response.text() : 'fault';
    });
    expect(text).toBe('{"ok":true}');
    expect(exchanges[0]?.response).toMatchObject({ status: 200, body: '{"ok":true}', bytes: 11 });
  });

  it('records a request without an answer, also when the attempt fails', async () => {
    const { transport, during, exchanges, url, request } = await setup((_, response) => response.destroy());
    const attempt = during(async () => {
      await transport.fetch(url, { ...request, maxBytes: 100 });
      throw new Error('failed');
    });
    await expect(attempt).rejects.toThrow('failed');
    expect(exchanges).toHaveLength(1);
    expect(exchanges[0]?.fault).toMatch(/^no-answer: /);
    expect(exchanges[0]?.response).toBeUndefined();
  });

  it('keeps attempts that run at once apart, and records nothing outside of them', async () => {
    const { transport, during, exchanges, url, request } = await setup((_, response) => response.end('x'));
    const send = () => transport.fetch(url, { ...request, maxBytes: 100 });
    await send();
    expect(exchanges).toEqual([]);
    await Promise.all([during(send), during(send)]);
    expect(exchanges).toHaveLength(2);
  });
});
