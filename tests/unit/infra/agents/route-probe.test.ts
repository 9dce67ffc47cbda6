import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RouteProbe } from '../../../../router/src/infra/agents/route-probe.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../../../router/src/infra/agents/transport/egress.ts';
import { A2aDouble } from '../../../doubles/a2a-agent.ts';
import { NpcDouble } from '../../../doubles/npc-agent.ts';
import { serverOf } from '../../../support/abi.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const HEADERS = { Authorization: 'Bearer top-secret-token' };

function setup(policy: 'private' | 'public' = 'private') {
  const clock = new FakeClock();
  const transport = new AgentTransport(new Egress(policy));
  return { clock, probe: new RouteProbe({ clock, transport }) };
}

function adkRoute(agentEndpoint: string, settings: object = {}) {
  return {
    agentEndpoint,
    config: { agent: { kind: 'adk', settings: { appName: 'my_agent', headers: HEADERS, ...settings } } },
  };
}

function abiRoute(agentEndpoint: string, functions: unknown = ['f()']) {
  return { agentEndpoint, config: { agent: { kind: 'abi', settings: { functions, headers: HEADERS } } } };
}

/** An address where nothing listens. */
async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe('the test of a route', () => {
  it('names the kind, what the probe found, and how long it took', async () => {
    const { probe } = setup();
    expect(await probe.test(adkRoute(await closedPort()))).toEqual({
      kind: 'adk',
      isProbed: true,
      findings: [expect.objectContaining({ code: 'AGENT_UNREACHABLE' })],
      milliseconds: expect.any(Number),
    });
  });

  it('shows what the agent says about itself, within bounds', async () => {
    const { url } = await serverOf((request, response) => {
      const apps = Array.from({ length: 150 }, (_, n) => `app${n}${'x'.repeat(n)}`);
      response.end(
        request.url === '/version' ? '{"version":"2.0.0"}' : JSON.stringify(['my_agent', ...apps]),
      );
    });
    const { about } = await setup().probe.test(adkRoute(url));
    expect(about).toMatchObject({ version: '2.0.0' });
    expect(about?.capabilities).toHaveLength(100);
    expect(about?.capabilities[0]).toBe('agent my_agent');
    expect(Math.max(...(about?.capabilities ?? []).map(({ length }) => length))).toBe(100);
  });

  it('has nothing to probe when the stored config cannot be used', async () => {
    const { probe } = setup();
    const found = await probe.test({ agentEndpoint: 'http://localhost:8000', config: {} });
    expect(found).toEqual({ isProbed: false, findings: [], milliseconds: 0 });
  });
});

describe('the card of a route', () => {
  const card = (agentEndpoint: string, kind: string, settings: object = {}) =>
    setup().probe.card({ agentEndpoint, config: { agent: { kind, settings } } });

  it('is that of an NPC agent, with its capabilities and login', async () => {
    const agent = await NpcDouble.start({ apiKey: 'npc-key-1' });
    onTestFinished(() => agent.stop());
    expect(await card(agent.url, 'npc', { apiKey: 'npc-key-1' })).toMatchObject({
      kind: 'npc',
      card: {
        url: `${agent.url}/.well-known/agent-card`,
        name: 'NPC Engine Agent',
        version: '1.0.0',
        capabilities: expect.arrayContaining(['duel', 'quest']),
        skills: [],
        authentication: ['api-key, in the header X-API-Key'],
      },
    });
    agent.options.card = null;
    expect(await card(agent.url, 'npc')).toEqual({
      kind: 'npc',
      problem: 'The agent sends no card.',
      phrase: { code: 'probe.no-card' },
    });
  });

  it('is that of an A2A agent, with its skills and interfaces', async () => {
    const securitySchemes = {
      key: {
        scheme: {
          $case: 'apiKeySecurityScheme' as const,
          value: { description: '', location: 'header', name: 'X-Key' },
        },
      },
    };
    const agent = await A2aDouble.start({ card: { securitySchemes } });
    onTestFinished(() => agent.stop());
    expect(await card(agent.url, 'a2a')).toMatchObject({
      kind: 'a2a',
      card: {
        url: `${agent.url}/.well-known/agent-card.json`,
        name: 'A2A stand-in',
        description: 'An agent for tests',
        interfaces: expect.arrayContaining(['JSONRPC 1.0']),
        capabilities: ['streaming'],
        skills: [expect.objectContaining({ name: expect.any(String) })],
        authentication: ['API key, in the header X-Key'],
      },
    });
  });

  it('says why there is none, without secrets', async () => {
    const away = await closedPort();
    for (const kind of ['npc', 'a2a']) {
      const answer = await card(away, kind, { apiKey: 'npc-key-1' });
      expect(answer).toMatchObject({ kind, problem: expect.stringContaining('does not send its card') });
      expect(JSON.stringify(answer)).not.toContain('npc-key-1');
    }
    expect(await setup().probe.card(adkRoute(away))).toEqual({
      kind: 'adk',
      problem: 'Agents of this kind have no card.',
      phrase: { code: 'probe.kind-without-card' },
    });
  });
});

describe('the probe of an ADK route', () => {
  it('waits two seconds for a server that does not respond', async () => {
    const requests = new EventEmitter();
    const { url } = await serverOf(() => requests.emit('request'));
    const { clock, probe } = setup();
    const asked = once(requests, 'request');
    const found = probe.findings(adkRoute(url));
    await asked;
    await clock.advanceMs(2_000);
    expect(await found).toMatchObject([
      { code: 'AGENT_UNREACHABLE', message: expect.stringContaining('no answer in time') },
    ]);
  });

  it('sends nothing to an address that the egress policy refuses', async () => {
    let requests = 0;
    const { url } = await serverOf((_request, response) => {
      requests += 1;
      response.end('[]');
    });
    const findings = await setup('public').probe.findings(adkRoute(url));
    expect(findings).toMatchObject([
      { code: 'AGENT_UNREACHABLE', message: expect.stringContaining('WA2AI_EGRESS=public') },
    ]);
    expect(requests).toBe(0);
  });
});

describe('refused addresses of a route', () => {
  it('are those of the endpoint and of its settings, by their fields', () => {
    const { probe } = setup();
    const metadata = 'http://169.254.169.254';
    expect(probe.refusedAddresses(adkRoute(metadata, { baseUrl: `${metadata}/x` }))).toMatchObject([
      { field: 'agentEndpoint' },
      { field: 'config.adk.baseUrl' },
    ]);
    expect(probe.refusedAddresses(abiRoute('http://127.0.0.1', `${metadata}/abi.json`))).toEqual([
      {
        field: 'config.abi.functions',
        message: expect.stringContaining('cloud metadata'),
        phrase: {
          code: 'field.refused',
          values: {
            why: { code: 'egress.metadata', values: { address: '169.254.169.254', policy: 'private' } },
          },
        },
      },
    ]);
  });
});
