import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import { adkKind } from '../../../../../router/src/infra/agents/adk/adk-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { serverOf } from '../../../../support/abi.ts';
import { aboutOf, probeOf } from '../../../../support/agent-kinds.ts';

const HEADERS = { Authorization: 'Bearer top-secret-token' };
const deps = { clock: holdingClock, transport: new AgentTransport(), signal: new AbortController().signal };

function findingsAt(agentEndpoint: string, settings: object = {}) {
  return probeOf(adkKind)(agentEndpoint, { appName: 'my_agent', headers: HEADERS, ...settings }, deps);
}

const answering =
  (status: number, body: string): RequestListener =>
  (_request, response) =>
    response.writeHead(status).end(body);

/** An address where nothing listens. */
async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe('the probe of an ADK server', () => {
  it('requests the list of apps with the headers of the route', async () => {
    const requests: unknown[] = [];
    const { url } = await serverOf((request, response) => {
      requests.push([request.url, request.headers.authorization]);
      response.end('["one",{"name":"two"}]');
    });
    const [finding] = await findingsAt(`${url}/`);
    expect(finding?.message).toBe(`The ADK server at ${url} has no agent "my_agent". Its agents: one, two.`);
    expect(requests).toEqual([['/list-apps', 'Bearer top-secret-token']]);
  });

  it('names an abort as no answer in time', async () => {
    const { url } = await serverOf(() => undefined);
    const aborted = { ...deps, signal: AbortSignal.abort() };
    const [finding] = await probeOf(adkKind)(url, { appName: 'my_agent' }, aborted);
    expect(finding?.message).toContain(`${url} cannot be reached: no answer in time`);
  });

  it('throws for an address that cannot be used', async () => {
    await expect(findingsAt('localhost:8000')).rejects.toThrow(AgentProtocolError);
  });
});

describe('the version of an ADK server', () => {
  it.each([
    [200, '{"version":"2.0.0","language":"python"}', '2.0.0'],
    [200, '{"version":2}', undefined],
    [200, 'OK', undefined],
    [404, '{"version":"2.0.0"}', undefined],
  ])('of status %i with %s is %s', async (status, body, version) => {
    const { url } = await serverOf((request, response) => {
      response.writeHead(request.url === '/version' ? status : 500).end(body);
    });
    const about = await aboutOf(adkKind)(url, { appName: 'my_agent' }, deps);
    expect(about?.version).toBe(version);
  });
});

describe('the findings about an ADK route', () => {
  it.each([
    ['lists the agent', 200, '["other","my_agent"]'],
    ['lists no agents, as a server written by hand', 404, 'Not found'],
    ['lists something else', 200, '{"ok":true}'],
  ])('are none when the server %s', async (_case, status, body) => {
    const { url } = await serverOf(answering(status, body));
    expect(await findingsAt(url)).toEqual([]);
  });

  it('name the agents of the server when appName is not among them', async () => {
    const { url } = await serverOf(answering(200, '["one","two"]'));
    expect(await findingsAt('http://127.0.0.1:9', { baseUrl: url })).toEqual([
      {
        code: 'AGENT_APP_UNKNOWN',
        field: 'config.adk.appName',
        message: `The ADK server at ${url} has no agent "my_agent". Its agents: one, two.`,
        phrase: { code: 'probe.no-agent', values: { server: url, name: 'my_agent', names: 'one, two' } },
      },
    ]);
  });

  it('shorten a long list of agents', async () => {
    const names = Array.from({ length: 500 }, (_, n) => `agent${n}`);
    const { url } = await serverOf(answering(200, JSON.stringify(names)));
    const [finding] = await findingsAt(url);
    expect(finding?.message.length).toBeLessThan(450);
  });

  it.each([
    ['agentEndpoint', false],
    ['config.adk.baseUrl', true],
  ])('name the field %s when nothing listens at the address, without a secret', async (field, isBase) => {
    const url = await closedPort();
    const findings = await (isBase ? findingsAt('http://127.0.0.1:9', { baseUrl: url }) : findingsAt(url));
    expect(findings).toMatchObject([
      { code: 'AGENT_UNREACHABLE', field, message: expect.stringContaining('ECONNREFUSED') },
    ]);
    expect(JSON.stringify(findings)).not.toContain('top-secret-token');
  });

  it('name the headers when the server refuses them', async () => {
    const { url } = await serverOf(answering(401, 'who are you with top-secret-token?'));
    const findings = await findingsAt(url);
    expect(findings).toMatchObject([{ code: 'AGENT_ACCESS_DENIED', field: 'config.adk.headers' }]);
    expect(JSON.stringify(findings)).not.toContain('top-secret-token');
  });
});
