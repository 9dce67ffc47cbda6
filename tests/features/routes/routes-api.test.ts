import { describe, expect, it, onTestFinished } from 'vitest';
import { AgentProtocolError } from '../../../router/src/core/errors.ts';
import type { Route } from '../../../router/src/core/models.ts';
import { MAX_PATTERN_CHARS } from '../../../router/src/core/routing/regex-problem.ts';
import { agentKinds } from '../../../router/src/infra/agents/agent-kinds.ts';
import { goodAgents, httpApi, startHttpApi } from '../../support/http-api.ts';

const UUID = /^[0-9a-f-]{36}$/;

/** The body of the curl command in the agent contract. */
const contractRoute = {
  channelId: '5493777239922',
  agentEndpoint: 'http://localhost:8000',
  environment: 'lab',
  config: { adk: { appName: 'my_sample_agent', baseUrl: 'http://localhost:8000' } },
};

const api = httpApi();

/** The headers in the settings of a stored route. */
function headersOf(route: Route | undefined): unknown {
  return (route?.config.agent?.settings as { headers?: unknown } | undefined)?.headers;
}

async function added(change: object = {}): Promise<{ id: string; channelId: string }> {
  const { status, body } = await api.call('POST', '/api/routes', { ...contractRoute, ...change });
  expect(status).toBe(201);
  return body.data;
}

describe('POST /api/routes', () => {
  it('accepts the curl command of the contract', async () => {
    const answer = await api.call('POST', '/api/routes', contractRoute);
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      success: true,
      message: 'Route created.',
      data: {
        ...contractRoute,
        id: expect.stringMatching(UUID),
        accountId: 'default',
        priority: 0,
        enabled: true,
        createdAt: '2026-01-02T03:04:05.000Z',
        updatedAt: '2026-01-02T03:04:05.000Z',
      },
    });
    expect(answer.headers.get('location')).toBe(`../api/routes/${answer.body.data.id}`);
  });

  it('names the route that takes each message of a new or changed one in a header', async () => {
    const equal = { channelId: '34600000077' };
    const first = await added({ ...equal, priority: 3 });
    const coveredBy = async (method: string, path: string, body: object) =>
      (await api.call(method, path, body)).headers.get('x-wa2ai-covered-by');
    expect(await coveredBy('POST', '/api/routes', { ...contractRoute, ...equal })).toBe(first.id);
    const second = await added({ ...equal, priority: 5 });
    expect(await coveredBy('PATCH', `/api/routes/${second.id}`, { priority: 4 })).toBe(null);
    expect(await coveredBy('PATCH', `/api/routes/${second.id}`, { priority: 0 })).toBe(first.id);
    expect(await coveredBy('PATCH', `/api/routes/${second.id}`, { enabled: false })).toBe(null);
  });

  it('uses the environment of the service when the body has none', async () => {
    const { environment: _, ...rest } = contractRoute;
    const { status, body } = await api.call('POST', '/api/routes', rest);
    expect(status).toBe(201);
    expect(body.data.environment).toBe('lab');
  });

  it('keeps each field of a full route', async () => {
    const full = {
      ...contractRoute,
      accountId: 'default',
      environment: 'prod',
      regexFilter: '^\\s*help\\b',
      priority: -3,
      enabled: false,
      name: 'help desk ☎',
      config: {
        adk: { appName: 'a', dialect: 'camel', timeoutMs: 1000 },
        notices: { unsupported: 'Text only, please.', failed: 'Sorry.' },
      },
    };
    const { body } = await api.call('POST', '/api/routes', full);
    expect(body.data).toMatchObject(full);
  });

  it.each([
    ['*', '*'],
    ['+54 9 3777 23-9922', '5493777239922'],
    ['5493777239922@s.whatsapp.net', '5493777239922'],
    ['5493777239922@c.us', '5493777239922'],
    ['123456789012345@lid', '123456789012345@lid'],
    ['120363043211234567@g.us', '120363043211234567@g.us'],
    ['120363043211234567', '120363043211234567@g.us'],
  ])('stores the channelId %s as %s', async (written, stored) => {
    expect((await added({ channelId: written })).channelId).toBe(stored);
  });

  it('allows several routes for one chat', async () => {
    await added({ priority: 1 });
    await added({ priority: 2 });
    expect((await api.call('GET', '/api/routes')).body.count).toBe(2);
  });

  it('stores conditions, and refuses wrong ones with a sentence about the field', async () => {
    const when = { days: ['mon'], hours: '22:00-06:00', tags: ['VIP'], percent: 12.5 };
    const { status: created, body: stored } = await api.call('POST', '/api/routes', {
      ...contractRoute,
      config: { ...contractRoute.config, when },
    });
    expect(created).toBe(201);
    const { id, config } = stored.data;
    expect(config.when).toEqual({ ...when, tags: ['vip'] });
    const patched = await api.call('PATCH', `/api/routes/${id}`, { config: { when: { percent: null } } });
    expect(patched.body.data.config.when).toEqual({ days: ['mon'], hours: '22:00-06:00', tags: ['vip'] });
    const wrong = { config: { when: { hours: '9 to 5' } } };
    const { status, body } = await api.call('PATCH', `/api/routes/${id}`, wrong);
    expect(status).toBe(400);
    expect(body.details).toEqual([
      {
        field: 'config.when.hours',
        message: 'must be two different times such as 09:00-18:00; 22:00-06:00 ends on the next day',
        phrase: { code: 'field.hours' },
      },
    ]);
  });

  it.each([
    [{ priority: -1_000_000, enabled: false, name: '' }, 201, undefined],
    [{ priority: 1_000_001 }, 400, 'priority'],
    [{ name: 'x'.repeat(200) }, 201, undefined],
    [{ name: 'x'.repeat(201) }, 400, 'name'],
    [{ colour: 'red' }, 400, 'colour'],
    [{ config: {} }, 400, 'config'],
    [{ regexFilter: '' }, 400, 'regexFilter'],
    [{ regexFilter: 'x'.repeat(MAX_PATTERN_CHARS) }, 201, undefined],
    [{ regexFilter: 'x'.repeat(MAX_PATTERN_CHARS + 1) }, 400, 'regexFilter'],
  ])('answers %j with %i about %s', async (change, status, field) => {
    const answer = await api.call('POST', '/api/routes', { ...contractRoute, ...change });
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([status, field]);
    if (status === 201) expect(answer.body.data).toMatchObject(change);
  });

  it('treats null as an absent regexFilter and name', async () => {
    const { body } = await api.call('POST', '/api/routes', {
      ...contractRoute,
      regexFilter: null,
      name: null,
    });
    expect(body.data).not.toHaveProperty('regexFilter');
    expect(body.data).not.toHaveProperty('name');
  });

  it('refuses an unknown account', async () => {
    const { status, body } = await api.call('POST', '/api/routes', { ...contractRoute, accountId: 'other' });
    expect(status).toBe(400);
    expect(body.details).toEqual([
      {
        field: 'accountId',
        message: 'is not a WhatsApp account of this service',
        phrase: { code: 'field.not-account' },
      },
    ]);
  });
});

