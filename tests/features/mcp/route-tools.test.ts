import { describe, expect, it } from 'vitest';
import { MCP_VERSIONS, mcpOverHttp, toolData, toolError } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('tools for routes, protocol version %s', (version) => {
  it('adds, changes, explains, lists and deletes a route', async () => {
    const { url } = await startMcpFace();
    const client = await mcpOverHttp(url, { version });
    const config = { adk: { appName: 'my_agent' } };
    const { route } = await toolData(client, 'set_route', {
      channel: '*',
      agent_endpoint: 'http://127.0.0.1:9000',
      config,
    });
    expect(route).toMatchObject({ channelId: '*', config });
    const changed = await toolData(client, 'set_route', { route_id: route.id, name: 'Front desk' });
    expect(changed.route).toMatchObject({ id: route.id, name: 'Front desk', config });
    expect((await toolData(client, 'list_routes')).routes).toMatchObject([{ id: route.id }]);
    expect(await toolData(client, 'explain_route', { text: 'hola', from: '5493777239922' })).toHaveProperty(
      'sentence',
    );
    expect(await toolError(client, 'set_route', { channel: '*' })).toMatch(
      /agent_endpoint is missing.*INVALID_BODY/,
    );
    expect((await toolData(client, 'delete_route', { route_id: route.id })).route.id).toBe(route.id);
    expect(await toolError(client, 'delete_route', { route_id: route.id })).toContain('NOT_FOUND');
  });
});
