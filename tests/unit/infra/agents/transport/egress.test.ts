import type { lookup } from 'node:dns';
import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../../router/src/infra/agents/transport/egress.ts';
import { serverOf } from '../../../../support/abi.ts';

const METADATA = '169.254.169.254';

/** A resolver that returns these addresses for any name. */
function resolvingTo(...addresses: string[]): typeof lookup {
  const answer = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  const resolve = (_name: string, _options: object, done: (error: null, found: typeof answer) => void) =>
    done(null, answer);
  return resolve as unknown as typeof lookup;
}

/** A server that records its requests, and responds with 200 or the given redirect. */
async function aServer(redirectTo?: string) {
  const requests: Array<{ path?: string; authorization?: string }> = [];
  const { url } = await serverOf((request, response) => {
    const { authorization } = request.headers;
    requests.push({ path: request.url, authorization });
    response.writeHead(redirectTo ? 307 : 200, redirectTo ? { location: redirectTo } : {}).end('hello');
  });
  return { url, requests, port: new URL(url).port };
}

function get(url: string, egress: Egress, headers = {}) {
  return new AgentTransport(egress).fetch(url, {
    method: 'GET',
    headers: new Headers(headers),
    signal: AbortSignal.timeout(60_000),
    maxBytes: 1_000,
  });
}

describe('egress to an IP address', () => {
  it.each([
    METADATA,
    '169.254.170.2',
    '100.100.100.200',
    '168.63.129.16',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    `::ffff:${METADATA}`,
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '64:ff9b:1::a9fe:a9fe',
    '::ffff:0:a9fe:a9fe',
    `::${METADATA}`,
  ])('refuses %s unless the policy is any', (address) => {
    expect(new Egress('private').refusalOf(address)?.sentence).toMatch(
      /metadata or link-local.*WA2AI_EGRESS=private/,
    );
    expect(new Egress('public').refusalOf(address)?.sentence).toMatch(/WA2AI_EGRESS=public/);
    expect(new Egress('any').refusalOf(address)).toBeUndefined();
  });

  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    '::',
    'fd12::1',
    '::ffff:10.0.0.1',
    // The IANA registries of special-purpose addresses, and what is not a global unicast address.
    '192.0.0.8',
    '192.88.99.1',
    '198.19.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '64:ff9b:1:0:0:0:808:808',
    '::ffff:0:808:808',
    '::8.8.8.8',
    '100::1',
    '100:0:0:1::1',
    '2001::1',
    '2001:2::1',
    '2001:10::1',
    '2001:1ff:ffff::1',
    '2001:db8::1',
    '2002:808:808::1',
    '3fff::1',
    '3fff:fff:ffff::1',
    '5f00::1',
    '4000::1',
    '1000::1',
    'fec0::1',
    'ff02::1',
  ])('refuses %s only under the policy public', (address) => {
    expect(new Egress('private').refusalOf(address)).toBeUndefined();
    expect(new Egress('public').refusalOf(address)?.sentence).toMatch(/not a public address/);
  });

  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '192.88.98.1',
    '2606:4700::1111',
    '2001:200::1',
    '2a00:1450::1',
    '3ffe:ffff::1',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])('allows %s under every policy', (address) => {
    for (const policy of ['any', 'private', 'public'] as const) {
      expect(new Egress(policy).refusalOf(address)).toBeUndefined();
    }
  });

  it.each([
    `http://${METADATA}/latest/meta-data/`,
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://[::ffff:169.254.169.254]:8080/',
  ])('sends nothing to %s', async (url) => {
    expect(await get(url, new Egress())).toMatchObject({ kind: 'fault', fault: 'refused' });
  });
});

describe('egress to a name', () => {
  it('is checked by what the name resolves to', async () => {
    const egress = new Egress('private', resolvingTo(METADATA));
    expect(await get('http://metadata.google.internal/', egress)).toMatchObject({
      fault: 'refused',
      detail: { sentence: expect.stringContaining(`metadata.google.internal resolves to ${METADATA}`) },
    });
  });

  it('reaches no server under the policy public when the name resolves to a private address', async () => {
    const { requests, port } = await aServer();
    const egress = new Egress('public', resolvingTo('127.0.0.1'));
    expect(await get(`http://agent.example:${port}/`, egress)).toMatchObject({ fault: 'refused' });
    expect(requests).toEqual([]);
  });

  it('connects only to the allowed ones of several addresses', async () => {
    const { requests, port } = await aServer();
    const egress = new Egress('private', resolvingTo(METADATA, '127.0.0.1'));
    expect(await get(`http://agent.example:${port}/`, egress)).toMatchObject({ status: 200 });
    expect(requests).toHaveLength(1);
  });

  it('connects to the address that was checked, though the name resolves differently afterwards', async () => {
    const { requests, port } = await aServer();
    let looks = 0;
    const rebinding = ((...args: Parameters<typeof lookup>) => {
      looks += 1;
      const answer = resolvingTo(looks === 1 ? '127.0.0.1' : METADATA) as (...all: unknown[]) => void;
      answer(...args);
    }) as unknown as typeof lookup;
    expect(await get(`http://agent.example:${port}/`, new Egress('private', rebinding))).toMatchObject({
      status: 200,
    });
    expect(looks).toBe(1);
    expect(requests).toHaveLength(1);
  });
});

