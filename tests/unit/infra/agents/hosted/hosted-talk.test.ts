import { afterEach, describe, expect, it } from 'vitest';
import type { AgentProfile } from '../../../../../router/src/core/hosting/agent-spec.ts';
import { hostedAgentOf } from '../../../../../router/src/infra/agents/hosted/hosted-settings.ts';
import { HostedTalk } from '../../../../../router/src/infra/agents/hosted/hosted-talk.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { StandInServer } from '../../../../doubles/stand-in-server.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

let server: StandInServer | undefined;
afterEach(() => server?.close());

const talk = new HostedTalk({
  ...{ defaultTimeoutMs: 30_000, log: quietLog, clock: holdingClock, transport: new AgentTransport() },
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
