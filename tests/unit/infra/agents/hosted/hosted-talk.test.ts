import { afterEach, describe, expect, it } from 'vitest';
import type { AgentProfile } from '../../../../../router/src/core/hosting/agent-life.ts';
import { createAgentClients } from '../../../../../router/src/infra/agents/agent-clients.ts';
import { hostedAgentOf } from '../../../../../router/src/infra/agents/hosted/hosted-kind.ts';
import { HostedTalk } from '../../../../../router/src/infra/agents/hosted/hosted-talk.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../../router/src/infra/agents/transport/egress.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { A2aDouble } from '../../../../doubles/a2a-agent.ts';
import { StandInServer } from '../../../../doubles/stand-in-server.ts';
import { ChatStore } from '../../../../support/a2a.ts';
import { errorOf } from '../../../../support/adk-requests.ts';
import { AGENT_KIND_SUBJECTS } from '../../../../support/agent-kind-subjects.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

let server: StandInServer | undefined;
afterEach(() => server?.close());

const talk = new HostedTalk({
  ...{ defaultTimeoutMs: () => 30_000, log: quietLog, clock: holdingClock, transport: new AgentTransport() },
});

/** The history of an agent whose server answers as given, and the paths that it was asked for. */
async function historyOf(profile: Exclude<AgentProfile, 'swerex'>, answers: Record<string, unknown>) {
  const opened = await StandInServer.start(({ path }) =>
    path in answers ? { body: answers[path] } : { status: 404, body: { detail: 'Session not found' } },
  );
  server = opened;
  const agent = hostedAgentOf('helper', { image: 'agent:1', profile });
  const conversation = { from: 'api', channelId: 'helper' };
  const options = { count: 2, signal: new AbortController().signal };
  const messages = await talk.history(agent, { url: opened.url, token: 'a-token' }, conversation, options);
  return { messages, requests: opened.requests };
}

describe('the history of a hosted agent', () => {
  const events = [
    { content: { role: 'user', parts: [{ text: 'one' }] } },
    { content: { role: 'model', parts: [{ text: 'two' }] } },
  ];
  const said = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
  ];

  it('of the profile adk is the session of programs in the only app', async () => {
    const { messages, requests } = await historyOf('adk', {
      '/list-apps': ['greeter'],
      '/apps/greeter/users/api/sessions/api_helper': { events },
    });
    expect(messages).toEqual(said);
    for (const { headers } of requests) expect(headers['x-api-key']).toBe('a-token');
  });

  it('of the profile adk is empty when nothing was said', async () => {
    expect((await historyOf('adk', { '/list-apps': ['greeter'] })).messages).toEqual([]);
  });

  it('of the profile chat is what the agent answers', async () => {
    const path = '/history?count=2&session_id=api_helper';
    expect((await historyOf('chat', { [path]: { messages: said } })).messages).toEqual(said);
    await expect(historyOf('chat', {})).rejects.toMatchObject({ code: 'AGENT_PROTOCOL' });
  });

  it.each(['abi', 'a2a', 'agentcore'] as const)('of the profile %s cannot be read', async (profile) => {
    await expect(historyOf(profile, {})).rejects.toMatchObject({ code: 'AGENT_NO_HISTORY' });
  });
});

describe('a hosted agent of a service whose agents must be at public addresses', () => {
  const deps = {
    ...{ defaultTimeoutMs: () => 30_000, log: quietLog, clock: holdingClock },
    transport: new AgentTransport(new Egress('public')),
  };
  const { clientOf } = createAgentClients(deps);
  const talk = new HostedTalk({ ...deps, clientOf });
  const message = {
    ...{ id: 'm1', accountId: 'default', from: '5491@s.whatsapp.net', channelId: '5491' },
    ...{ text: 'hello', timestamp: new Date(0) },
  };
  const agentOf = (profile: Exclude<AgentProfile, 'swerex'>, options?: Record<string, unknown>) =>
    hostedAgentOf('helper', { image: 'agent:1', profile, ...(options && { options }) });
  /** Of a card, as a container writes it. */
  const interfaceAt = (url: string) => ({
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  });

  it.each(['adk', 'abi'] as const)('answers with the profile %s', async (profile) => {
    const { start, settings } = AGENT_KIND_SUBJECTS.find(({ name }) => name === profile) ?? {};
    const opened = await start?.();
    server = opened;
    const running = { url: opened?.url ?? '', token: 'a-token' };
    expect(await talk.ask(agentOf(profile, settings), running, message)).toMatchObject({
      response: expect.stringContaining('hello'),
    });
    expect(opened?.requests.at(-1)?.headers['x-api-key']).toBe('a-token');
  });

  it.each([
    ['chat', '/chat'],
    ['agentcore', '/invocations'],
  ] as const)('answers with the profile %s', async (profile, path) => {
    const opened = await StandInServer.start((request) =>
      request.path === path ? { body: { response: 'hello to you' } } : { status: 404 },
    );
    server = opened;
    const running = { url: opened.url, token: 'a-token' };
    expect(await talk.ask(agentOf(profile), running, message)).toMatchObject({ response: 'hello to you' });
  });

  it('answers with the profile a2a at the address that its card names inside of its container', async () => {
    const agent = await A2aDouble.start({ card: interfaceAt('http://0.0.0.0:8080/a2a') });
    try {
      const running = { url: agent.url, token: 'a-token' };
      const answer = await talk.ask(agentOf('a2a'), running, message);
      expect(answer.response).toBe('echo: hello');
      expect(agent.requests.at(-1)?.headers['x-api-key']).toBe('a-token');
    } finally {
      await agent.stop();
    }
  });

  it('is not followed to other private addresses', async () => {
    const agent = await A2aDouble.start({ card: interfaceAt('http://10.1.2.3/a2a') });
    try {
      const asked = talk.ask(agentOf('a2a'), { url: agent.url, token: 'a-token' }, message);
      expect(await errorOf(asked)).toMatchObject({ code: 'AGENT_ADDRESS_REFUSED' });
    } finally {
      await agent.stop();
    }
  });

  it('with the profile a2a gets a message once, when an attempt may have delivered it', async () => {
    let isCut = true;
    const agent = await A2aDouble.start({
      streaming: false,
      // the agent gets the message, and its answer is lost
      misbehave: ({ path }, response) => {
        if (isCut && path.startsWith('/a2a')) response.end = () => response.socket?.destroy() as never;
        return false;
      },
    });
    try {
      const store = new ChatStore();
      const running = { url: agent.url, token: 'a-token' };
      await errorOf(talk.ask(agentOf('a2a'), running, message, { store }));
      isCut = false;
      const second = await talk.ask(agentOf('a2a'), running, message, { store });
      expect(second.response).toBe('echo: hello');
      expect(agent.messages).toHaveLength(1);
    } finally {
      await agent.stop();
    }
  });
});
