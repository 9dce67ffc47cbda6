import { describe, expect, it } from 'vitest';
import { MemoryNodeHub } from '../../../../doubles/memory-node-hub.ts';
import { ADMIN_KEY } from '../../../../support/http-api.ts';
import { mcpOverHttp } from '../../../../support/mcp-client.ts';
import { JSON_HEADERS, PING, postMcp, startMcpFace, untilAsleep } from '../../../../support/mcp-face.ts';

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
    expect((await rawPost(open.url, 'evil.example')).status).toBe(403);
  });

  it('does not exist while it is off', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY, host: '0.0.0.0' });
    const headers = { 'x-api-key': ADMIN_KEY };
    expect((await postMcp(face.url, headers)).status).toBe(404);
    await face.api.deps.faceSettings.put('mcp', { enabled: true });
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

/** With a Host that `fetch` would not send. */
async function rawPost(url: string, host: string): Promise<{ status: number }> {
  const { request } = await import('node:http');
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}/mcp`,
      { method: 'POST', headers: { ...JSON_HEADERS, host } },
      (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0 });
      },
    );
    outgoing.once('error', reject);
    outgoing.end(PING);
  });
}
