import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '../../../../router/src/feature.ts';
import type { RouteProbe } from '../../../../router/src/infra/agents/route-probe.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { runWa2ai } from '../../../support/cli.ts';
import { goodAgents, type HttpApi, startHttpApi } from '../../../support/http-api.ts';

type ProbeResult = Awaited<ReturnType<RouteProbe['test']>>;

let api: HttpApi;
let folder: string;
let probed: ProbeResult;
/** What answers at an address. */
let inspected: App['inspectAgent'];

beforeEach(async () => {
  probed = { kind: 'adk', isProbed: true, findings: [], milliseconds: 7 };
  api = await startHttpApi({
    routeProbe: { ...goodAgents, test: async () => probed },
    inspectAgent: (url) => inspected(url),
  });
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-cli-'));
});
afterEach(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

const wa2ai = (...args: string[]) => runWa2ai([...args, '--url', api.url], { nowMs: api.clock.nowMs });

const YAML = `name: support
channelId: "*"
agentEndpoint: http://localhost:8000
config:
  adk: { appName: greeter, headers: { Authorization: a-secret } }
`;

async function fileOf(text: string): Promise<string> {
  const file = join(folder, 'file');
  await writeFile(file, text);
  return file;
}

async function added(): Promise<string> {
  expect((await wa2ai('routes', 'add', await fileOf(YAML))).code).toBe(0);
  return (await api.routes.list())[0]?.id ?? '';
}

describe('wa2ai routes', () => {
  it('are listed in the order in which they are checked, with their conditions', async () => {
    for (const [name, channelId, priority, config] of [
      ['all', '*', 0, { echo: {} }],
      ['first', '*', 5, { echo: {}, when: { hours: '09:00-18:00', timeZone: 'Europe/Madrid' } }],
      ['Ana', '+5493777239922', 0, { echo: {} }],
    ] as const) {
      await api.call('POST', '/api/routes', { name, channelId, priority, config, regexFilter: '^order' });
    }
    const rows = (await wa2ai('routes', 'list')).output.split('\n').slice(1, 4);
    expect(rows.map((row) => row.split(/ {2,}/).slice(1))).toEqual([
      ['Ana', '5493777239922', 'text /^order/', 'echo'],
      ['first', '*', 'text /^order/, hours, timeZone', 'echo'],
      ['all', '*', 'text /^order/', 'echo'],
    ]);
  });

  it('are listed with the route that takes each of their messages', async () => {
    for (const [name, enabled] of [
      ['third', false],
      ['first', true],
    ] as const) {
      await api.call('POST', '/api/routes', {
        name,
        channelId: '*',
        config: { echo: {} },
        enabled,
        priority: 1,
      });
    }
    const added = await fileOf('{ "name": "second", "channelId": "*", "config": { "echo": {} } }');
    expect((await wa2ai('routes', 'add', added)).output).toMatch(
      /^Warning COVERED: The route gets no message: [\w-]{36} is checked before it .*\nRoute created\.\n$/,
    );
    const [head, ...rows] = (await wa2ai('routes', 'list')).output.trimEnd().split('\n');
    expect(head).toMatch(/KIND {2}STATE$/);
    const states = rows.map((row) => row.split(/ {2,}/)).map(([, name, , , state]) => [name, state]);
    expect(Object.fromEntries(states)).toEqual({
      first: undefined,
      second: 'covered by first',
      third: 'off',
    });
  });

  it('are added with what the service warns of', async () => {
    api.app.routeProbe.findings = async () => [
      { code: 'AGENT_UNREACHABLE', field: 'agentEndpoint', message: 'It cannot be reached.' },
    ];
    expect((await wa2ai('routes', 'add', await fileOf(YAML))).output).toBe(
      'Warning AGENT_UNREACHABLE: agentEndpoint It cannot be reached.\nRoute created.\n',
    );
  });

  it('are shown with a line for each field', async () => {
    const config = { echo: { prefix: 'a\nb' }, failure: { fallbackText: 'Later.' } };
    const { body } = await api.call('POST', '/api/routes', { name: 'x', channelId: '*', config });
    expect((await wa2ai('routes', 'show', 'x')).output).toContain(
      ['config:', '  echo:', '    prefix: a b', '  failure:', '    fallbackText: Later.'].join('\n'),
    );
    expect(JSON.parse((await wa2ai('routes', 'show', 'x', '--json')).output).data.id).toBe(body.data.id);
  });

  it('are added by the address of an agent that says what it needs', async () => {
    inspected = async (url) => ({
      ...{ kind: 'adk', url, isReachable: true, answer: 'status 200', latencyMs: 3, version: '2.0' },
      capabilities: ['agent greeter'],
      route: { channelId: '*', agentEndpoint: url, config: { adk: { appName: 'greeter' } } },
    });
    const { code, output } = await wa2ai('routes', 'add', 'http://127.0.0.1:9', '--chat', '+5493777239922');
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/^kind +adk\n.*chat +5493777239922\n.*Route /s),
    ]);
    expect(await api.routes.list()).toMatchObject([
      { channelId: '5493777239922', config: { agent: { kind: 'adk' } } },
    ]);
    expect((await wa2ai('routes', 'add', 'route.json', '--chat', '*')).code).toBe(2);
  });

  it('are not added when the agent does not say what a route needs', async () => {
    inspected = async (url) => ({
      ...{ kind: 'openai', url, isReachable: true, answer: 'status 401', latencyMs: 3, capabilities: [] },
    });
    const { code, errors } = await wa2ai('routes', 'add', 'http://127.0.0.1:9');
    expect([code, errors]).toEqual([1, expect.stringContaining('speaks openai (status 401)')]);
    expect(await api.routes.list()).toEqual([]);
  });
});

