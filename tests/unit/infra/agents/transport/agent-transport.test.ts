import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../../router/src/infra/agents/transport/egress.ts';
import { serverOf } from '../../../../support/abi.ts';

function get(transport: AgentTransport, url: string, headers = {}) {
  const signal = AbortSignal.timeout(60_000);
  return transport.fetch(url, { method: 'GET', headers: new Headers(headers), signal, maxBytes: 1_000 });
}

describe('AgentTransport', () => {
  it('sends its name and version as user-agent, unless the route sets one', async () => {
    const received: IncomingHttpHeaders[] = [];
    const { url } = await serverOf((request, response) => {
      received.push(request.headers);
      response.end('hello');
    });
    const transport = new AgentTransport();
    await get(transport, url);
    await get(transport, url, { 'User-Agent': 'my-own', 'X-Key': 'k' });
    expect(received).toMatchObject([
      { 'user-agent': expect.stringMatching(/^wa2ai\/\d+\.\d+\.\d+$/) },
      { 'user-agent': 'my-own', 'x-key': 'k' },
    ]);
  });

  it('marks each of its requests, whatever headers the route sets', async () => {
    const received: IncomingHttpHeaders[] = [];
    const { url } = await serverOf((request, response) => {
      received.push(request.headers);
      response.end('hello');
    });
    const options = { method: 'GET' as const, signal: AbortSignal.timeout(60_000), maxBytes: 1_000 };
    const headers = new Headers({ 'X-Wa2ai-Sender': '' });
    const transport = new AgentTransport();
    for (const each of [transport, transport.alsoTo(url)]) {
      await each.fetch(url, { ...options, headers });
      await each.fetchEvents(url, { ...options, headers }, () => undefined);
      const opened = await each.open(url, { ...options, headers });
      if (opened.kind === 'response') await opened.response.text();
    }
    expect(received.map((each) => each['x-wa2ai-sender'])).toEqual(Array(6).fill('wa2ai'));
  });

  it('does not change the headers that it was given', async () => {
    const { url } = await serverOf((_request, response) => response.end());
    const headers = new Headers({ 'X-Key': 'k' });
    await get(new AgentTransport(), url, headers);
    expect([...headers.keys()]).toEqual(['x-key']);
  });

  it('refuses what its egress policy refuses, by default cloud metadata only', async () => {
    const metadata = 'http://169.254.169.254/';
    expect(new AgentTransport().refusalOf(metadata)?.sentence).toContain('WA2AI_EGRESS=private');
    expect(new AgentTransport().refusalOf('http://10.0.0.1/')).toBeUndefined();
    expect(new AgentTransport(new Egress('public')).refusalOf('http://10.0.0.1/')).toBeDefined();
    expect(new AgentTransport(new Egress('any')).refusalOf(metadata)).toBeUndefined();
    expect(await get(new AgentTransport(), metadata)).toMatchObject({ kind: 'fault', fault: 'refused' });
  });
});

describe('AgentTransport.alsoTo', () => {
  it('reaches the server that it names whatever the policy says, and nothing else', async () => {
    const own = await serverOf((_request, response) => response.end('own'));
    const other = await serverOf((_request, response) => response.end('other'));
    const transport = new AgentTransport(new Egress('public'));
    const toOwn = transport.alsoTo(`${own.url}/health`);
    const answer = await get(toOwn, `${own.url}/chat`);
    expect(answer).toMatchObject({ kind: 'answer', body: Buffer.from('own') });
    expect(toOwn.refusalOf(own.url)).toBeUndefined();
    const refused = { kind: 'fault', fault: 'refused' };
    expect(await get(toOwn, other.url)).toMatchObject(refused);
    expect(await get(toOwn, own.url.replace('127.0.0.1', 'localhost'))).toMatchObject(refused);
    expect(await get(toOwn, 'http://169.254.169.254/')).toMatchObject(refused);
    expect(await get(transport, own.url)).toMatchObject(refused);
  });
});

describe('AgentTransport.open', () => {
  it('returns the answer when its headers are there, without following a redirect', async () => {
    const { url } = await serverOf((_request, response) => {
      response.writeHead(302, { location: 'http://169.254.169.254/' });
      response.end('moved');
    });
    const options = { method: 'GET' as const, headers: new Headers(), signal: AbortSignal.timeout(60_000) };
    const opened = await new AgentTransport().open(url, options);
    if (opened.kind !== 'response') throw new Error(opened.detail.sentence);
    expect([opened.response.status, await opened.response.text()]).toEqual([302, 'moved']);
    const refused = await new AgentTransport().open('http://169.254.169.254/', options);
    expect(refused).toMatchObject({ kind: 'fault', fault: 'refused' });
  });
});