describe('GET /api/routes', () => {
  it('returns all routes and their count', async () => {
    const first = await added();
    const second = await added({ channelId: '*' });
    const { status, body } = await api.call('GET', '/api/routes');
    expect(status).toBe(200);
    expect(body).toEqual({ success: true, data: [first, second], count: 2 });
    const page = (await api.call('GET', '/api/routes?limit=1')).body;
    expect(page).toEqual({ success: true, data: [first], count: 1, next: first.id });
    const last = (await api.call('GET', `/api/routes?limit=1&cursor=${page.next}`)).body;
    expect(last).toEqual({ success: true, data: [second], count: 1 });
  });

  it('filters by a channelId in any of its spellings', async () => {
    const route = await added();
    await added({ channelId: '*' });
    const { body } = await api.call('GET', '/api/routes?channelId=%2B5493777239922');
    expect(body.data).toEqual([route]);
  });
});

describe('/api/routes/:id', () => {
  it.each([
    '5493777239922',
    '+5493777239922',
    '%2B5493777239922',
    '5493777239922@s.whatsapp.net',
    '5493777239922%40s.whatsapp.net',
  ])('finds the only route of a chat by %s', async (spelling) => {
    const route = await added();
    expect((await api.call('GET', `/api/routes/${spelling}`)).body).toEqual({ success: true, data: route });
  });

  it('finds a route by its id, the wildcard by * and a group by its id', async () => {
    const route = await added({ channelId: '*' });
    const group = await added({ channelId: '120363043211234567@g.us' });
    expect((await api.call('GET', `/api/routes/${route.id.toUpperCase()}`)).body.data).toEqual(route);
    expect((await api.call('GET', '/api/routes/*')).body.data).toEqual(route);
    expect((await api.call('GET', '/api/routes/120363043211234567@g.us')).body.data).toEqual(group);
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('%s returns 404 for an unknown route', async (method) => {
    const body = method === 'PUT' ? contractRoute : method === 'PATCH' ? {} : undefined;
    for (const id of ['5493777239922', '00000000-0000-4000-8000-000000000000', 'nonsense', '%00', '..%2F']) {
      const answer = await api.call(method, `/api/routes/${id}`, body);
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual({
        success: false,
        error: 'There is no route with this id or channelId.',
        phrase: { code: 'problem.no-route-or-channel' },
        code: 'NOT_FOUND',
        docs: '../../docs/troubleshooting.md#not_found',
      });
    }
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])(
    '%s returns 409 and changes nothing when a chat has several routes',
    async (method) => {
      const first = await added();
      const second = await added({ name: 'second' });
      const body = method === 'PUT' ? contractRoute : method === 'PATCH' ? { name: 'x' } : undefined;
      const answer = await api.call(method, '/api/routes/5493777239922', body);
      expect(answer.status).toBe(409);
      expect(answer.body).toMatchObject({ success: false, code: 'SEVERAL_ROUTES' });
      expect(answer.body.details).toEqual([
        { field: 'id', message: first.id },
        { field: 'id', message: `${second.id} (second)` },
      ]);
      expect((await api.call('GET', '/api/routes')).body.data).toEqual([first, second]);
    },
  );

  it('DELETE removes the route', async () => {
    const route = await added();
    const answer = await api.call('DELETE', '/api/routes/5493777239922');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: true, message: 'Route deleted.', data: route });
    expect((await api.call('GET', '/api/routes')).body.count).toBe(0);
  });

  it('PUT replaces the whole route, moves its chat and clears omitted fields', async () => {
    const route = await added({ regexFilter: 'x', name: 'old', priority: 5, enabled: false });
    const replacement = { ...contractRoute, channelId: '+1 555 123 4567', environment: 'prod' };
    const answer = await api.call('PUT', `/api/routes/${route.id}`, replacement);
    expect(answer.status).toBe(200);
    expect(answer.body.message).toBe('Route updated.');
    expect(answer.body.data).toMatchObject({
      id: route.id,
      channelId: '15551234567',
      environment: 'prod',
      priority: 0,
      enabled: true,
    });
    expect(answer.body.data).not.toHaveProperty('regexFilter');
    expect(answer.body.data).not.toHaveProperty('name');
  });

  it('PUT without a channelId keeps the chat', async () => {
    await added();
    const { channelId: _, ...rest } = contractRoute;
    const answer = await api.call('PUT', '/api/routes/5493777239922', rest);
    expect(answer.body.data.channelId).toBe('5493777239922');
  });

  it('PATCH changes only the given fields', async () => {
    const route = await added({ regexFilter: 'x', name: 'old', priority: 5 });
    const answer = await api.call('PATCH', `/api/routes/${route.id}`, { enabled: false, name: null });
    const { name: _, ...rest } = route as { name?: string };
    expect(answer.body.data).toEqual({ ...rest, enabled: false });
  });

  it('takes earlier names of settings, and warns about each', async () => {
    const config = { ...contractRoute.config, failureNotice: 'Sorry.', unsupportedNotice: 'Text only.' };
    const { status, body } = await api.call('POST', '/api/routes', { ...contractRoute, config });
    expect(status).toBe(201);
    const notices = { failed: 'Sorry.', unsupported: 'Text only.' };
    expect(body.data.config).toEqual({ ...contractRoute.config, notices });
    expect(body.warnings).toMatchObject([
      {
        code: 'OLD_NAME',
        field: 'config.failureNotice',
        message: 'is now notices.failed; the earlier name works until the next version',
      },
      { code: 'OLD_NAME', field: 'config.unsupportedNotice' },
    ]);
    const patched = await api.call('PATCH', `/api/routes/${body.data.id}`, {
      config: { failureNotice: null },
    });
    expect(patched.body.data.config.notices).toEqual({ unsupported: 'Text only.' });
    const file = {
      routes: [{ id: body.data.id, ...contractRoute, config: { ...config, failureNotice: 'No.' } }],
    };
    const applied = await api.call('POST', '/api/routes/apply', file);
    expect(applied.body.warnings).toMatchObject([
      { code: 'OLD_NAME', field: 'routes.0.config.failureNotice' },
      { code: 'OLD_NAME', field: 'routes.0.config.unsupportedNotice' },
    ]);
  });

  it('PATCH merges the config, and null removes a part of it', async () => {
    await added({ config: { adk: { appName: 'a', timeoutMs: 500 }, notices: { failed: 'Sorry.' } } });
    const answer = await api.call('PATCH', '/api/routes/5493777239922', {
      config: { adk: { appName: 'b', timeoutMs: null } },
    });
    expect(answer.body.data.config).toEqual({ adk: { appName: 'b' }, notices: { failed: 'Sorry.' } });
  });

  it.each([
    ['PATCH', { config: null }],
    ['PATCH', { colour: 'red' }],
    ['PUT', { agentEndpoint: 'http://localhost:8000' }],
  ])('%s refuses %j', async (method, body) => {
    await added();
    expect((await api.call(method, '/api/routes/5493777239922', body)).status).toBe(400);
  });

  it('PATCH refuses a config that would be left without an agent', async () => {
    await added();
    const answer = await api.call('PATCH', '/api/routes/5493777239922', { config: { adk: null } });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe(
      `config must contain exactly one agent kind: ${agentKinds.map(({ name }) => name).join(', ')}.`,
    );
  });
});

