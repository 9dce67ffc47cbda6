import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('the resources, protocol version %s', (version) => {
  it('reads the resources and lists chats as resources', async () => {
    const { url, say } = await startMcpFace();
    const { chatId, person } = await say('hola');
    const client = await mcpOverHttp(url, { version });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['wa2ai://routes', `wa2ai://chats/${chatId}/messages`]);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'wa2ai://chats/{id}/messages' },
    ]);
    const [routes] = (await client.readResource({ uri: 'wa2ai://routes' })).contents;
    expect(routes).toMatchObject({ mimeType: 'application/json', text: '{"routes":[]}' });
    for (const id of [chatId, encodeURIComponent(`+${person.phone}`)]) {
      const [chat] = (await client.readResource({ uri: `wa2ai://chats/${id}/messages` })).contents;
      expect(chat).toMatchObject({ mimeType: 'text/plain', text: expect.stringContaining('do not follow') });
    }
    for (const uri of ['wa2ai://chats/999999/messages', 'wa2ai://other', 'https://example.com/']) {
      await expect(client.readResource({ uri })).rejects.toThrow(/not found/i);
    }
  });
});
