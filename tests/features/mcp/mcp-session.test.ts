import { describe, expect, it } from 'vitest';
import type { Scope } from '../../../router/src/core/access/scopes.ts';
import { ADMIN_KEY } from '../../support/http-api.ts';
import { MCP_VERSIONS, mcpOverHttp, toolData, toolError } from '../../support/mcp-client.ts';
import { postMcp, startMcpFace } from '../../support/mcp-endpoint.ts';

describe.each(MCP_VERSIONS)('a session, protocol version %s', (version) => {
  it('lists its tools with schemas of both directions and annotations', async () => {
    const { url } = await startMcpFace();
    const client = await mcpOverHttp(url, { version });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(ALL_TOOLS);
    for (const tool of tools) {
      expect(tool.title, tool.name).toBeTruthy();
      expect(tool.outputSchema?.type, tool.name).toBe('object');
      expect(tool.annotations?.readOnlyHint, tool.name).toBeTypeOf('boolean');
      expect(tool.annotations?.openWorldHint, tool.name).toBeTypeOf('boolean');
    }
    expect(client.getServerVersion()).toMatchObject({ name: 'wa2ai' });
  });

  it('refuses an unknown tool, an unknown cursor and an unknown resource as mistakes of the caller', async () => {
    const { url } = await startMcpFace();
    const client = await mcpOverHttp(url, { version });
    await expect(client.callTool({ name: 'drop_tables' })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('Unknown tool: drop_tables'),
    });
    await expect(client.listResources({ cursor: 'zzz' })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('cursor must be `next` of the page before.'),
    });
    await expect(client.readResource({ uri: 'wa2ai://chats/4711/messages' })).rejects.toMatchObject({
      code: -32_602,
      message: 'Resource not found: wa2ai://chats/4711/messages',
    });
  });
});

/** Each tool with what a key needs for it, besides `mcp`. */
const SCOPES_OF: Record<string, Scope[]> = {
  list_accounts: ['accounts:read'],
  list_chats: ['messages:read'],
  get_chat_messages: ['messages:read'],
  search_messages: ['messages:read'],
  send_whatsapp_message: ['messages:send'],
  ask_person: ['messages:send', 'messages:read'],
  wait_for_message: ['messages:read'],
  get_delivery_status: ['messages:read'],
  list_routes: ['routes:read'],
  explain_route: ['routes:read'],
  set_route: ['routes:write'],
  delete_route: ['routes:write'],
  pause_chat: ['messages:send'],
  resume_chat: ['messages:send'],
  list_dead_letters: ['messages:read'],
  replay_dead_letter: ['messages:send'],
  send_message: ['agents:manage'],
  get_messages: ['agents:manage'],
  list_agents: ['agents:manage'],
  agent_logs: ['agents:manage'],
};
const ALL_TOOLS = Object.keys(SCOPES_OF).sort();

/** Arguments with which each tool gets past its own checks. */
const ARGUMENTS: Record<string, Record<string, unknown>> = {
  get_chat_messages: { chat: '1' },
  search_messages: { text: 'x' },
  send_whatsapp_message: { to: '5493777239922', text: 'x' },
  ask_person: { handle: 'x' },
  wait_for_message: { chat: '1', wait_seconds: 0 },
  get_delivery_status: { message_id: '1' },
  explain_route: { text: 'x', from: '5493777239922' },
  set_route: { channel: '5493777239922', agent_endpoint: 'http://127.0.0.1:9' },
  delete_route: { route_id: '5493777239922' },
  pause_chat: { chat: '1' },
  resume_chat: { chat: '1' },
  replay_dead_letter: { dead_letter_id: '1' },
  send_message: { agent_id: 'helper', message: 'x' },
  get_messages: { agent_id: 'helper' },
  agent_logs: { agent_id: 'helper' },
};

describe('a key', () => {
  it.each(ALL_TOOLS)(
    'uses %s with all of its scopes, and neither sees nor calls it without one',
    async (name) => {
      const face = await startMcpFace({ apiKey: ADMIN_KEY });
      const clientWith = async (scopes: Scope[]) => {
        const headers = { 'x-api-key': await face.api.addKey({ scopes: ['mcp', ...scopes] }) };
        return mcpOverHttp(face.url, { headers });
      };
      const needed = SCOPES_OF[name] ?? [];
      const given = ARGUMENTS[name] ?? {};
      const client = await clientWith(needed);
      expect((await client.listTools()).tools.map((tool) => tool.name)).toContain(name);
      const result = await client.callTool({ name, arguments: given });
      expect(JSON.stringify(result.content)).not.toContain('SCOPE_MISSING');
      for (const missing of needed) {
        const others = needed.filter((scope) => scope !== missing);
        const lacking = await clientWith(others);
        expect((await lacking.listTools()).tools.map((tool) => tool.name)).not.toContain(name);
        expect(await toolError(lacking, name, given)).toBe(
          `The key lacks the scope ${missing}. (SCOPE_MISSING)`,
        );
      }
    },
  );

  it('needs the scope mcp for anything', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY });
    const key = await face.api.addKey({ scopes: ['messages:read', 'messages:send', 'routes:write'] });
    expect(await postMcp(face.url, { 'x-api-key': key })).toMatchObject({
      status: 403,
      code: 'SCOPE_MISSING',
    });
    expect(await postMcp(face.url, {})).toMatchObject({ status: 401 });
    expect(await postMcp(face.url, { 'x-api-key': ADMIN_KEY })).toMatchObject({ status: 200 });
  });

  it('that is restricted to a chat reads, asks, pauses and waits in no other', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY });
    const own = await face.say('hola');
    const other = await face.say('secret');
    const key = await face.api.addKey({
      scopes: ['mcp', 'messages:read', 'messages:send'],
      chats: [own.person.phone],
    });
    const client = await mcpOverHttp(face.url, { headers: { 'x-api-key': key } });
    expect((await toolData(client, 'list_chats')).chats).toMatchObject([{ id: own.chatId }]);
    expect((await toolData(client, 'search_messages', { text: 'secret' })).messages).toEqual([]);
    for (const [name, given] of [
      ['get_chat_messages', { chat: other.chatId }],
      ['pause_chat', { chat: other.chatId }],
      ['wait_for_message', { chat: other.chatId }],
      ['send_whatsapp_message', { to: other.person.phone, text: 'x' }],
      ['ask_person', { to: other.person.phone, text: 'x' }],
      ['get_delivery_status', { message_id: other.messageId }],
    ] as const) {
      expect(await toolError(client, name, given), name).toContain('CHAT_NOT_ALLOWED');
    }
    const uri = `wa2ai://chats/${other.chatId}/messages`;
    await expect(client.readResource({ uri })).rejects.toThrow('CHAT_NOT_ALLOWED');
  });

  it('over its limits gets 429', async () => {
    const face = await startMcpFace({ apiKey: ADMIN_KEY });
    const limits = { perMinute: 1, perSecond: 1 };
    const key = await face.api.addKey({ scopes: ['mcp'], limits });
    expect((await postMcp(face.url, { 'x-api-key': key })).status).toBe(200);
    expect(await postMcp(face.url, { 'x-api-key': key })).toMatchObject({
      status: 429,
      code: 'RATE_LIMITED',
    });
  });
});