describe('secret headers of an agent', () => {
  const secretRoute = {
    config: { adk: { appName: 'a', headers: { Authorization: 'Bearer s3cret', 'X-Team': 'red' } } },
  };
  const storedHeaders = async () => headersOf((await api.routes.list())[0]);

  it('are never shown', async () => {
    const { id } = await added(secretRoute);
    for (const [method, path, body] of [
      ['GET', '/api/routes', undefined],
      ['GET', `/api/routes/${id}`, undefined],
      ['PATCH', `/api/routes/${id}`, { name: 'x' }],
      ['DELETE', `/api/routes/${id}`, undefined],
    ] as const) {
      const { text } = await api.call(method, path, body);
      expect(text).toContain('"headers":{"Authorization":"***","X-Team":"***"}');
      expect(text).not.toContain('s3cret');
    }
    expect(JSON.stringify(api.log.lines)).not.toContain('s3cret');
  });

  it('stay when a PATCH does not name them', async () => {
    await added(secretRoute);
    await api.call('PATCH', '/api/routes/5493777239922', { config: { adk: { appName: 'b' } } });
    expect(await storedHeaders()).toEqual(secretRoute.config.adk.headers);
  });

  it('stay when a response is sent back unchanged, by PUT and by PATCH', async () => {
    const { id } = await added(secretRoute);
    const {
      createdAt: _c,
      updatedAt: _u,
      id: _i,
      ...shown
    } = (await api.call('GET', `/api/routes/${id}`)).body.data;
    for (const method of ['PUT', 'PATCH']) {
      expect((await api.call(method, `/api/routes/${id}`, shown)).status).toBe(200);
      expect(await storedHeaders()).toEqual(secretRoute.config.adk.headers);
    }
  });

  it('can be changed and removed one by one', async () => {
    await added(secretRoute);
    const headers = { Authorization: 'Bearer new', 'X-Team': null };
    await api.call('PATCH', '/api/routes/5493777239922', { config: { adk: { headers } } });
    expect(await storedHeaders()).toEqual({ Authorization: 'Bearer new' });
  });

  it.each([
    ['the endpoint', 'PATCH', { agentEndpoint: 'http://attacker.example' }],
    ['the base URL', 'PATCH', { config: { adk: { baseUrl: 'http://attacker.example' } } }],
    ['only the port', 'PATCH', { config: { adk: { baseUrl: 'http://localhost:8001' } } }],
    ['only the scheme', 'PATCH', { agentEndpoint: 'https://localhost:8000' }],
    [
      'the endpoint of a masked answer',
      'PUT',
      {
        agentEndpoint: 'http://attacker.example',
        config: { adk: { appName: 'a', headers: { Authorization: '***', 'X-Team': '***' } } },
      },
    ],
  ])('are dropped when a change of %s would send them to another origin', async (_case, method, change) => {
    await added(secretRoute);
    const { status, body, text } = await api.call(method, '/api/routes/5493777239922', change);
    expect(status).toBe(200);
    expect(await storedHeaders()).toEqual({});
    expect(text).not.toContain('s3cret');
    expect(body.warnings).toEqual(
      ['Authorization', 'X-Team'].map((name) => ({
        code: 'SECRETS_DROPPED',
        field: `config.adk.headers.${name}`,
        message: expect.stringContaining('Send its value again'),
        phrase: { code: 'route.secret-dropped' },
      })),
    );
  });

  it('stay when they are given again for the new address', async () => {
    await added(secretRoute);
    const headers = { Authorization: 'Bearer s3cret' };
    const { body } = await api.call('PATCH', '/api/routes/5493777239922', {
      agentEndpoint: 'http://new.example',
      config: { adk: { headers } },
    });
    expect(await storedHeaders()).toEqual(headers);
    expect(body.warnings).toMatchObject([{ field: 'config.adk.headers.X-Team' }]);
  });

  it('stay when only the path of the address changes', async () => {
    await added(secretRoute);
    const { body } = await api.call('PATCH', '/api/routes/5493777239922', {
      agentEndpoint: 'http://localhost:8000/adk',
    });
    expect(await storedHeaders()).toEqual(secretRoute.config.adk.headers);
    expect(body).not.toHaveProperty('warnings');
  });

  it('are refused when the mask replaces no stored value', async () => {
    const config = { adk: { appName: 'a', headers: { Authorization: '***' } } };
    const answer = await api.call('POST', '/api/routes', { ...contractRoute, config });
    expect(answer.status).toBe(400);
    expect(answer.body.details[0].field).toBe('config.adk.headers.Authorization');
  });
});

