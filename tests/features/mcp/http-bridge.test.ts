import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpBridge } from '../../../router/src/features/mcp/http-bridge.ts';

interface Seen {
  headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes
  message: any;
}

/** A service that answers as the test says, and a bridge to it. */
async function setup(answer: (message: Seen['message'], response: ServerResponse) => void, key?: string) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const message = JSON.parse(text);
      seen.push({ headers: request.headers, message });
      answer(message, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const sent: unknown[] = [];
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connect = async () => ({ url, name: url, key, fetch });
  const bridge = new HttpBridge({ connect, send: async (message) => void sent.push(message) });
  const pass = (message: Record<string, unknown>) =>
    bridge.pass({ jsonrpc: '2.0', ...message } as unknown as JSONRPCMessage);
  return { bridge, pass, seen, sent, url };
}

const json = (response: ServerResponse, body: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

describe('HttpBridge', () => {
  it('passes a request on with the key and the headers of version 2026-07-28', async () => {
    const { pass, seen, sent } = await setup(
      ({ id }, response) => json(response, { jsonrpc: '2.0', id, result: {} }),
      'k',
    );
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    await pass({ id: 1, method: 'tools/call', params: { name: 'list_chats', _meta } });
    await pass({ id: 2, method: 'resources/read', params: { uri: 'wa2ai://chats/ñ/messages', _meta } });
    expect(seen[0]?.headers).toMatchObject({
      'x-api-key': 'k',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'list_chats',
    });
    const encoded = Buffer.from('wa2ai://chats/ñ/messages').toString('base64');
    expect(seen[1]?.headers['mcp-name']).toBe(`=?base64?${encoded}?=`);
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 2, result: {} },
    ]);
  });

  it('names the version of the handshake in later requests', async () => {
    const { pass, seen } = await setup(({ id, method }, response) =>
      json(response, {
        jsonrpc: '2.0',
        id,
        result: method === 'initialize' ? { protocolVersion: '2025-11-25' } : {},
      }),
    );
    await pass({ id: 1, method: 'initialize', params: {} });
    await pass({ id: 2, method: 'tools/list' });
    expect(seen.map(({ headers }) => headers['mcp-protocol-version'])).toEqual([undefined, '2025-11-25']);
    expect(seen.every(({ headers }) => headers['x-api-key'] === undefined)).toBe(true);
  });

  it('passes every event of a stream on, in its order', async () => {
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } };
    const { pass, sent } = await setup(({ id }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: \n\n: keep-alive\n\n');
      response.write(`event: message\ndata: ${JSON.stringify(progress)}\n\n`);
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { ñ: '€' } })}\n\n`);
    });
    await pass({ id: 'a', method: 'tools/call', params: { name: 'x' } });
    expect(sent).toEqual([progress, { jsonrpc: '2.0', id: 'a', result: { ñ: '€' } }]);
  });

  it('closes the connection of a request that the client cancels, and answers it no more', async () => {
    let closed: Promise<unknown> | undefined;
    const { pass, seen, sent } = await setup((_message, response) => {
      closed = once(response, 'close');
    });
    const waiting = pass({ id: 5, method: 'tools/call', params: { name: 'wait_for_message' } });
    await expect.poll(() => seen.length).toBe(1);
    await pass({ method: 'notifications/cancelled', params: { requestId: 5 } });
    await waiting;
    await closed;
    expect(sent).toEqual([]);
    expect(seen).toHaveLength(1);
  });

  it('ends every request when the client is gone', async () => {
    const { bridge, pass, seen, sent } = await setup(() => undefined);
    const waiting = pass({ id: 5, method: 'ping' });
    await expect.poll(() => seen.length).toBe(1);
    bridge.close();
    await waiting;
    expect(sent).toEqual([]);
  });

  it('answers nothing to a notification', async () => {
    const { pass, sent } = await setup((_message, response) => response.writeHead(202).end());
    await pass({ method: 'notifications/initialized' });
    expect(sent).toEqual([]);
  });

  it.each([
    [
      401,
      { success: false, error: 'The key is not known.' },
      /refuses: The key is not known\. The key is that of WA2AI_API_KEY/,
    ],
    [
      404,
      { success: false, error: 'There is nothing at this path.' },
      /The MCP server may be off: PUT \/api\/settings\/mcp/,
    ],
    [502, undefined, /answers with HTTP 502/],
  ])('turns a refusal with %i into an error of the request', async (status, body, sentence) => {
    const { pass, sent } = await setup((_message, response) => json(response, body, status));
    await pass({ id: 1, method: 'ping' });
    expect(sent).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: expect.stringMatching(sentence) } },
    ]);
  });

  it('passes an error of the protocol on, whatever its status', async () => {
    const error = { code: -32_602, message: 'Unknown tool: x' };
    const { pass, sent } = await setup((_message, response) =>
      json(response, { jsonrpc: '2.0', id: null, error }, 400),
    );
    await pass({ id: 1, method: 'tools/call', params: { name: 'x' } });
    expect(sent).toEqual([{ jsonrpc: '2.0', id: 1, error }]);
  });
});
