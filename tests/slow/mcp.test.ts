import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  MCP_VERSIONS,
  type McpVersion,
  mcpOverHttp,
  mcpOverStdio,
  toolData,
  toolError,
} from '../support/mcp-client.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';

/** The agent of a test runs without a container. */
const env = { WA2AI_PROCESS_AGENTS: 'on' };
let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env });
});

afterAll(() => bed.close());

/** Nothing listens on the discard port. */
const NOBODY = 'http://127.0.0.1:9';

const TRANSPORTS = ['HTTP', 'stdio'] as const;
const ALL = TRANSPORTS.flatMap((transport) => MCP_VERSIONS.map((version) => ({ transport, version })));

function connect(transport: (typeof TRANSPORTS)[number], version: McpVersion): Promise<Client> {
  return transport === 'HTTP'
    ? mcpOverHttp(bed.service.url, { version })
    : mcpOverStdio(bed.service.url, { version });
}

describe.each(ALL)('the official MCP client, version $version over $transport', ({ transport, version }) => {
  it('sends a message, waits for the reaction, and reads and searches the chat', async () => {
    const client = await connect(transport, version);
    expect((await client.listTools()).tools.length).toBeGreaterThan(15);
    const ana = bed.person();
    const text = `Your order left. ${transport} ${version}`;
    const sent = await toolData(client, 'send_whatsapp_message', {
      to: `+${ana.phone}`,
      text,
      idempotency_key: `order ${transport} ${version}`.replaceAll(' ', '-'),
    });
    expect((await ana.nextReply()).text).toBe(text);
    const waiting = toolData(client, 'wait_for_message', { chat: sent.chatId, after: sent.id });
    await ana.say('Thank you', { to: bed.phone });
    const received = await waiting;
    expect(received).toMatchObject({ status: 'received', messages: [{ text: 'Thank you' }] });
    expect((await ana.nextReply()).text).toContain('Thank you');
    await expect
      .poll(async () => (await toolData(client, 'get_delivery_status', { message_id: sent.id })).state)
      .toMatch(/acked|delivered|read/);
    const found = await toolData(client, 'search_messages', { text: 'order left', channel: ana.phone });
    expect(found.messages).toMatchObject([{ id: sent.id, text }]);
    const uri = `wa2ai://chats/${sent.chatId}/messages`;
    expect(JSON.stringify(await client.readResource({ uri }))).toContain('Thank you');
    expect((await toolData(client, 'list_chats', { limit: 5 })).chats[0]).toMatchObject({ id: sent.chatId });
  });

  it('asks a person and shows progress until the answer comes', async () => {
    const client = await connect(transport, version);
    const bo = bed.person();
    const shown: string[] = [];
    const asking = client.callTool(
      { name: 'ask_person', arguments: { to: bo.phone, text: 'At 5 pm?', wait_seconds: 300 } },
      { onprogress: ({ message }) => void shown.push(message ?? ''), timeout: 300_000 },
    );
    expect((await bo.nextReply()).text).toContain('At 5 pm?');
    await bo.say('At six, please', { to: bed.phone });
    expect((await asking).structuredContent).toMatchObject({ status: 'answered', answer: 'At six, please' });
    expect(shown).toContain('The question waits for the answer of the person.');
    expect((await bo.nextReply()).text).toBe('Thank you, your answer was passed on.');
  });

  it('cancels a wait for an answer, and resumes it by the handle after a crash of the service', async () => {
    const client = await connect(transport, version);
    const cid = bed.person();
    const ask = { to: cid.phone, text: 'Blue or red?', idempotency_key: `color-${transport}-${version}` };
    const canceled = new AbortController();
    const asking = client.callTool(
      { name: 'ask_person', arguments: ask },
      { signal: canceled.signal, timeout: 300_000 },
    );
    expect((await cid.nextReply()).text).toContain('Blue or red?');
    canceled.abort();
    await expect(asking).rejects.toThrow();
    const { handle, status } = await toolData(client, 'ask_person', { ...ask, wait_seconds: 0 });
    expect(status).toBe('waiting');
    await bed.service.end('SIGKILL');
    await bed.restartService(env);
    // The address of the service is another one now.
    const again = await connect(transport, version);
    const answer = again.callTool(
      { name: 'ask_person', arguments: { handle, wait_seconds: 300 } },
      { timeout: 300_000 },
    );
    await cid.say('Blue', { to: bed.phone });
    expect((await answer).structuredContent).toMatchObject({ status: 'answered', answer: 'Blue', handle });
  });

  it('pauses a chat, so that the person gets no answer until it is resumed', async () => {
    const client = await connect(transport, version);
    const dan = bed.person();
    await dan.say('Hello', { to: bed.phone });
    expect((await dan.nextReply()).text).toContain('Hello');
    await toolData(client, 'pause_chat', { chat: `+${dan.phone}`, reason: 'Maria answers.' });
    const id = await dan.say('Anybody?', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'ignored', reason: 'chat-paused' });
    await toolData(client, 'resume_chat', { chat: `+${dan.phone}` });
    await dan.say('Hello again', { to: bed.phone });
    expect((await dan.nextReply()).text).toContain('Hello again');
  });

  it('adds, explains and deletes a route', async () => {
    const client = await connect(transport, version);
    const eva = bed.person();
    const { route } = await toolData(client, 'set_route', {
      channel: eva.phone,
      agent_endpoint: bed.agent.url,
      config: { adk: { appName: 'another' } },
    });
    const explained = await toolData(client, 'explain_route', { text: 'hi', from: eva.phone });
    expect(explained).toMatchObject({ decision: 'route', route: { id: route.id } });
    await toolData(client, 'delete_route', { route_id: route.id });
    const { routes } = await toolData(client, 'list_routes', { channel: eva.phone });
    expect(routes).toEqual([]);
  });

  it('triages and replays a dead letter', async () => {
    const client = await connect(transport, version);
    const fay = bed.person();
    const { route } = await toolData(client, 'set_route', {
      channel: fay.phone,
      agent_endpoint: NOBODY,
      config: { adk: { appName: 'gone' }, failure: { tryForMs: 0 } },
    });
    const id = await fay.say('Is it open?', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({ state: 'dead' });
    const prompt = JSON.stringify(await client.getPrompt({ name: 'triage_dead_letters' }));
    expect(prompt).toContain('Is it open?');
    await toolData(client, 'delete_route', { route_id: route.id });
    const { deadLetters } = await toolData(client, 'list_dead_letters', { channel: fay.phone });
    const given = { dead_letter_id: deadLetters[0].id };
    expect(await toolData(client, 'replay_dead_letter', given)).toMatchObject({ status: 'replayed' });
    expect((await fay.nextReply()).text).toContain('Is it open?');
    expect(await toolError(client, 'replay_dead_letter', given)).toContain('ALREADY_REPLAYED');
  });
});