describe('the probe of a stored route', () => {
  const finding = {
    code: 'AGENT_UNREACHABLE' as const,
    field: 'agentEndpoint',
    message: 'The ADK server at http://localhost:8000 cannot be reached: connect ECONNREFUSED.',
  };

  it('warns in the response, and the route is stored', async () => {
    const findings = async () => [finding];
    const probed = await startHttpApi({ routeProbe: { ...goodAgents, findings } });
    const created = await probed.call('POST', '/api/routes', contractRoute);
    expect(created).toMatchObject({ status: 201, body: { warnings: [finding] } });
    expect(await probed.routes.list()).toHaveLength(1);
    const path = `/api/routes/${created.body.data.id}`;
    expect((await probed.call('PATCH', path, { agentEndpoint: 'http://localhost:9' })).body.warnings).toEqual(
      [finding],
    );
    expect((await probed.call('PATCH', path, { name: 'x' })).body).not.toHaveProperty('warnings');
    await probed.close();
  });

  it('refuses an address that the egress policy refuses', async () => {
    const refused = { field: 'agentEndpoint', message: 'is refused: 169.254.169.254 is a metadata address' };
    const refusedAddresses = () => [refused];
    const probed = await startHttpApi({ routeProbe: { ...goodAgents, refusedAddresses } });
    const { status, body } = await probed.call('POST', '/api/routes', contractRoute);
    expect(status).toBe(400);
    expect(body.details).toEqual([refused]);
    expect(await probed.routes.list()).toEqual([]);
    await probed.close();
  });
});

