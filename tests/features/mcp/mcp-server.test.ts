import { describe, expect, it } from 'vitest';
import { meantBody } from '../../../router/src/features/mcp/lenient-client.ts';
import { MemoryNodeHub } from '../../doubles/memory-node-hub.ts';
import { ADMIN_KEY } from '../../support/http-api.ts';
import { mcpOverHttp } from '../../support/mcp-client.ts';
import { JSON_HEADERS, PING, postMcp, startMcpFace, untilAsleep } from '../../support/mcp-endpoint.ts';
import { rawRequest } from '../../support/raw-request.ts';

describe('POST /mcp', () => {
  it('refuses a foreign Origin, also with a key, and a foreign Host without one', async () => {
    const open = await startMcpFace();
    const closed = await startMcpFace({ apiKey: ADMIN_KEY });
    const foreign = { origin: 'https://evil.example' };
    expect(await postMcp(open.url, foreign)).toMatchObject({ status: 403, code: 'FOREIGN_ORIGIN' });
    expect(await postMcp(closed.url, { ...foreign, 'x-api-key': ADMIN_KEY })).toMatchObject({
      status: 403,
      code: 'FOREIGN_ORIGIN',
    });
    expect(await postMcp(closed.url, { origin: 'null', 'x-api-key': ADMIN_KEY })).toMatchObject({
      status: 403,
    });
    expect((await postMcp(closed.url, { origin: closed.url, 'x-api-key': ADMIN_KEY })).status).toBe(200);
    expect((await rawMcp(open.url, PING, { host: 'evil.example' })).status).toBe(403);
  });

  it('does not exist while it is off', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY, host: '0.0.0.0' });
    const headers = { 'x-api-key': ADMIN_KEY };
    expect((await postMcp(face.url, headers)).status).toBe(404);
    await face.api.app.settingsStore.put('mcp', { enabled: true });
    expect((await postMcp(face.url, headers)).status).toBe(200);
  });

  it.each([
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400],
    ['no JSON', '{', 400],
    ['nothing', '', 400],
    ['too much', `"${'x'.repeat(1_100_000)}"`, 413],
  ])('refuses %s', async (_what, body, status) => {
    const { url } = await startMcpFace();
    const response = await fetch(`${url}/mcp`, { method: 'POST', headers: JSON_HEADERS, body });
    expect(response.status).toBe(status);
  });

  it('refuses another type than JSON, and other methods', async () => {
    const { url } = await startMcpFace();
    const headers = { ...JSON_HEADERS, 'content-type': 'text/plain' };
    expect((await fetch(`${url}/mcp`, { method: 'POST', headers, body: PING })).status).toBe(415);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      expect((await fetch(`${url}/mcp`, { method })).status).toBe(405);
    }
  });

  it.each([
    ['application/json', 'application/json'],
    ['application/json;q=0.9', 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['*/*', 'application/json'],
    [undefined, 'application/json'],
    ['application/json, text/event-stream', 'text/event-stream'],
  ])('answers a client with Accept %s with %s', async (accept, type) => {
    const { url } = await startMcpFace();
    const { status, headers, text } = await rawMcp(url, PING, accept === undefined ? {} : { accept });
    expect([status, headers['content-type']]).toEqual([200, type]);
    const json = type === 'application/json' ? text : /^event: message\ndata: (.*)\n/m.exec(text)?.[1];
    expect(JSON.parse(json ?? '')).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });

  it.each([undefined, '2099-01-01'])(
    'negotiates its own version with a client of the future whose header says %s',
    async (version) => {
      const { url } = await startMcpFace();
      const clientInfo = { name: 'future', version: '1' };
      const params = { protocolVersion: '2099-01-01', capabilities: {}, clientInfo };
      const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
      const header: Record<string, string> = version === undefined ? {} : { 'mcp-protocol-version': version };
      const { status, text } = await rawMcp(url, message, { accept: 'application/json', ...header });
      expect(status).toBe(200);
      expect(JSON.parse(text).result.protocolVersion).toBe('2025-11-25');
      const known = { accept: 'application/json', 'mcp-protocol-version': '2025-11-25' };
      expect((await rawMcp(url, PING, known)).status).toBe(200);
    },
  );

  it.each([
    ['null for an optional argument', { limit: null, account_id: null }, undefined],
    ['a number as text', { limit: '5' }, undefined],
    ['a number that is too large, as text', { limit: '5000' }, /limit must be at most/],
    ['a word as a number', { limit: 'five' }, /limit must be a number/],
  ])('reads %s as what is meant', async (_what, args, refusal) => {
    const { url } = await startMcpFace();
    const params = { name: 'list_chats', arguments: args };
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { result } = JSON.parse((await rawMcp(url, message, {})).text);
    if (refusal) expect(result.content[0].text).toMatch(refusal);
    else expect(result.isError).not.toBe(true);
  });

  it.each([
    ['tools/call', { name: 'list_chats', arguments: null }],
    ['tools/call', { name: 'list_chats', _meta: null }],
    ['tools/list', null],
    ['tools/list', { cursor: null, _meta: { progressToken: null } }],
    ['prompts/get', { name: 'triage_dead_letters', arguments: null }],
    ['prompts/get', { name: 'triage_dead_letters', arguments: { reason: null } }],
    ['ping', null],
    [
      'initialize',
      {
        protocolVersion: '2025-11-25',
        capabilities: { roots: null, sampling: null },
        clientInfo: { name: 'n', version: '1', title: null },
      },
    ],
  ])('takes null for what may be absent in %s %j', async (method, params) => {
    const { url } = await startMcpFace();
    const { status, text } = await rawMcp(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), {});
    expect(status).toBe(200);
    const { result } = JSON.parse(text);
    expect(result).toBeTypeOf('object');
    expect(result.isError).not.toBe(true);
  });

  it('takes a notification with the id null, and refuses a request with it', async () => {
    const { url } = await startMcpFace();
    const send = (method: string) => rawMcp(url, JSON.stringify({ jsonrpc: '2.0', id: null, method }), {});
    expect((await send('notifications/initialized')).status).toBe(202);
    expect((await send('ping')).status).toBe(400);
  });

  it('leaves null in the arguments of a tool, where it may have a meaning', async () => {
    const { url } = await startMcpFace();
    const change = { route_id: '00000000-0000-4000-8000-000000000000', changes: { name: null } };
    const params = { name: 'update_route', arguments: change };
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(JSON.parse(meantBody(message)).params.arguments).toEqual(change);
    expect((await rawMcp(url, message, {})).status).toBe(200);
  });

  it.each([
    ['application/json-rpc', 200],
    ['application/jsonrequest', 200],
    ['application/mcp+json; charset=utf-8', 200],
    ['text/plain', 415],
    ['application/jsonp', 415],
  ])('answers a body of the type %s with %s', async (type, status) => {
    const { url } = await startMcpFace();
    expect((await rawMcp(url, PING, { 'content-type': type })).status).toBe(status);
  });

  it.each([
    ['2099-01-01', 200],
    ['2025-11-25', 200],
    ['2024-11-05', 200],
    ['', 200],
    ['2020-01-01', 400],
    ['draft', 400],
  ])('answers a call whose header names the version %s with %s', async (version, status) => {
    const { url } = await startMcpFace();
    expect((await rawMcp(url, PING, { 'mcp-protocol-version': version })).status).toBe(status);
  });

  it('says its versions to a client that names one of the future in the body too', async () => {
    const { url } = await startMcpFace();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2099-01-01',
      'io.modelcontextprotocol/clientInfo': { name: 'future', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } });
    const { status, text } = await rawMcp(url, message, { 'mcp-protocol-version': '2099-01-01' });
    expect([status, JSON.parse(text).error.data.supported]).toEqual([400, ['2026-07-28']]);
  });

  it('ends the waits of a key that is revoked, and of no other', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY });
    const { chatId, person } = await face.say('hola');
    const waitWith = async (key: string) => {
      const client = await mcpOverHttp(face.url, { headers: { 'x-api-key': key } });
      return client.callTool({ name: 'wait_for_message', arguments: { chat: chatId } });
    };
    const revoked = await face.api.addKey({ scopes: ['mcp', 'messages:read'] });
    const ended = expect(waitWith(revoked)).rejects.toThrow();
    const other = waitWith(ADMIN_KEY);
    await untilAsleep(face, 5);
    await face.api.keys.delete(revoked.split('_')[1] ?? '');
    await face.api.npc.keyWatch.check();
    await ended;
    await face.say('adios', person);
    await face.clock.advanceMs(1_000);
    expect((await other).structuredContent).toMatchObject({ status: 'received' });
  });

  it('ends a call that the client cancels at another node, and no call of another session or key', async () => {
    const hub = new MemoryNodeHub();
    const [one, two] = await Promise.all(
      ['n1', 'n2'].map((nodeId) => startMcpFace({ apiKey: ADMIN_KEY, bus: hub.connect(nodeId) })),
    );
    if (!one || !two) throw new Error('a node did not start');
    const { chatId } = await one.say('hola');
    const post = (url: string, key: string, session: string | undefined, message: object) =>
      fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          ...JSON_HEADERS,
          'x-api-key': key,
          'mcp-protocol-version': '2025-11-25',
          ...(session !== undefined && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
    const clientInfo = { name: 'wa2ai-tests', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const opened = await post(one.url, ADMIN_KEY, undefined, { id: 1, method: 'initialize', params });
    const session = opened.headers.get('mcp-session-id') ?? '';
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    const call = { name: 'wait_for_message', arguments: { chat: chatId } };
    const waiting = post(one.url, ADMIN_KEY, session, { id: 7, method: 'tools/call', params: call });
    await untilAsleep(one, 1);
    const cancel = (key: string, of: string, requestId: number | string) =>
      post(two.url, key, of, { method: 'notifications/cancelled', params: { requestId } });
    const other = await two.api.addKey({ scopes: ['mcp', 'messages:read'] });
    for (const [key, of, id] of [
      [other, session, 7],
      [ADMIN_KEY, 'another-session', 7],
      [ADMIN_KEY, session, 8],
      [ADMIN_KEY, session, '7'],
    ] as const) {
      expect((await cancel(key, of, id)).status).toBe(202);
    }
    expect(one.events).toEqual([]);
    expect((await cancel(ADMIN_KEY, session, 7)).status).toBe(202);
    await (await waiting).text();
    expect(one.events).toMatchObject([{ action: 'wait_for_message', outcome: 'CANCELED' }]);
  });

  it('ends waits when the server stops', async () => {
    const face = await startMcpFace();
    const { chatId } = await face.say('hola');
    const client = await mcpOverHttp(face.url);
    const waiting = client.callTool({ name: 'wait_for_message', arguments: { chat: chatId } });
    await untilAsleep(face, 1);
    face.stopping.abort();
    await expect(waiting).rejects.toThrow();
    await expect.poll(() => face.clock.sleeping).toBe(0);
  });
});

/** With headers that `fetch` would not send, or would add. */
function rawMcp(url: string, body: string, headers: Record<string, string>) {
  const all = { 'content-type': 'application/json', ...headers };
  return rawRequest(`${url}/mcp`, { method: 'POST', headers: all, body });
}
