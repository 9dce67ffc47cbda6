import nock from 'nock';
import { describe, expect, it } from 'vitest';
import type { Route } from '../../../../router/src/core/models.ts';
import { createAgentClients } from '../../../../router/src/infra/agents/agent-clients.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { HttpAgentClient } from '../../../../router/src/infra/http-agent-client.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { mockNetwork } from '../../../support/mocked-network.ts';
import { quietLog } from '../../../support/quiet-log.ts';

function aRoute(changes: Partial<Route> = {}): Route {
  return {
    id: 'r1',
    accountId: 'main',
    channelId: '*',
    agentEndpoint: 'http://localhost:8000',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: { agent: { kind: 'adk', settings: { appName: 'a' } } },
    createdAt: new Date(0),
    updatedAt: new Date(0),
    ...changes,
  };
}

const message = {
  id: 'm',
  from: '5491@s.whatsapp.net',
  channelId: '5491',
  text: 'x',
  timestamp: new Date(0),
};

function agentClients(clock = new FakeClock()) {
  return createAgentClients({
    defaultTimeoutMs: () => 1_000,
    log: quietLog,
    clock,
    transport: new AgentTransport(),
  });
}

mockNetwork();

describe('createAgentClients', () => {
  it('returns the same HttpAgentClient for an ADK route until the route changes', () => {
    const clients = agentClients();
    const first = clients.clientFor(aRoute());
    expect(first).toBeInstanceOf(HttpAgentClient);
    expect(clients.clientFor(aRoute())).toBe(first);
    expect(clients.clientFor(aRoute({ updatedAt: new Date(1) }))).not.toBe(first);
    expect(clients.clientFor(aRoute({ id: 'r2' }))).not.toBe(first);
  });

  it('refuses a route of an unknown kind, and names the route', () => {
    expect(() => agentClients().clientFor(aRoute({ config: {} }))).toThrow(/Route r1 .*"adk"/);
  });

  it.each([
    ['of the route', 250, 250],
    ['of the service', undefined, 1_000],
  ])('uses the time limit %s', async (_case, timeoutMs, expected) => {
    const clock = new FakeClock();
    const route = aRoute({ config: { agent: { kind: 'adk', settings: { appName: 'a', timeoutMs } } } });
    nock('http://localhost:8000')
      .post('/run')
      .reply(() => new Promise(() => undefined));
    const asked = agentClients(clock).clientFor(route).sendMessage(route.agentEndpoint, message);
    const failed = expect(asked).rejects.toThrow(`Request to agent timed out after ${expected}ms`);
    await clock.untilSleeping();
    await clock.advanceMs(expected);
    await failed;
    nock.abortPendingRequests();
  });

  it('shares the detected spelling of a server between routes', async () => {
    const clients = agentClients();
    nock('http://localhost:8000')
      .post('/run', (body) => 'app_name' in body)
      .reply(404, 'Session not found')
      .post('/apps/a/users/5491/sessions/5491_5491')
      .reply(200, {})
      .post('/run', (body) => 'appName' in body)
      .times(2)
      .reply(200, []);
    for (const id of ['r1', 'r2']) {
      const answer = await clients.clientFor(aRoute({ id })).sendMessage('http://localhost:8000', message);
      expect(answer.success).toBe(true);
    }
    expect(nock.isDone()).toBe(true);
  });
});
