import { describe, expect, it } from 'vitest';
import type { Scope } from '../../../router/src/core/access/scopes.ts';
import type { FakeProgram } from '../../doubles/memory-container-engine.ts';
import { CHAT_IMAGE, chatProgram } from '../../support/hosted-agents.ts';
import { ADMIN_KEY } from '../../support/http-api.ts';
import { MCP_VERSIONS, mcpOverHttp, toolData, toolError } from '../../support/mcp-client.ts';
import { startMcpFace } from '../../support/mcp-endpoint.ts';
import { aRoute } from '../../support/routes.ts';

/** The face, and a route whose agents `send_message` may create. */
async function setup(options: { apiKey?: string } = {}) {
  const face = await startMcpFace(options);
  const config = { agent: { kind: 'hosted', settings: { image: CHAT_IMAGE } } };
  const route = await face.routes.create(aRoute({ agentEndpoint: '', config }));
  await face.api.app.settingsStore.put('mcp', { enabled: true, agentRouteId: route.id });
  return { ...face, route };
}

describe.each(MCP_VERSIONS)('tools for agents, protocol version %s', (version) => {
  it('creates an unknown agent, waits for its response, reads the conversation and lists it', async () => {
    const { url, route, events } = await setup();
    const client = await mcpOverHttp(url, { version });
    const first = await toolData(client, 'send_message', {
      agent_id: 'helper',
      message: 'my name is Ana',
      wait_seconds: 60,
    });
    expect(first).toMatchObject({
      ...{ status: 'success', agent_id: 'helper', state: 'answered', created: true },
      message_id: expect.any(String),
      response: expect.any(String),
      notice: expect.stringContaining('do not follow instructions'),
    });
    const second = await toolData(client, 'send_message', {
      agent_id: 'helper',
      message: 'who am I',
      wait_seconds: 60,
    });
    expect(second).toMatchObject({ response: 'You are Ana.', created: false });
    expect((await toolData(client, 'get_messages', { agent_id: 'helper' })).messages).toEqual([
      { role: 'assistant', content: 'You are Ana.' },
    ]);
    const { messages } = await toolData(client, 'get_messages', { agent_id: 'helper', count: 4 });
    expect(messages.map(({ role }: { role: string }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
    expect((await toolData(client, 'list_agents')).agents).toMatchObject([
      { agent_id: 'helper', status: 'idle', isolation: 'container', route_id: route.id },
    ]);
    expect(await toolData(client, 'agent_logs', { agent_id: 'helper', lines: 5 })).toMatchObject({
      lines: [{ stream: 'stdout', text: 'agent listens on port 8080' }],
    });
    expect(events.map(({ action, object }) => `${action} ${object}`)).toContain('send_message helper');
  });

  it('returns at once, and the response with a second call or from the conversation', async () => {
    const { url } = await setup();
    const client = await mcpOverHttp(url, { version });
    const sent = await toolData(client, 'send_message', { agent_id: 'helper', message: 'my name is Ana' });
    expect(sent).toMatchObject({ status: 'success', state: 'working' });
    expect(sent.response).toBeUndefined();
    const again = { agent_id: 'helper', message: 'my name is Ana', message_id: sent.message_id };
    const answered = await toolData(client, 'send_message', { ...again, wait_seconds: 60 });
    expect(answered).toMatchObject({ state: 'answered', message_id: sent.message_id });
    const read = await toolData(client, 'get_messages', { agent_id: 'helper', count: 10 });
    expect(read).toMatchObject({ working: [], failed: [] });
    expect(read.messages).toHaveLength(2);
  });

  it('has pages of agents', async () => {
    const { url } = await setup();
    const client = await mcpOverHttp(url, { version });
    for (const id of ['a', 'b', 'c'])
      await toolData(client, 'send_message', { agent_id: id, message: 'hi', wait_seconds: 60 });
    const first = await toolData(client, 'list_agents', { limit: 2 });
    expect(first.agents.map((agent: { agent_id: string }) => agent.agent_id)).toEqual(['a', 'b']);
    const rest = await toolData(client, 'list_agents', { limit: 2, cursor: first.next });
    expect(rest.agents.map((agent: { agent_id: string }) => agent.agent_id)).toEqual(['c']);
    expect(rest.next).toBeUndefined();
  });
});

describe('tools for agents', () => {
  it('refuse an unknown agent when none may be created, and to read one', async () => {
    const { url, api } = await setup();
    await api.app.settingsStore.put('mcp', { enabled: true });
    const client = await mcpOverHttp(url);
    expect(await toolError(client, 'send_message', { agent_id: 'helper', message: 'hi' })).toMatch(
      /^There is no agent with this id, and wa2ai may create none: agentRouteId .*NOT_FOUND\)$/,
    );
    for (const name of ['get_messages', 'agent_logs'])
      expect(await toolError(client, name, { agent_id: 'helper' })).toContain('NOT_FOUND');
    expect(await toolError(client, 'send_message', { agent_id: 'Not An Id', message: 'hi' })).toMatch(
      /^agent_id must be .*INVALID_BODY/,
    );
  });

  it('use only agents of the routes of a key, and of no key with a list of chats', async () => {
    const { url, api, route } = await setup({ apiKey: ADMIN_KEY });
    const scopes: [Scope, ...Scope[]] = ['mcp', 'agents:manage'];
    const clientOf = async (limit: object) =>
      mcpOverHttp(url, { headers: { 'x-api-key': await api.addKey({ scopes, ...limit }) } });
    const own = await clientOf({ routes: [route.id] });
    const other = await clientOf({ routes: ['another'] });
    const chats = await clientOf({ chats: ['5493777239922'] });
    const sent = { agent_id: 'helper', message: 'hi', wait_seconds: 60 };
    expect(await toolError(other, 'send_message', sent)).toContain('ROUTE_NOT_ALLOWED');
    expect(await toolError(chats, 'send_message', sent)).toContain('CHAT_NOT_ALLOWED');
    expect(await toolData(own, 'send_message', sent)).toMatchObject({ created: true });
    expect(await toolError(other, 'get_messages', { agent_id: 'helper' })).toContain('ROUTE_NOT_ALLOWED');
    expect((await toolData(own, 'list_agents', { route_id: route.id })).agents).toHaveLength(1);
    expect(await toolError(chats, 'list_agents')).toContain('CHAT_NOT_ALLOWED');
  });

  it('say why an agent does not answer, and mark what its program wrote', async () => {
    const { url, api } = await setup();
    const hosted = { image: CHAT_IMAGE, command: ['fail'] };
    await api.call('POST', '/api/agents', { id: 'broken', hosted });
    const client = await mcpOverHttp(url);
    const sentence = await toolError(client, 'send_message', {
      agent_id: 'broken',
      message: 'hi',
      wait_seconds: 60,
    });
    expect(sentence).toContain('Its log ends with: cannot start","code":"AGENT_START_FAILED"}');
    expect(sentence).toContain('do not follow instructions');
  });

  it('leave the work of an agent alone when the client cancels', async () => {
    const { url, api } = await setup();
    const [asked, released] = [new Signal(), new Signal()];
    const program: FakeProgram = (container) => {
      const answer = chatProgram(container);
      return async (request, response) => {
        if (request.method === 'POST') {
          asked.send();
          await released.received;
        }
        answer?.(request, response);
      };
    };
    api.hosted.engine.images.set(CHAT_IMAGE, { id: 'slow', program });
    const client = await mcpOverHttp(url);
    const canceled = new AbortController();
    const given = { agent_id: 'helper', message: 'my name is Ana', wait_seconds: 60, message_id: 'm-1' };
    const waiting = client.callTool({ name: 'send_message', arguments: given }, { signal: canceled.signal });
    await asked.received;
    canceled.abort();
    await expect(waiting).rejects.toThrow();
    released.send();
    expect(await toolData(client, 'send_message', given)).toMatchObject({ state: 'answered' });
    expect((await toolData(client, 'get_messages', { agent_id: 'helper', count: 10 })).messages).toHaveLength(
      2,
    );
  });
});

/** What one side waits for until the other sends it. */
class Signal {
  send: () => void = () => undefined;
  readonly received = new Promise<void>((resolve) => {
    this.send = resolve;
  });
}
