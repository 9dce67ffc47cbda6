import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';
import { runs } from '../../support/property-runs.ts';
import { aNewRoute } from '../../support/routes.ts';
import { anyRpcBody } from '../../support/rpc-arbitraries.ts';

const api = httpApi({ apiKey: ADMIN_KEY });

const open = (id: unknown = 1, params: unknown = { type: 'memory', params: { action: 'recall' } }) => ({
  jsonrpc: '2.0',
  method: 'task.open',
  params,
  id,
});
const rpc = (body: unknown, key?: string, headers: Record<string, string> = {}) =>
  api.call('POST', '/rpc', body, { ...(key !== undefined && { 'x-api-key': key }), ...headers });
/** A stream of a task; each call reads on from the end of the call before. */
async function openStream(taskId: string, key: string) {
  const response = await fetch(`${api.url}/stream/${taskId}`, { headers: { 'x-api-key': key } });
  expect(response.status).toBe(200);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => (await reader?.read()) ?? { done: true, value: undefined };
  const untilText = async (wanted: string) => {
    for (let text = ''; ; ) {
      const { value, done } = await next();
      text += value ?? '';
      if (text.includes(wanted)) return text;
      if (done) throw new Error(`the stream ended without ${wanted}`);
    }
  };
  const untilEnd = async () => {
    while (!(await next()).done);
  };
  return { untilText, untilEnd };
}