describe('an ABI route', () => {
  const abiRoute = {
    ...contractRoute,
    config: {
      abi: {
        functions: ['function add(uint256 a, uint256 b) returns (uint256 sum)'],
        headers: { 'x-api-key': 'secret-key' },
      },
    },
  };

  it('hides its headers and keeps them on changes', async () => {
    const { id } = await added(abiRoute);
    const shown = await api.call('GET', `/api/routes/${id}`);
    expect(shown.body.data.config.abi.headers).toEqual({ 'x-api-key': '***' });
    const changed = await api.call('PUT', `/api/routes/${id}`, {
      agentEndpoint: contractRoute.agentEndpoint,
      config: shown.body.data.config,
    });
    expect(changed.status).toBe(200);
    const stored = await api.app.routes.get(id);
    expect(headersOf(stored)).toEqual({ 'x-api-key': 'secret-key' });
  });

  it.each([
    [{ functions: [] }, 'config.abi.functions must contain at least one function.'],
    [
      { functions: 7 },
      'config.abi.functions must be an array of signatures or JSON ABI entries, or the http:// or https:// URL of a manifest.',
    ],
    [
      { functions: 'ftp://x' },
      'config.abi.functions must be an array of signatures or JSON ABI entries, or the http:// or https:// URL of a manifest.',
    ],
    [
      { functions: Array.from({ length: 1_001 }, (_, index) => `f${index}()`) },
      'config.abi.functions must have at most 1000 entries.',
    ],
    [{ functions: ['constructor(uint256 a)'] }, 'config.abi.functions must contain at least one function.'],
    [{ functions: ['function f(uint9 a)'] }, "config.abi.functions[0] 'uint9' is not an ABI type."],
    [
      { functions: ['f()'], function: 'g' },
      "config.abi.function names 'g', which is not among the functions.",
    ],
    [{ functions: ['f()'], path: 'call' }, 'config.abi.path must begin with / and contain no spaces.'],
    [{ functions: ['f()'], envelope: 'xml' }, 'config.abi.envelope must be raw, json or auto.'],
    [
      { functions: ['f()'], output: '{{x}}' },
      'config.abi.output uses {{x}}, which is not among the outputs.',
    ],
    [{ functions: ['f()'], args: 'text' }, 'config.abi.args must be an array or an object.'],
    [
      { functions: ['f() returns (string x)'], output: { image: '{{x}}' } },
      'config.abi.output makes an image of an output of type string; only bytes can be one.',
    ],
    [
      { functions: ['f() returns (bytes x)'], output: { video: '{{x}}' } },
      'config.abi.output.video is not a known field.',
    ],
    [
      { functions: ['f(string a)'], args: ['{{media}}'] },
      "config.abi.args does not fit f(string): a must be text, got 'a file'.",
    ],
    [
      { functions: ['function f(uint8 a) returns (bool b)'], args: ['{{timestamp}}'], output: '{{c}}' },
      "config.abi.args does not fit f(uint8): a must be a whole number from 0 to 255, got '1700000000'. " +
        'config.abi.output uses {{c}}, which is not among the outputs.',
    ],
    [{ functions: ['f(string a)'], args: ['{{text'] }, "config.abi.args has '{{text' without }}."],
  ])('is refused with one sentence a mistake: %#', async (abi, sentence) => {
    const answer = await api.call('POST', '/api/routes', { ...contractRoute, config: { abi } });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe(sentence);
  });

  it('is refused by PATCH too, and stays unchanged', async () => {
    const { id } = await added(abiRoute);
    const answer = await api.call('PATCH', `/api/routes/${id}`, { config: { abi: { function: 'nope' } } });
    expect(answer.status).toBe(400);
    expect((await api.call('GET', `/api/routes/${id}`)).body.data.config.abi.function).toBeUndefined();
  });

  it('can name a manifest, which is not fetched on save', async () => {
    const config = { abi: { functions: 'http://127.0.0.1:9/agent.json', function: 'anything' } };
    expect((await api.call('POST', '/api/routes', { ...contractRoute, config })).status).toBe(201);
  });
});