describe('a redirect', () => {
  it('carries neither the request nor its credentials to another origin', async () => {
    const attacker = await aServer();
    const agent = await aServer(`${attacker.url}/steal`);
    const answer = await get(agent.url, new Egress(), { authorization: 'Bearer s3cret' });
    expect(answer).toMatchObject({ kind: 'answer', status: 307 });
    expect(agent.requests).toMatchObject([{ authorization: 'Bearer s3cret' }]);
    expect(attacker.requests).toEqual([]);
  });

  it('to a metadata address is not followed', async () => {
    const agent = await aServer(`http://${METADATA}/latest/meta-data/`);
    expect(await get(agent.url, new Egress())).toMatchObject({ kind: 'answer', status: 307 });
  });
});

describe('the address at which wa2ai listens', () => {
  const policies = ['any', 'private', 'public'] as const;
  const listeningAt =
    (address: string, port = 3000) =>
    () => ({ address, port });

  it.each([
    'http://127.0.0.1:3000/api/keys',
    'http://2130706433:3000/',
    'http://0x7f.1:3000/',
    'http://0177.0.0.1:3000/',
    'http://127.1:3000/',
    'http://0.0.0.0:3000/',
    'http://0:3000/',
    'https://127.0.0.1:3000/',
    'http://[::ffff:127.0.0.1]:3000/',
    'http://[::ffff:7f00:1]:3000/',
    'http://[0:0:0:0:0:ffff:7f00:0001]:3000/',
    'http://[::]:3000/',
    'http://user:secret@127.0.0.1:3000/',
    'http://１２７.０.０.１:3000/',
  ])('is refused as %s under every policy', async (url) => {
    for (const policy of policies) {
      const egress = new Egress(policy, undefined, listeningAt('127.0.0.1'));
      expect(egress.refusalOfUrl(url)?.sentence).toMatch(/where wa2ai itself listens/);
      expect(egress.anywhere().refusalOfUrl(url)?.sentence).toMatch(/where wa2ai itself listens/);
      expect(await get(url, egress)).toMatchObject({ kind: 'fault', fault: 'refused' });
    }
  });

  it.each(['localhost', 'wa2ai.example', 'LOCALHOST.', 'a.localhost'])(
    'gets nothing when the name %s leads to it',
    async (name) => {
      const server = await aServer();
      const own = listeningAt('127.0.0.1', Number(server.port));
      for (const policy of ['any', 'private'] as const) {
        const egress = new Egress(policy, resolvingTo('127.0.0.1'), own);
        expect(await get(`http://${name}:${server.port}/`, egress)).toMatchObject({
          fault: 'refused',
          detail: { sentence: expect.stringContaining('where wa2ai itself listens') },
        });
      }
      expect(server.requests).toEqual([]);
    },
  );

  it('is every address of this machine when it listens at all of them', () => {
    const addresses = Object.values(networkInterfaces()).flatMap((found = []) =>
      found.map(({ address }) => address.replace(/%.*$/, '')),
    );
    for (const all of ['0.0.0.0', '::']) {
      const egress = new Egress('any', undefined, listeningAt(all));
      for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::', '0.0.0.0', ...addresses]) {
        const host = address.includes(':') ? `[${address}]` : address;
        expect(egress.refusalOfUrl(`http://${host}:3000/`), address).toBeDefined();
      }
      expect(egress.refusalOfUrl('http://192.0.2.1:3000/')).toBeUndefined();
    }
  });

  it('leaves other ports and other addresses of this machine to the policy', async () => {
    const egress = new Egress('private', undefined, listeningAt('127.0.0.1'));
    expect(egress.refusalOfUrl('http://127.0.0.1:3001/')).toBeUndefined();
    expect(egress.refusalOfUrl('http://127.0.0.2:3000/')).toBeUndefined();
    expect(egress.refusalOfUrl('http://[::1]:3000/')).toBeUndefined();
    expect(
      new Egress('private', undefined, listeningAt('127.0.0.1', 80)).refusalOfUrl('http://127.1/'),
    ).toBeDefined();
    const { url, requests } = await aServer();
    expect(await get(url, egress)).toMatchObject({ status: 200 });
    expect(requests).toHaveLength(1);
  });
});