describe.each(TRANSPORTS)('tools for agents over %s', (transport) => {
  it('create an agent, which remembers a name after a restart of the service', async () => {
    const server = join(repositoryRoot, 'examples/agents/chat-node/server.js');
    const hosted = { runtime: 'process', command: [process.execPath, server], per: 'route' };
    // Matches no person: the route only says how new agents run.
    const channelId = bed.person().phone;
    const route = await bed.service.addRoute(channelId, undefined, { config: { adk: undefined, hosted } });
    const settings = { enabled: true, agentRouteId: route.id };
    await bed.service.api('PUT', '/api/settings/mcp', settings);
    const agent_id = `helper-${transport.toLowerCase()}`;
    const client = await connect(transport, '2026-07-28');
    const given = { agent_id, message: 'my name is Ana', wait_seconds: 60 };
    expect(await toolData(client, 'send_message', given)).toMatchObject({
      ...{ status: 'success', created: true, response: 'Nice to meet you, Ana.' },
    });
    await bed.service.end('SIGTERM');
    await bed.restartService(env);
    const again = await connect(transport, '2025-11-25');
    const asked = await toolData(again, 'send_message', { agent_id, message: 'who am I', wait_seconds: 60 });
    expect(asked).toMatchObject({ created: false, response: 'You are Ana.' });
    const { messages } = await toolData(again, 'get_messages', { agent_id, count: 2 });
    expect(messages).toEqual([
      { role: 'user', content: 'who am I' },
      { role: 'assistant', content: 'You are Ana.' },
    ]);
    const { agents } = await toolData(again, 'list_agents');
    expect(agents).toContainEqual(
      expect.objectContaining({ agent_id, status: 'idle', isolation: 'none', route_id: route.id }),
    );
    expect((await toolData(again, 'agent_logs', { agent_id })).lines.length).toBeGreaterThan(0);
  });
});

it('`wa2ai mcp` says where it looks when the service does not answer', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.close();
  await once(server, 'close');
  await expect(mcpOverStdio(url, { version: '2025-11-25' })).rejects.toThrow(
    `wa2ai does not answer at ${url} (ECONNREFUSED). Start it, or name its address: wa2ai mcp URL.`,
  );
});