describe('a route to a shell', () => {
  const person = contractRoute.channelId;
  const withImage = { channelId: person, config: { shell: { image: 'wa2ai-shell:1', allow: [person] } } };

  it('needs an agentEndpoint or an image', async () => {
    const { status, body } = await api.call('POST', '/api/routes', withImage);
    expect(status).toBe(201);
    expect(body.data).not.toHaveProperty('agentEndpoint');
    const config = { shell: { allow: [person] } };
    const without = await api.call('POST', '/api/routes', { channelId: person, config });
    expect(without.status).toBe(400);
    expect(without.body.details).toEqual([
      { field: 'agentEndpoint', message: 'is missing', phrase: { code: 'field.missing' } },
    ]);
    expect((await api.call('POST', '/api/routes', { ...contractRoute, config })).status).toBe(201);
  });

  it('is refused for everybody, also by a change', async () => {
    const problem = {
      field: 'channelId',
      message: 'must name one chat: a shell is never open to everybody',
      phrase: { code: 'field.one-chat', values: { kind: 'shell' } },
    };
    const all = await api.call('POST', '/api/routes', { ...withImage, channelId: '*' });
    expect([all.status, all.body.details]).toEqual([400, [problem]]);
    const { id } = await added(withImage);
    const moved = await api.call('PATCH', `/api/routes/${id}`, { channelId: '*' });
    expect([moved.status, moved.body.details]).toEqual([400, [problem]]);
    const everyone = await added({ channelId: '*' });
    const turned = await api.call('PATCH', `/api/routes/${everyone.id}`, {
      config: { adk: null, ...withImage.config },
    });
    expect([turned.status, turned.body.details]).toEqual([400, [problem]]);
    const config = { shell: { ...withImage.config.shell, allow: ['*'] } };
    const open = await api.call('POST', '/api/routes', { ...withImage, config });
    expect([open.status, open.body.details[0].field]).toEqual([400, 'config.shell.allow[0]']);
  });

  it('needs a key that may make wa2ai run programs', async () => {
    const key = await api.addKey({ scopes: ['routes:write'] });
    const create = (key: string) => api.call('POST', '/api/routes', withImage, { 'x-api-key': key });
    const refused = await create(key);
    expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_MISSING']);
    const manager = await api.addKey({ scopes: ['routes:write', 'agents:manage'] });
    expect((await create(manager)).status).toBe(201);
  });
});

