import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { adkKind } from '../../../../../router/src/infra/agents/adk/adk-kind.ts';
import type { AdkSettings } from '../../../../../router/src/infra/agents/adk/adk-run.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import {
  aMessage,
  anEvent,
  isCamel,
  isSnake,
  mockAgentServer,
  never,
  url,
} from '../../../../support/adk-requests.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

mockAgentServer();

function setup() {
  const clock = new FakeClock();
  const transport = new AgentTransport();
  const makeClient = adkKind.client({ defaultTimeoutMs: 7_000, log: quietLog, clock, transport });
  return {
    clock,
    makeClient: (settings: Partial<AdkSettings> = {}) =>
      makeClient({ appName: 'a', ...settings }, { id: 'r1', accountId: 'default' }),
  };
}

describe('adkKind', () => {
  it('sends requests to baseUrl, else to the endpoint of the route', () => {
    expect(adkKind.endpointOf('http://a', { appName: 'a' })).toBe('http://a');
    expect(adkKind.endpointOf('http://a', { appName: 'a', baseUrl: 'http://b' })).toBe('http://b');
  });

  it.each([
    [undefined, 7_000],
    [100, 100],
  ])('ends an attempt with timeoutMs %s after %i ms', async (timeoutMs, expectedMs) => {
    const { clock, makeClient } = setup();
    nock(url).post('/run').reply(never);
    const asked = makeClient({ timeoutMs, dialect: 'snake' }).sendMessage(url, aMessage());
    const failed = expect(asked).rejects.toThrow(`Request to agent timed out after ${expectedMs}ms`);
    await clock.untilSleeping();
    await clock.advanceMs(expectedMs);
    await failed;
  });

  it('shares between its clients what one of them learned about a server', async () => {
    const { makeClient } = setup();
    const actions = { stateDelta: {}, requestedAuthConfigs: {} };
    nock(url)
      .post('/run', isSnake)
      .reply(200, [anEvent('one', { id: 'e1', actions })])
      .post('/run', isCamel)
      .reply(200, [anEvent('two')]);
    expect((await makeClient().sendMessage(url, aMessage())).response).toBe('one');
    expect((await makeClient({ appName: 'b' }).sendMessage(url, aMessage())).response).toBe('two');
  });
});