describe('wa2ai routes test', () => {
  it('shows the kind, the version, the capabilities and the time of an agent that answers', async () => {
    const id = await added();
    probed.about = { version: '2.0', capabilities: ['agent greeter', 'agent other'] };
    expect(await wa2ai('routes', 'test', id)).toEqual({
      code: 0,
      output: [
        'kind          adk',
        'probe         the agent answers, 7 ms',
        'version       2.0',
        'capabilities  agent greeter, agent other',
        '',
      ].join('\n'),
      errors: '',
    });
  });

  it('ends with 1 when the probe found a problem, of a stored route or of a file', async () => {
    probed.findings = [{ code: 'AGENT_UNREACHABLE', field: 'agentEndpoint', message: 'It is away.' }];
    const shown = await wa2ai('routes', 'test', '--file', await fileOf(YAML));
    expect(shown.code).toBe(1);
    expect(shown.output).toContain('AGENT_UNREACHABLE: It is away.');
    expect(await api.routes.list()).toEqual([]);
    const json = await wa2ai('routes', 'test', await added(), '--json');
    expect([json.code, JSON.parse(json.output).data.findings]).toEqual([1, probed.findings]);
  });

  it('needs either a route or a file', async () => {
    expect((await wa2ai('routes', 'test')).code).toBe(2);
    expect((await wa2ai('routes', 'test', 'x', '--file', 'y')).code).toBe(2);
  });
});

describe('wa2ai routes export and apply', () => {
  it('write the routes to a file without secrets, and make them as a file says', async () => {
    const id = await added();
    const file = join(folder, 'routes.yaml');
    expect(await wa2ai('routes', 'export', file)).toMatchObject({
      code: 0,
      output: `Routes written to ${file}.\n`,
    });
    const text = await readFile(file, 'utf8');
    expect(text).toContain('Authorization: "***"');
    await writeFile(file, text.replace('name: support', 'name: shop').replace('priority: 0', 'priority: 5'));
    const plan = [
      '~ changed shop (*)',
      '    name: support -> shop',
      '    priority: 0 -> 5',
      'Nothing was changed: a dry run. Version 1.',
      '',
    ];
    expect((await wa2ai('routes', 'apply', file, '--dry-run')).output).toBe(plan.join('\n'));
    expect((await api.routes.get(id))?.name).toBe('support');
    expect((await wa2ai('routes', 'apply', file)).output).toContain('Routes applied. Version 2.');
    expect(await api.routes.get(id)).toMatchObject({ name: 'shop', priority: 5 });
    expect((await wa2ai('routes', 'apply', file)).output).toBe(
      'Nothing changes.\nRoutes applied. Version 2.\n',
    );
    await writeFile(file, 'routes: []');
    expect((await wa2ai('routes', 'apply', file, '--prune', '--yes', '--json')).code).toBe(0);
  });

  it('print to standard output, as JSON with --json', async () => {
    await added();
    expect((await wa2ai('routes', 'export')).output).toMatch(/^routes:\n/);
    expect(JSON.parse((await wa2ai('routes', 'export', '--json')).output).routes).toHaveLength(1);
    expect(JSON.parse((await wa2ai('routes', 'export', '--environment', 'prod', '--json')).output)).toEqual({
      routes: [],
    });
  });

  it('end with 1 and the fields when the file is wrong, and with 2 when it is missing', async () => {
    const wrong = await wa2ai('routes', 'apply', await fileOf('routes: [{ name: x, channelId: "no" }]'));
    expect([wrong.code, wrong.output]).toEqual([1, '']);
    expect(wrong.errors).toContain('routes.0.channelId');
    expect((await wa2ai('routes', 'apply', join(folder, 'none'))).code).toBe(2);
    expect((await wa2ai('routes', 'export', join(folder, 'none', 'x'))).code).toBe(1);
  });
});

