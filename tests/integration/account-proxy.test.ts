import { createServer as createHttpServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProxyFailedError } from '../../router/src/core/errors.ts';
import { AccountProxies } from '../../router/src/providers/baileys/connection/account-proxies.ts';
import { AccountProxy } from '../../router/src/providers/baileys/connection/account-proxy.ts';
import { TestProxy } from '../support/test-proxy.ts';

const LOGIN = { user: 'router', password: 'a-password' };
const TARGET = 'whatsapp.invalid:80';

let target: Server;
const closes: Array<() => unknown> = [];

beforeEach(async () => {
  target = createHttpServer((_, response) => response.end('from WhatsApp'));
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  closes.push(() => target.close());
});

afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

async function setup(scheme: 'http' | 'socks5', login: typeof LOGIN | undefined = LOGIN) {
  const { port } = target.address() as AddressInfo;
  const proxy = await TestProxy.start({ scheme, login, servers: { [TARGET]: port } });
  closes.push(() => proxy.stop());
  return proxy;
}

function open(url: string): AccountProxy {
  const proxy = new AccountProxy(url);
  closes.push(() => proxy.close());
  return proxy;
}

/** By `fetch`, and by an agent of Node: the text of the answer, or the error. */
async function ask(proxy: AccountProxy, host = 'whatsapp.invalid') {
  const byFetch = fetch(`http://${host}/`, { dispatcher: proxy.dispatcher }).then(
    (response) => response.text(),
    (error: Error) => error.cause,
  );
  const byAgent = new Promise((resolve) => {
    request(`http://${host}/`, { agent: proxy.httpAgent }, (response) => {
      response.setEncoding('utf8').once('data', resolve);
    })
      .once('error', resolve)
      .end();
  });
  return Promise.all([byFetch, byAgent]);
}

describe.each(['http', 'socks5'] as const)('a proxy by %s', (scheme) => {
  it('connects fetch and agents of Node to names that only it knows', async () => {
    const proxy = await setup(scheme);
    const account = open(proxy.url());
    expect(await ask(account)).toEqual(['from WhatsApp', 'from WhatsApp']);
    expect(proxy.targets).toEqual([TARGET, TARGET]);
    expect(account.failure).toBeUndefined();
    const open2 = await setup(scheme, undefined);
    expect(await ask(open(open2.url()))).toEqual(['from WhatsApp', 'from WhatsApp']);
  });

  it.each([
    [
      'a wrong password',
      (proxy: TestProxy) => proxy.url({ ...LOGIN, password: 'wrong-secret' }),
      'The proxy of this account refuses its user name or password.',
    ],
    [
      'no login',
      (proxy: TestProxy) => proxy.url({ user: '', password: '' }).replace(':@', ''),
      'The proxy of this account asks for a user name and password.',
    ],
  ])('says that it refuses %s, without the login and the address', async (_, urlOf, message) => {
    const proxy = await setup(scheme);
    const account = open(urlOf(proxy));
    const errors = await ask(account);
    for (const error of [...errors, account.failure]) {
      expect(error).toBeInstanceOf(ProxyFailedError);
      expect(error).toMatchObject({ message, isRefusal: true });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/wrong-secret|router:|127\.0\.0\.1/);
    }
    expect(proxy.targets).toEqual([]);
  });

  it('says that it does not connect, and nobody connects directly', async () => {
    const proxy = await setup(scheme);
    const account = open(proxy.url());
    const [error] = await ask(account, 'other.invalid');
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /^The proxy of this account does not connect to WhatsApp \((HTTP status 403|SOCKS5: NotAllowed)\)\.$/,
      ),
      isRefusal: true,
    });
    await proxy.stop();
    const { port } = target.address() as AddressInfo;
    let connections = 0;
    target.on('connection', () => {
      connections += 1;
    });
    for (const each of await ask(account, `127.0.0.1:${port}`)) {
      expect(each).toMatchObject({
        message: 'The proxy of this account does not answer (ECONNREFUSED).',
        isRefusal: false,
      });
    }
    expect(connections).toBe(0);
  });

  it('says that a server of another kind is no such proxy', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined).end('220 mail\r\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closes.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const [error] = await ask(open(`${scheme}://127.0.0.1:${port}`));
    expect(error).toBeInstanceOf(ProxyFailedError);
    expect(String(error)).not.toContain('127.0.0.1');
  });
});

describe('the proxies of accounts', () => {
  it('follow what is stored, and are never skipped when it cannot be read', async () => {
    let stored: string | undefined | Error;
    const proxies = new AccountProxies(async () => {
      if (stored instanceof Error) throw stored;
      return stored;
    });
    expect(await proxies.of('shop')).toBeUndefined();
    stored = 'http://one.invalid';
    const one = await proxies.of('shop');
    expect(await proxies.of('shop')).toBe(one);
    stored = 'http://two.invalid';
    expect((await proxies.of('shop'))?.shownUrl).toBe('http://two.invalid:80');
    stored = new Error('not readable');
    await expect(proxies.of('shop')).rejects.toBe(stored);
    stored = undefined;
    expect(await proxies.of('shop')).toBeUndefined();
  });
});