describe('POST /api/routes/test', () => {
  const body = {
    channelId: '*',
    agentEndpoint: 'http://localhost:8000',
    config: { adk: { appName: 'a', headers: { k: 'hunter2' } } },
  };

  it('probes the agent of a route that is stored, with its secrets, and of one that is not', async () => {
    const probed: unknown[] = [];
    const test: typeof goodAgents.test = async (route) => {
      probed.push(route.config.agent?.settings);
      return goodAgents.test(route);
    };
    const other = await startHttpApi({ routeProbe: { ...goodAgents, test } });
    const found = { kind: 'adk', isProbed: true, findings: [], milliseconds: 3 };
    expect((await other.call('POST', '/api/routes/test', body)).body).toEqual({ success: true, data: found });
    expect(await other.routes.list()).toEqual([]);
    const { id } = (await other.call('POST', '/api/routes', body)).body.data;
    expect((await other.call('POST', `/api/routes/${id}/test`)).body.data).toEqual(found);
    expect(probed).toEqual([body.config.adk, body.config.adk]);
    await other.close();
  });

  it('probes a stored route with changes, with its secrets unless the address changes, and stores nothing', async () => {
    const probed: unknown[] = [];
    const test: typeof goodAgents.test = async (route) => {
      probed.push([route.agentEndpoint, route.config.agent?.settings]);
      return goodAgents.test(route);
    };
    const other = await startHttpApi({ routeProbe: { ...goodAgents, test } });
    const { id } = (await other.call('POST', '/api/routes', body)).body.data;
    const path = `/api/routes/${id}/test`;
    expect((await other.call('POST', path, { config: { adk: { appName: 'b' } } })).status).toBe(200);
    expect((await other.call('POST', path, { agentEndpoint: 'http://localhost:9000' })).status).toBe(200);
    expect(probed).toEqual([
      [body.agentEndpoint, { appName: 'b', headers: { k: 'hunter2' } }],
      ['http://localhost:9000', { appName: 'a', headers: {} }],
    ]);
    const wrong = await other.call('POST', path, { config: { adk: { appName: 7 } } });
    expect([wrong.status, wrong.body.details[0].field]).toEqual([400, 'config.adk.appName']);
    expect(await other.routes.get(id)).toMatchObject({ config: { agent: { settings: body.config.adk } } });
    await other.close();
  });

  it('needs the scope to write routes, and a route that can be stored', async () => {
    const other = await startHttpApi();
    const headers = { 'x-api-key': await other.addKey({ scopes: ['routes:read'] }) };
    const statuses = [];
    for (const path of ['/api/routes/test', '/api/routes/00000000-0000-4000-8000-000000000000/test']) {
      statuses.push((await other.call('POST', path, body, headers)).status);
      statuses.push((await other.call('POST', path, { ...body, config: {} })).status);
    }
    expect(statuses).toEqual([403, 400, 403, 404]);
    await other.close();
  });
});

