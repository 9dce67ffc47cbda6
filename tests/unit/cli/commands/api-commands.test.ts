import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceivedMessage } from '../../../doubles/fake-message-log.ts';
import { serverOf } from '../../../support/abi.ts';
import { runWa2ai } from '../../../support/cli.ts';
import { CLI_TABLE } from '../../../support/cli-table.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';

let api: HttpApi;
let folder: string;

beforeAll(async () => {
  api = await startHttpApi();
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-cli-'));
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

const wa2ai = (...args: string[]) => runWa2ai([...args, '--url', api.url], { nowMs: api.clock.nowMs });

describe('the commands of wa2ai', () => {
  it.each([
    ['accounts', 'list'],
    ['routes', 'list'],
    ['chats', 'list'],
    ['messages'],
    ['dead-letters', 'list'],
    ['agents', 'list'],
    ['keys', 'list'],
    ['audit', 'list', '--limit', '5'],
  ])('list %s %s as a table and as JSON', async (...args) => {
    const words = args.filter((word) => word !== undefined);
    const shown = await wa2ai(...words);
    expect([shown.code, shown.errors]).toEqual([0, '']);
    const json = await wa2ai(...words, '--json');
    expect(JSON.parse(json.output)).toMatchObject({ success: true, data: expect.any(Array) });
  });

  it.each([
    ['accounts', 'restart', 'nobody'],
    ['accounts', 'remove', 'nobody', '--yes'],
    ['pair', 'nobody'],
    ['routes', 'show', '9c8a9b1e-0000-4000-8000-000000000000'],
    ['chats', 'show', '404'],
    ['chats', 'pause', '404'],
    ['exchanges', '404'],
    ['dead-letters', 'replay', '404'],
    ['dead-letters', 'close', '404'],
    ['keys', 'revoke', 'none', '--yes'],
    ['agents', 'show', 'none'],
  ])('end with 1 and a sentence when there is no such thing: %s %s %s', async (...args) => {
    const { code, output, errors } = await wa2ai(...args.filter((word) => word !== undefined));
    expect([code, output]).toEqual([1, '']);
    expect(errors).toMatch(/^wa2ai: [A-Z].*\.\n$/);
  });

  it('sets the proxy of an account from a file, so that no password is in the arguments, and removes it', async () => {
    const file = join(folder, 'proxy-url');
    await writeFile(file, 'socks5://user:a-password@proxy.example:1080\n');
    const set = await wa2ai('accounts', 'proxy', 'default', file);
    expect([set.code, set.output]).toEqual([0, 'Proxy stored.\n']);
    expect(api.proxyUrls.get('default')).toBe('socks5://user:a-password@proxy.example:1080');
    expect((await wa2ai('accounts', 'proxy', 'default', file, '--remove')).code).toBe(2);
    expect((await wa2ai('accounts', 'proxy', 'default')).code).toBe(2);
    expect((await wa2ai('accounts', 'proxy', 'default', '--remove', '--yes')).output).toBe(
      'Proxy removed.\n',
    );
    expect(api.proxyUrls.size).toBe(0);
    expect((await wa2ai('accounts', 'add', 'sales', '--proxy', file)).code).toBe(0);
    const proxyUrl = 'socks5://user:a-password@proxy.example:1080';
    expect(api.accounts.calls.at(-1)).toEqual(['create', 'sales', { proxyUrl }]);
    api.accounts.statuses.delete('sales');
  });

  it('shows what was sent to agents for a message, and what came back, without control characters', async () => {
    api.messageLog.rows = [aReceivedMessage({ id: '2' })];
    const headers = { 'content-type': 'application/json' };
    api.messageLog.exchangesOf.set('2', [
      {
        attempt: 1,
        at: '2026-01-02T03:04:05.000Z',
        ms: 7,
        request: { method: 'POST', url: 'http://agent/run', headers, body: '{\n"a":1}', bytes: 8 },
        response: { status: 200, headers, body: 'a\u001b[2Jb' },
      },
      {
        at: '2026-01-02T03:04:06.000Z',
        request: { method: 'GET', url: 'http://agent/x', headers: {} },
        fault: 'refused',
      },
    ]);
    const { code, output } = await wa2ai('exchanges', '2');
    expect(code).toBe(0);
    expect(output).not.toContain('\u001b');
    expect(output.split('\n')).toEqual([
      'attempt 1 · 2026-01-02T03:04:05.000Z · 7 ms',
      '> POST http://agent/run (8 bytes)',
      '> content-type: application/json',
      '>',
      '> {',
      '> "a":1}',
      '< 200',
      '< content-type: application/json',
      '<',
      expect.stringMatching(/^< a.*b$/),
      '',
      '2026-01-02T03:04:06.000Z · refused',
      '> GET http://agent/x',
      '',
    ]);
    expect(JSON.parse((await wa2ai('exchanges', '2', '--json')).output).data).toHaveLength(2);
  });

  it('adds a route from a file, changes it, shows it and removes it', async () => {
    const file = join(folder, 'route.json');
    await writeFile(
      file,
      JSON.stringify({
        channelId: '*',
        agentEndpoint: 'http://localhost:8000',
        config: { adk: { appName: 'greeter' } },
      }),
    );
    expect((await wa2ai('routes', 'add', file)).code).toBe(0);
    const [route] = JSON.parse((await wa2ai('routes', 'list', '--json')).output).data;
    await writeFile(file, '{"name":"shop"}');
    expect((await wa2ai('routes', 'edit', route.id, file)).code).toBe(0);
    expect((await wa2ai('routes', 'list')).output).toMatch(/ shop +\* +adk +http:\/\/localhost:8000\n/);
    expect((await wa2ai('routes', 'explain', '+5493777239922', 'hola')).output).toContain('Route "shop"');
    expect((await wa2ai('routes', 'remove', route.id, '--yes')).code).toBe(0);
    expect((await wa2ai('routes', 'list')).output).toBe('There are none.\n');
  });

  it('refuses a file that is missing or is not JSON as wrong usage', async () => {
    const file = join(folder, 'broken.json');
    await writeFile(file, '{');
    expect(await wa2ai('routes', 'add', file)).toMatchObject({ code: 2, output: '' });
    expect((await wa2ai('routes', 'add', join(folder, 'none'))).code).toBe(2);
    await writeFile(file, 'a: &a [1, 2]\nb: *a\n');
    const refused = await wa2ai('routes', 'add', file);
    expect(refused).toMatchObject({
      code: 2,
      errors: expect.stringContaining('the alias *a is not allowed'),
    });
  });

  it('sends a text', async () => {
    expect((await wa2ai('send', '+5493777239922', 'hola')).code).toBe(0);
    expect(api.sent.at(-1)).toMatchObject({ text: 'hola' });
  });

  it('adds a key, prints it once, and revokes it', async () => {
    const { output } = await wa2ai('keys', 'add', 'ci', 'routes:read');
    expect(output).toMatch(/^wa2ai_\S+\n$/);
    const [key] = JSON.parse((await wa2ai('keys', 'list', '--json')).output).data;
    expect((await wa2ai('keys', 'list')).output).not.toContain(output.trim());
    expect((await wa2ai('keys', 'revoke', key.id, '--yes')).code).toBe(0);
  });

  it('adds a key for some chats and accounts until a time, and lists what it is restricted to', async () => {
    const only = ['--chat', '+54 9 3777 239922', '15550001111', '--account', 'default'];
    const expires = ['--expires', '2126-01-01T00:00:00Z'];
    expect((await wa2ai('keys', 'add', 'orders', 'messages:read', ...only, ...expires)).code).toBe(0);
    const [key] = JSON.parse((await wa2ai('keys', 'list', '--json')).output).data;
    expect(key).toMatchObject({
      ...{ chats: ['5493777239922', '15550001111'], accounts: ['default'] },
      expiresAt: '2126-01-01T00:00:00.000Z',
    });
    expect((await wa2ai('keys', 'list')).output).toContain('account default, chat 5493777239922');
  });

  it('needs either a dead letter or --all for a replay', async () => {
    expect((await wa2ai('dead-letters', 'replay')).code).toBe(2);
    expect((await wa2ai('dead-letters', 'replay', '4', '--all')).code).toBe(2);
    expect((await wa2ai('dead-letters', 'replay', '--all', '--yes')).code).toBe(0);
  });

  it('pairs until the account is linked', async () => {
    api.accounts.set({ state: 'pairing', qr: 'a-code', nextAction: 'Scan.' });
    const pairing = wa2ai('pair');
    api.accounts.set({ state: 'restricted', phone: '5493777111111' });
    expect(await pairing).toMatchObject({ code: 0, output: expect.stringContaining('is linked') });
  });
});

describe('wa2ai before it deletes something', () => {
  /** A service that accepts everything, with the calls that it got. */
  async function anyService() {
    const calls: string[] = [];
    const server = await serverOf((request, response) => {
      calls.push(`${request.method} ${request.url}`);
      const data = request.method === 'GET' ? [] : { findings: [], changes: [], trace: [], version: 1 };
      const body = JSON.stringify({ success: true, message: 'Done.', data });
      response.setHeader('content-type', 'application/json').end(body);
    });
    return { calls, url: server.url };
  }

  /** Commands of the table that wait for something, and those without the service. */
  const others = [
    'wa2ai pair',
    'wa2ai simulate',
    'wa2ai logs',
    'wa2ai audit verify',
    'wa2ai status',
    'wa2ai open',
  ];
  const callers = Object.entries(CLI_TABLE).filter(
    ([path, { isLocal }]) => !isLocal && !others.includes(path),
  );

  it.each(callers)('%s deletes nothing without a terminal and --yes', async (path, { args = [] }) => {
    const { calls, url } = await anyService();
    const words = [...path.split(' ').slice(1), ...args.filter((word) => word !== '--yes')];
    const { code, errors } = await runWa2ai([...words, '--url', url]);
    const isRefused = args.includes('--yes');
    if (isRefused) expect([code, errors]).toEqual([2, expect.stringContaining('add --yes')]);
    expect(calls.filter((call) => /^DELETE |logout|rollback|prune/.test(call))).toEqual([]);
  });

  it.each([
    [['accounts', 'remove', 'shop'], 'shop'],
    [['accounts', 'logout', 'shop'], 'y'],
    [['accounts', 'proxy', 'shop', '--remove'], 'yes'],
    [['routes', 'remove', 'support'], 'Y'],
    [['routes', 'apply', 'tests/fixtures/route-change.json', '--prune'], 'y'],
    [['routes', 'rollback', '7'], 'y'],
    [['keys', 'revoke', 'k7Qd'], 'y'],
    [['dead-letters', 'replay', '--all'], 'y'],
  ])('asks a person in a terminal, and does it after the right answer only: %s', async (words, right) => {
    const { calls, url } = await anyService();
    const changes = () => calls.filter((call) => !call.startsWith('GET '));
    for (const answer of ['', 'n', right === 'shop' ? 'y' : 'support']) {
      const { code, output, errors } = await runWa2ai([...words, '--url', url], { answer });
      expect([code, output, errors]).toEqual([
        1,
        '',
        expect.stringMatching(/(\[y\/N\]|continue:) wa2ai: Nothing was changed\.\n$/),
      ]);
    }
    expect((await runWa2ai([...words, '--url', url])).code).toBe(2);
    expect(changes()).toEqual([]);
    expect((await runWa2ai([...words, '--url', url], { answer: right })).code).toBe(0);
    expect((await runWa2ai([...words, '--url', url, '--yes'])).code).toBe(0);
    expect(changes()).toHaveLength(2);
  });

  it('removes a route only as it was when it asked', async () => {
    const removals: unknown[] = [];
    const { url } = await serverOf((request, response) => {
      if (request.method === 'DELETE') removals.push(request.headers['if-match']);
      response.setHeader('etag', '"seen"').setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ success: true, message: 'Done.', data: [] }));
    });
    await runWa2ai(['routes', 'remove', 'support', '--url', url], { answer: 'y' });
    expect(removals).toEqual(['"seen"']);
  });

  it('asks before a restore replaces a database, not before a drill', async () => {
    const restore = ['restore', '/nowhere/backup', '--replace'];
    expect(await runWa2ai(restore)).toMatchObject({ code: 2, errors: expect.stringContaining('add --yes') });
    expect((await runWa2ai(restore, { answer: 'n' })).errors).toContain('Nothing was changed.');
  });
});