describe('the NPC server', () => {
  it('shows its card without a key, at the address of the request', async () => {
    const { status, body } = await api.call('GET', '/.well-known/agent-card');
    expect(status).toBe(200);
    expect(body.transports[0].url).toBe(`${api.url}/rpc`);
    await api.app.settingsStore.put('npc', { enabled: true, name: 'Guard', url: 'https://npc.example.com' });
    const behindProxy = await api.call('GET', '/.well-known/agent-card');
    expect(behindProxy.body).toMatchObject({
      name: 'Guard',
      transports: [{ url: 'https://npc.example.com/rpc' }, {}],
    });
  });

  it.each([
    ['task.list', null],
    ['task.list', { status: null, limit: null, type: null }],
    ['task.open', { type: 'memory', params: { action: 'recall', limit: null }, metadata: null }],
  ])('takes null for what may be absent in %s %j, by each name of JSON', async (method, params) => {
    for (const type of ['application/json', 'application/json-rpc', 'application/jsonrequest']) {
      const { body } = await rpc({ jsonrpc: '2.0', id: 1, method, params }, ADMIN_KEY, {
        'content-type': type,
      });
      expect(body.result).toBeTypeOf('object');
    }
  });

  it('performs a task and shows its result', async () => {
    const { body } = await rpc(open(), ADMIN_KEY);
    expect(body).toEqual({
      jsonrpc: '2.0',
      result: { taskId: 'task_1', status: 'pending', estimatedDuration: 1_000 },
      id: 1,
    });
    await api.npc.ended('task_1');
    const status = { jsonrpc: '2.0', method: 'task.status', params: { taskId: 'task_1' }, id: 'x' };
    expect((await rpc(status, ADMIN_KEY)).body).toMatchObject({
      result: { status: 'completed', result: { success: true, memories: [] } },
      id: 'x',
    });
  });

  it('answers a call without a key, and one without the scope, with -32001', async () => {
    expect((await rpc(open())).body.error).toMatchObject({ code: -32001, data: { field: 'X-API-Key' } });
    expect((await rpc([open(1), open(2)], 'wrong')).body).toMatchObject([
      { error: { code: -32001 }, id: 1 },
      { error: { code: -32001 }, id: 2 },
    ]);
    const key = await api.addKey({ scopes: ['routes:read'] });
    expect((await rpc(open(), key)).body.error.data.reason).toBe('The key lacks the scope tasks.');
  });

  it('counts each call of a batch, and answers those over the limit with -32002', async () => {
    const key = await api.addKey({ scopes: ['tasks'], limits: { perMinute: 2, perSecond: 2 } });
    const { body, headers, status } = await rpc([open(1), open(2), open(3)], key);
    expect(status).toBe(200);
    expect(body.map((each: { error?: { code: number } }) => each.error?.code)).toEqual([
      undefined,
      undefined,
      -32002,
    ]);
    expect(body[2].error.data.retryAfter).toBeGreaterThanOrEqual(1);
    expect(headers.get('retry-after')).toMatch(/^\d+$/);
    expect(headers.get('ratelimit')).toContain('"second";r=0');
    expect(headers.get('ratelimit-policy')).toContain('"minute";q=2;w=60');
  });

  it('answers notifications with 204, and bodies that are no JSON with -32700', async () => {
    const { id: _id, ...notification } = open();
    expect((await rpc(notification, ADMIN_KEY)).status).toBe(204);
    expect((await rpc('{nonsense', ADMIN_KEY)).body.error.code).toBe(-32700);
    expect(
      (await rpc(open(1, { type: 'memory', params: { action: 'recall', query: 'a\u0000b' } }), ADMIN_KEY))
        .body.error,
    ).toMatchObject({ code: -32602, data: { field: 'params.query' } });
  });

  it('opens one task for one Idempotency-Key, and refuses a key that is no key', async () => {
    const first = await rpc(open(), ADMIN_KEY, { 'idempotency-key': 'k1' });
    const second = await rpc(open(), ADMIN_KEY, { 'idempotency-key': 'k1' });
    expect(second.body.result.taskId).toBe(first.body.result.taskId);
    const bad = await rpc(open(), ADMIN_KEY, { 'idempotency-key': 'with space' });
    expect(bad.body.error).toMatchObject({ code: -32602, data: { field: 'Idempotency-Key' } });
  });

  it('asks the agent of its route, and says the answer in a chat', async () => {
    const route = await api.routes.create(aNewRoute());
    await api.app.settingsStore.put('npc', { enabled: true, name: 'Guard', routeId: route.id });
    const params = { type: 'social', params: { action: 'greet', message: 'Hi', to: '+54 9 3777 239922' } };
    await rpc(open(1, params), ADMIN_KEY);
    await api.npc.ended('task_1');
    expect(api.sent.map(({ to, text }) => ({ to, text }))).toEqual([
      { to: '5493777239922@s.whatsapp.net', text: expect.stringMatching(/^heard: .*Hi$/s) },
    ]);
  });

  it('streams a task to its owner until it ends', async () => {
    await rpc(open(), ADMIN_KEY);
    await api.npc.ended('task_1');
    const headers = { 'x-api-key': ADMIN_KEY };
    const response = await fetch(`${api.url}/stream/task_1`, { headers });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(await response.text()).toMatch(/^retry: 2000\n\nid: 2\nevent: task.completed\ndata: \{.*\}\n\n$/);
    const again = await fetch(`${api.url}/stream/task_1`, { headers: { ...headers, 'last-event-id': '2' } });
    expect(await again.text()).toBe('retry: 2000\n\n');
    const other = await api.addKey({ scopes: ['tasks'] });
    expect((await api.call('GET', '/stream/task_1', undefined, { 'x-api-key': other })).status).toBe(404);
    expect((await api.call('GET', '/stream/task_1')).status).toBe(401);
  });

  it('sends what happens while a reader is connected', async () => {
    await api.npc.tasks.open({ taskId: 'task_x', owner: 'admin', type: 'memory', params: {} });
    const { untilText } = await openStream('task_x', ADMIN_KEY);
    await untilText('"status":"pending"');
    await api.npc.tasks.begin('task_x');
    await untilText('"status":"processing"');
    await api.npc.tasks.finish('task_x', { status: 'completed', result: {} });
    await untilText('event: task.completed');
  });

  it('ends a stream when its key is revoked, and keeps those of other keys', async () => {
    const [one, two] = [await api.addKey({ scopes: ['tasks'] }), await api.addKey({ scopes: ['tasks'] })];
    for (const [taskId, key] of [
      ['task_x', one],
      ['task_y', two],
    ] as const) {
      const owner = `key:${key.split('_')[1]}`;
      await api.npc.tasks.open({ taskId, owner, type: 'memory', params: {} });
    }
    const revoked = await openStream('task_x', one);
    const kept = await openStream('task_y', two);
    await revoked.untilText('"status":"pending"');
    const path = `/api/keys/${one.split('_')[1]}`;
    expect((await api.call('DELETE', path, undefined, { 'x-api-key': ADMIN_KEY })).status).toBe(200);
    await api.npc.keyWatch.check();
    await revoked.untilEnd();
    await api.npc.tasks.begin('task_y');
    await kept.untilText('"status":"processing"');
  });

  it('refuses streams beyond those that a node can serve', async () => {
    await api.npc.tasks.open({ taskId: 'task_x', owner: 'admin', type: 'memory', params: {} });
    const watcher = { onTask: () => undefined, onHeartbeat: () => undefined, onStop: () => undefined };
    const ends = Array.from({ length: 1_500 }, () => api.npc.feed.watch('task_x', { ...watcher }));
    const stream = () => api.call('GET', '/stream/task_x', undefined, { 'x-api-key': ADMIN_KEY });
    expect(await stream()).toMatchObject({ status: 503, body: { code: 'TOO_MANY_STREAMS' } });
    ends[0]?.();
    await api.npc.tasks.finish('task_x', { status: 'completed', result: {} });
    expect((await stream()).status).toBe(200);
  });

  it('answers whatever a caller sends with valid JSON-RPC, and never with a defect', async () => {
    await fc.assert(
      fc.asyncProperty(anyRpcBody, async (text) => {
        const answer = await rpc(text, ADMIN_KEY);
        if (answer.status === 204) return;
        expect(answer.status).toBe(200);
        for (const response of [answer.body].flat()) {
          expect(response).toMatchObject({ jsonrpc: '2.0' });
          expect(response.error?.code).not.toBe(-32603);
        }
      }),
      runs(200),
    );
  });

  it('sends a heartbeat every 15 seconds', async () => {
    await api.npc.tasks.open({ taskId: 'task_x', owner: 'admin', type: 'memory', params: {} });
    const { untilText } = await openStream('task_x', ADMIN_KEY);
    await untilText('"status":"pending"');
    await api.npc.feedClock.advanceMs(15_000);
    await untilText(': heartbeat');
  });

  it('records streams and refused bodies in the audit log', async () => {
    await rpc(open(), ADMIN_KEY);
    await api.npc.ended('task_1');
    await api.call('GET', '/stream/task_1', undefined, { 'x-api-key': ADMIN_KEY });
    expect((await rpc('x'.repeat(5_000_000), ADMIN_KEY)).status).toBe(413);
    await api.recorder.stop();
    expect(api.auditLog.stored.map(({ action, object, outcome }) => ({ action, object, outcome }))).toEqual([
      { action: 'task.open', object: 'task_1', outcome: 'ok' },
      { action: 'streamNpcTask', object: 'task_1', outcome: 'ok' },
      { action: 'unknown', object: undefined, outcome: 'BODY_TOO_LARGE' },
    ]);
  });

  it('counts the calls of a key without the scope for its limit too', async () => {
    const key = await api.addKey({ scopes: ['routes:read'], limits: { perMinute: 1, perSecond: 1 } });
    expect((await rpc([open(1), open(2)], key)).body).toMatchObject([
      { error: { code: -32001 } },
      { error: { code: -32002 } },
    ]);
  });

  it('does not exist while it is off', async () => {
    await api.app.settingsStore.put('npc', { enabled: false, name: 'Guard' });
    const paths = ['/.well-known/agent-card', '/stream/task_1'];
    for (const path of paths) {
      expect((await api.call('GET', path, undefined, { 'x-api-key': ADMIN_KEY })).status).toBe(404);
    }
    expect((await rpc(open(), ADMIN_KEY)).status).toBe(404);
  });
});
