import { describe, expect, it } from 'vitest';
import { ADMIN_KEY } from '../../support/http-api.ts';
import { mcpOverHttp } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe('a call over MCP', () => {
  it('is recorded in the audit log, with the tool and what it was about', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY });
    const { chatId } = await face.say('hola');
    const key = await face.api.addKey({ scopes: ['mcp', 'messages:read'] });
    const client = await mcpOverHttp(face.url, { headers: { 'x-api-key': key } });
    await client.callTool({ name: 'get_chat_messages', arguments: { chat: chatId } });
    await client.callTool({ name: 'pause_chat', arguments: { chat: chatId } });
    await client.readResource({ uri: `wa2ai://chats/${chatId}/messages` });
    expect(face.events).toMatchObject([
      { face: 'mcp', caller: 'key', action: 'get_chat_messages', object: chatId, outcome: 'ok' },
      { face: 'mcp', caller: 'key', action: 'pause_chat', outcome: 'SCOPE_MISSING' },
      { face: 'mcp', caller: 'key', action: 'resources/read', object: chatId, outcome: 'ok' },
    ]);
    for (const event of face.events) {
      expect(event).toMatchObject({
        keyId: expect.any(String),
        requestId: expect.any(String),
        address: expect.any(String),
      });
    }
  });
});
