import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { a2aFetch } from '../../../../../../router/src/infra/agents/a2a/wire/a2a-connection.ts';
import { ownHeaders } from '../../../../../../router/src/infra/agents/card-address.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { serverOf } from '../../../../../support/abi.ts';

function wireTo(url: string) {
  const own = ownHeaders([['x-key', 'secret']], [url]);
  return a2aFetch(new AgentTransport(), own, AbortSignal.timeout(60_000));
}

describe('a2aFetch', () => {
  it('sends the headers of the client and of the route', async () => {
    let received: unknown;
    const { url } = await serverOf((request, response) => {
      received = request.headers;
      response.end('{"ok":true}');
    });
    const wire = wireTo(url);
    const response = await wire.fetch(url, { method: 'POST', headers: { 'A2A-Version': '1.0' }, body: '{}' });
    expect(await response.json()).toEqual({ ok: true });
    expect(received).toMatchObject({
      'x-key': 'secret',
      'a2a-version': '1.0',
      'user-agent': expect.stringMatching(/^wa2ai/),
    });
    expect(wire.failure()).toBeUndefined();
  });

  it('remembers a refusal, whose body the client still reads', async () => {
    const { url } = await serverOf((_request, response) =>
      response.writeHead(429, { 'retry-after': '3' }).end('busy'),
    );
    const wire = wireTo(url);
    const response = await wire.fetch(url);
    expect([response.status, await response.text()]).toEqual([429, 'busy']);
    expect(wire.failure()).toMatchObject({ kind: 'answer', status: 429, body: Buffer.from('busy') });
  });

  it('does not follow a redirect', async () => {
    const { url } = await serverOf((_request, response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    );
    const wire = wireTo(url);
    expect((await wire.fetch(url)).status).toBe(307);
    expect(wire.failure()).toMatchObject({ status: 307 });
  });

  it('refuses addresses that the egress policy refuses', async () => {
    const wire = wireTo('https://a.example');
    await expect(wire.fetch('http://169.254.169.254/latest')).rejects.toThrow();
    expect(wire.failure()).toMatchObject({ kind: 'fault', fault: 'refused' });
  });

  it('stops reading an answer that unpacks to more than 16 MB', async () => {
    const { url } = await serverOf((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(17 * 1024 * 1024, 32), { level: 1 }));
    });
    const wire = wireTo(url);
    const response = await wire.fetch(url);
    await expect(response.text()).rejects.toThrow();
    expect(wire.failure()).toMatchObject({ kind: 'fault', fault: 'too-large' });
  });

  it('reads nothing of an answer that says that it is larger', async () => {
    const { url } = await serverOf((_request, response) => {
      // The body never comes.
      response.writeHead(200, { 'content-length': String(17 * 1024 * 1024) }).write('{');
    });
    const wire = wireTo(url);
    await expect(wire.fetch(url)).rejects.toThrow();
    expect(wire.failure()).toMatchObject({ kind: 'fault', fault: 'too-large' });
  });
});