describe('a route in a terminal of 80 columns', () => {
  it('is listed with a start of its id that other commands accept, as they do its name', async () => {
    const file = join(folder, 'route.json');
    const ids: string[] = [];
    for (const name of ['VIP desk', 'Night shift', 'night shift']) {
      const config = { echo: { prefix: 'Echo: ' } };
      await writeFile(file, JSON.stringify({ name, channelId: '*', config }));
      expect((await wa2ai('routes', 'add', file)).code).toBe(0);
      ids.push((await api.routes.list()).at(-1)?.id ?? '');
    }
    const { output } = await runWa2ai(['routes', 'list', '--url', api.url], { columns: 80 });
    const shown = output
      .split('\n')
      .slice(1, 4)
      .map((line) => line.split(' ')[0] ?? '');
    expect(shown.every((id) => !id.includes('…') && id.length < 36)).toBe(true);
    const found: string[] = [];
    for (const start of shown) {
      const [, id = ''] = /^id: (.*)$/m.exec((await wa2ai('routes', 'show', start)).output) ?? [];
      expect(id.startsWith(start)).toBe(true);
      found.push(id);
    }
    expect(found.sort()).toEqual([...ids].sort());
    expect((await wa2ai('routes', 'show', 'vip DESK')).output.split('\n')).toContain(`id: ${ids[0]}`);
    const several = await wa2ai('routes', 'show', 'Night shift');
    expect([several.code, several.errors]).toEqual([
      1,
      `wa2ai: Several are named "Night shift". Use an id: ${ids[1]} (Night shift), ${ids[2]} (night shift).\n`,
    ]);
    expect((await wa2ai('routes', 'list')).output).toContain(ids[0]);
    for (const id of ids) await wa2ai('routes', 'remove', id, '--yes');
  });
});