describe('wa2ai routes history and rollback', () => {
  it('list versions, show what one changed, and restore one', async () => {
    const id = await added();
    await wa2ai('routes', 'edit', id, await fileOf('enabled: false\nname: null'));
    expect((await wa2ai('routes', 'history')).output).toMatch(
      /VERSION +MADE +ACTION.*\n2 .*change .*\+0 ~1 -0\n1 /,
    );
    expect((await wa2ai('routes', 'history', '2')).output).toBe(
      `~ changed ${id} (*)\n    name: support -> (removed)\n    enabled: true -> false\n`,
    );
    const dry = await wa2ai('routes', 'rollback', '1', '--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      output: expect.stringContaining('Nothing was changed: a dry run.'),
    });
    expect((await api.routes.get(id))?.enabled).toBe(false);
    expect((await wa2ai('routes', 'rollback', '1', '--yes')).output).toContain(
      'Version 1 restored. Version 3.',
    );
    expect(await api.routes.get(id)).toMatchObject({ enabled: true, name: 'support' });
    expect((await wa2ai('routes', 'history')).output).toContain('rollback to 1');
    expect((await wa2ai('routes', 'rollback', '0', '--yes')).output).toContain('- deleted support (*)');
  });

  it('end with 1 for a version that is not stored, and with 2 for what is no number', async () => {
    expect((await wa2ai('routes', 'history', '99')).code).toBe(1);
    expect((await wa2ai('routes', 'rollback', '99', '--yes')).code).toBe(1);
    expect((await wa2ai('routes', 'rollback', 'last')).code).toBe(2);
  });
});

describe('wa2ai routes explain', () => {
  it('says which route answers, rule by rule and policy by policy', async () => {
    await added();
    const night = `${YAML.replace('support', 'night')}  when: { hours: "20:00-08:00", tags: [vip] }\npriority: 1`;
    await wa2ai('routes', 'add', await fileOf(night));
    const { code, output } = await wa2ai('routes', 'explain', '+5493777239922', 'hola');
    expect(code).toBe(0);
    expect(output).toMatch(/^Route "support" takes the message to http:\/\/localhost:8000\.\n/);
    expect(output).toContain('  night (priority 1): Its conditions (`when`) do not hold.');
    expect(output).toContain('      no  tags: The chat has none of the tags vip.');
    expect(output).toContain('* support (priority 0): This rule takes the message.');
    expect(output).toMatch(/\nPolicies:\n {2}\S+: /);
    expect(output).not.toContain('"trace"');
    const json = await wa2ai('routes', 'explain', '+5493777239922', 'hola', '--json');
    expect(JSON.parse(json.output).data.decision).toBe('route');
  });
});

describe('wa2ai routes explain in a paused chat', () => {
  it('says first that nobody answers while the chat is paused, and until when', async () => {
    const id = await added();
    const explained = async () =>
      (await wa2ai('routes', 'explain', '+5493777239922', 'hola')).output.split('\n');
    const outcome = async () =>
      JSON.parse((await wa2ai('routes', 'explain', '+5493777239922', 'hola', '--json')).output).data;
    expect((await explained())[0]).toBe('Route "support" takes the message to http://localhost:8000.');
    expect(await outcome()).toMatchObject({ decision: 'route', outcome: 'answer' });
    const message = aMessage('default', { phone: '5493777239922' });
    const { chatId } = await new MemoryInbox(api.state).add(message, 'n1');
    await api.app.chatStore.pause(chatId, {});
    expect((await explained())[0]).toBe('No answer: The chat is paused until it is resumed.');
    await api.app.chatStore.pause(chatId, { forMs: 60_000 });
    expect((await explained())[0]).toMatch(
      /^No answer: The chat is paused until \d{4}-\d\d-\d\dT[\d:.]+Z\.$/,
    );
    expect(await outcome()).toMatchObject({ decision: 'route', outcome: 'no-answer', route: { id } });
    await wa2ai('routes', 'remove', id, '--yes');
    expect(await outcome()).toMatchObject({ decision: 'none', outcome: 'no-answer' });
  });
});
