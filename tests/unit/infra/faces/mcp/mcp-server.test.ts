import { describe, expect, it } from 'vitest';
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