describe('GET /api/routes/activity', () => {
  const routeTo = (port: number) => ({
    channelId: '*',
    agentEndpoint: `http://localhost:${port}`,
    config: { adk: { appName: 'a', headers: { k: 'hunter2' } } },
  });

  async function setup() {
    const asked: string[] = [];
    const finding = {
      code: 'AGENT_UNREACHABLE' as const,
      field: 'agentEndpoint',
      message: 'The ADK server cannot be reached.',
    };
    const findings: typeof goodAgents.findings = async ({ agentEndpoint }) => {
      asked.push(agentEndpoint);
      return agentEndpoint.endsWith(':9') ? [finding] : [];
    };
    const other = await startHttpApi({ routeProbe: { ...goodAgents, findings } });
    onTestFinished(() => other.close());
    const add = async (body: object) =>
      (await other.call('POST', '/api/routes', body)).body.data.id as string;
    const activity = async (headers = {}) => {
      const { status, body } = await other.call('GET', '/api/routes/activity', undefined, headers);
      expect(status).toBe(200);
      return body.data;
    };
    return { other, asked, add, activity, finding };
  }

  it('says of each route whether its agent answers, and what it did in 24 hours', async () => {
    const { other, add, activity, finding } = await setup();
    const good = await add(routeTo(8000));
    const bad = await add(routeTo(9));
    const off = await add({ ...routeTo(9), enabled: false });
    const hourMs = 3_600_000;
    const nowMs = other.clock.nowMs;
    await other.stats.add(nowMs, [], [{ routeId: good, messages: 4, failures: 1 }]);
    await other.stats.add(nowMs - 23 * hourMs, [], [{ routeId: good, messages: 2, failures: 0 }]);
    await other.stats.add(nowMs - 24 * hourMs, [], [{ routeId: good, messages: 100, failures: 9 }]);
    expect(await activity()).toEqual([
      { routeId: good, messages: 6, failures: 1, agent: 'answers' },
      { routeId: bad, messages: 0, failures: 0, agent: 'problem', problem: finding },
      { routeId: off, messages: 0, failures: 0, agent: 'unknown' },
    ]);
  });

  it('asks an agent once a minute, whatever the number of its routes and of the calls', async () => {
    const { other, asked, add, activity } = await setup();
    await add(routeTo(8000));
    await add({ ...routeTo(8000), priority: 5 });
    asked.length = 0;
    await activity();
    await activity();
    expect(asked).toEqual(['http://localhost:8000']);
    other.clock.nowMs += 60_000;
    await activity();
    expect(asked).toHaveLength(2);
  });

  it('asks at most 30 agents at a call, the others at the next ones', async () => {
    const { asked, add, activity } = await setup();
    for (let n = 0; n < 31; n++) await add(routeTo(8000 + n));
    asked.length = 0;
    const states = (await activity()).map(({ agent }: { agent: string }) => agent);
    expect([asked.length, states.filter((state: string) => state === 'unknown').length]).toEqual([30, 1]);
    expect((await activity()).every(({ agent }: { agent: string }) => agent === 'answers')).toBe(true);
    expect(asked).toHaveLength(31);
  });

  it('shows a key only the routes that it may use', async () => {
    const { other, add, activity } = await setup();
    const [mine] = [await add(routeTo(8000)), await add(routeTo(8001))];
    const key = await other.addKey({ scopes: ['routes:read'], routes: [mine] });
    expect(await activity({ 'x-api-key': key })).toMatchObject([{ routeId: mine }]);
  });
});

describe('POST /api/routes/ask', () => {
  const route = {
    channelId: '*',
    agentEndpoint: 'http://localhost:8000',
    config: { adk: { appName: 'a', headers: { k: 'hunter2' } } },
  };

  it('runs the agent of a route for a new person each time, and stores nothing', async () => {
    const people = new Set<string>();
    api.npc.agent.client = {
      sendMessage: async (endpoint, { from, text }) => {
        people.add(from);
        return { success: true, response: `${endpoint}: ${text}` };
      },
    };
    for (let n = 0; n < 2; n++) {
      const { status, body } = await api.call('POST', '/api/routes/ask', { route, text: 'hola' });
      expect([status, body.data]).toEqual([
        200,
        { answer: 'http://localhost:8000: hola', files: 0, milliseconds: 0 },
      ]);
    }
    expect(people.size).toBe(2);
    expect(await api.routes.list()).toEqual([]);
  });

  it('says why the agent does not answer, and that it answers later', async () => {
    api.npc.agent.client = {
      sendMessage: async () => {
        throw new AgentProtocolError({ sentence: 'The agent has no app "a".' });
      },
    };
    const ask = async () => (await api.call('POST', '/api/routes/ask', { route, text: 'hola' })).body.data;
    expect(await ask()).toEqual({
      files: 0,
      problem: { code: 'AGENT_PROTOCOL', message: 'The agent has no app "a".' },
      milliseconds: 0,
    });
    api.npc.agent.client = { sendMessage: async () => ({ success: true, isLater: true }) };
    expect(await ask()).toEqual({ isLater: true, files: 0, milliseconds: 0 });
  });

  it('refuses agents that wa2ai runs, routes that cannot be stored, and keys that may not write routes', async () => {
    const ask = async (change: object, headers = {}) =>
      (await api.call('POST', '/api/routes/ask', { route: { ...route, ...change }, text: 'hola' }, headers))
        .status;
    const hosted = { agentEndpoint: undefined, config: { hosted: { image: 'agent:1' } } };
    expect(await ask({ ...hosted, channelId: '5493777239922' })).toBe(400);
    expect(await ask({ config: {} })).toBe(400);
    const key = await api.addKey({ scopes: ['routes:read'] });
    expect(await ask({}, { 'x-api-key': key })).toBe(403);
  });
});
