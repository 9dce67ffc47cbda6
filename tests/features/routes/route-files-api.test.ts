import { beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { CHAT_IMAGE } from '../../support/hosted-agents.ts';
import { type HttpApi, httpApi, startHttpApi } from '../../support/http-api.ts';

const api = httpApi();

const SUPPORT = {
  name: 'support',
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  config: {
    adk: { appName: 'a', headers: { Authorization: 'hunter2' } },
    failure: { tryForMs: 2_000, fallbackText: 'sorry' },
    when: { days: ['mon'] },
  },
};
const GREETING = {
  name: 'greeting: "hi"',
  channelId: '5493777239922',
  regexFilter: '^(hola|\\d+)$',
  priority: -3,
  enabled: false,
  environment: 'prod',
  agentEndpoint: 'https://agent.test/base',
  config: { webhook: { headers: { 'x-key': 'secret-2' } } },
};
const HOSTED = { name: '007', channelId: '4915112345678', config: { hosted: { image: CHAT_IMAGE } } };

/** Applies a file in YAML, as text. */
async function apply(file: unknown, query = '', headers: Record<string, string> = {}) {
  const response = await fetch(`${api.url}/api/routes/apply${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml', ...headers },
    body: typeof file === 'string' ? file : stringify(file, { aliasDuplicateObjects: false }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  return { status: response.status, body: (await response.json()) as any };
}

/** The file, as text and as what it says. */
async function exported(query = '', headers: Record<string, string> = {}) {
  const response = await fetch(`${api.url}/api/routes/export${query}`, { headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

async function newest(): Promise<number> {
  return (await api.call('GET', '/api/routes/history?limit=1')).body.data[0]?.version ?? 0;
}

describe('a file of routes', () => {
  beforeEach(async () => {
    for (const route of [SUPPORT, GREETING, HOSTED]) {
      expect((await api.call('POST', '/api/routes', route)).status).toBe(201);
    }
  });

  it('is YAML, or JSON when asked, without secrets', async () => {
    const yaml = await exported();
    expect(yaml.headers.get('content-type')).toBe('application/yaml; charset=utf-8');
    expect(yaml.headers.get('content-disposition')).toBe('attachment; filename="routes.yaml"');
    const content = parse(yaml.text);
    expect(content.routes.map(({ name }: { name: string }) => name)).toEqual([
      'support',
      'greeting: "hi"',
      '007',
    ]);
    expect(content.routes[0]).toMatchObject({
      accountId: 'default',
      channelId: '*',
      config: { adk: { headers: { Authorization: '***' } } },
    });
    expect(yaml.text).not.toMatch(/hunter2|secret-2/);
    expect((await exported('?format=json')).body).toEqual(content);
    expect((await exported('', { accept: 'application/json' })).body).toEqual(content);
    const ofProd = (await exported('?format=json&environment=prod&accountId=default')).body;
    expect(ofProd.routes).toEqual([content.routes[1]]);
    expect((await exported('?format=json&accountId=other')).body).toEqual({ routes: [] });
  });

  it('changes nothing when it is exported and applied again', async () => {
    const before = await api.routes.list();
    const version = await newest();
    const yaml = await apply((await exported()).text, '?prune=true');
    expect(yaml.body).toMatchObject({ success: true, data: { version, changes: [], unchanged: 3 } });
    const json = await api.call('POST', '/api/routes/apply', (await exported('?format=json')).body);
    expect(json.body.data).toEqual({ version, changes: [], unchanged: 3 });
    expect(await api.routes.list()).toEqual(before);
    expect(await newest()).toBe(version);
  });

  it('changes, creates and deletes routes as one version, and keeps masked secrets', async () => {
    const file = (await exported()).body;
    const [support, greeting, hosted] = file.routes;
    support.priority = 7;
    support.config.adk.appName = 'b';
    const added = { ...SUPPORT, name: 'new', config: { adk: { appName: 'c' } } };
    const next = { routes: [support, hosted, added] };

    const plan = await apply(next, '?dryRun=true&prune=true');
    expect(plan.body).toMatchObject({ message: 'Nothing was changed: a dry run.' });
    expect(plan.body.data).toMatchObject({
      version: 3,
      unchanged: 1,
      changes: [
        {
          change: 'changed',
          routeId: support.id,
          fields: [
            { field: 'priority', before: 0, after: 7 },
            { field: 'config.adk.appName', before: 'a', after: 'b' },
          ],
        },
        { change: 'created', name: 'new' },
      ],
    });
    expect(await newest()).toBe(3);

    // The file has nothing of the environment prod any more, so that its routes are kept.
    expect((await apply(next, '?prune=true')).body.data).toMatchObject({ version: 4, unchanged: 1 });
    expect((await apply(next)).body.data).toEqual({ version: 4, changes: [], unchanged: 3 });
    const stored = await api.routes.get(support.id);
    expect(stored?.config.agent?.settings).toEqual({ appName: 'b', headers: { Authorization: 'hunter2' } });
    expect(await api.routes.list()).toHaveLength(4);

    const pruned = await apply({ routes: [greeting, support] }, '?prune=true');
    expect(pruned.body.data.changes.map(({ change }: { change: string }) => change)).toEqual([
      'deleted',
      'deleted',
    ]);
    const [version] = (await api.call('GET', '/api/routes/history?limit=1')).body.data;
    expect(version).toMatchObject({ version: 5, action: 'apply', deleted: 2, changed: 0 });
  });

  it('finds a route without an id by its name, and needs the id when several have it', async () => {
    const { data } = (await apply({ routes: [{ ...SUPPORT, priority: 1 }] })).body;
    expect(data.changes).toMatchObject([{ change: 'changed', fields: [{ field: 'priority' }] }]);
    await api.call('POST', '/api/routes', SUPPORT);
    const several = await apply({ routes: [SUPPORT] });
    expect(several.body.error).toBe('routes.0.name is that of 2 routes; give the id.');
  });

  it('is refused as a whole when the table is newer than the caller knows', async () => {
    const added = { ...SUPPORT, name: 'new', config: { adk: { appName: 'c' } } };
    const outdated = await apply({ routes: [added] }, '?expectedVersion=2');
    expect([outdated.status, outdated.body.code]).toEqual([409, 'ROUTES_CHANGED']);
    expect((await apply({ routes: [added] }, '?expectedVersion=3')).status).toBe(200);
  });

  it('removes a secret whose address changes, with a warning', async () => {
    const file = (await exported()).body;
    file.routes[0].agentEndpoint = 'http://elsewhere.test';
    const { body } = await apply(file);
    expect(body.warnings).toMatchObject([
      { code: 'SECRETS_DROPPED', field: 'routes.0.config.adk.headers.Authorization' },
    ]);
    expect(JSON.stringify(await api.routes.list())).not.toContain('hunter2');
  });

  it('is created with its ids where there are none', async () => {
    const { text } = await exported();
    const other = await startHttpApi();
    const response = await fetch(`${other.url}/api/routes/apply`, {
      method: 'POST',
      headers: { 'content-type': 'application/yaml' },
      body: text.replaceAll('"***"', 'given').replaceAll('***', 'given'),
    });
    const { data } = (await response.json()) as { data: { changes: unknown[] } };
    expect(data.changes).toHaveLength(3);
    const ids = async (of: HttpApi) => (await of.routes.list()).map(({ id }) => id);
    expect(await ids(other)).toEqual(await ids(api));
    await other.close();
  });
});

it.each([
  ['routes: [', 'is not YAML'],
  ['just a text', 'must be a JSON object'],
  ['routes: [{ name: a }]', 'routes.0.channelId is missing'],
  ['routes: [{ channelId: "*" }]', 'routes.0.name is missing; a route of a file needs an id or a name'],
  [{ routes: [{ ...SUPPORT, config: undefined }] }, 'routes.0.config is missing'],
  [{ routes: [SUPPORT, SUPPORT], more: 1 }, 'more is not a known field'],
  [
    { routes: [{ ...SUPPORT, config: { adk: { appName: 'a', headers: { k: '***' } } } }] },
    'routes.0.config.adk.headers.k is masked (***) and no value is stored; send its value',
  ],
  [{ routes: [{ ...SUPPORT, agentEndpoint: undefined }] }, 'routes.0.agentEndpoint is missing'],
])('refuses the file %j and stores nothing', async (file, error) => {
  const { status, body } = await apply(file);
  expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
  expect(await newest()).toBe(0);
});

it('refuses YAML that expands to too much', async () => {
  const levels = Array.from({ length: 20 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}, *a${n}]`);
  const { status } = await apply(`a0: &a0 [x, x]\n${levels.join('\n')}\nroutes: []`);
  expect(status).toBe(400);
});

it('refuses keys that may not read or change every route', async () => {
  const answers = [];
  for (const given of [{ chats: ['5493777239922'] }, { routes: ['00000000-0000-4000-8000-000000000000'] }]) {
    const headers = { 'x-api-key': await api.addKey({ scopes: ['routes:write'], ...given }) };
    answers.push((await exported('', headers)).status, (await apply({ routes: [] }, '', headers)).status);
  }
  const writer = { 'x-api-key': await api.addKey({ scopes: ['routes:write'] }) };
  answers.push((await apply({ routes: [HOSTED] }, '', writer)).status);
  expect(answers).toEqual([403, 403, 403, 403, 403]);
  expect(await newest()).toBe(0);
});
