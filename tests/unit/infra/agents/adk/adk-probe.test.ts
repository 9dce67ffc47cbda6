import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import {
  adkFindings,
  adkVersion,
  probeAdkServer,
} from '../../../../../router/src/infra/agents/adk/adk-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { serverOf } from '../../../../support/abi.ts';

const HEADERS = { Authorization: 'Bearer top-secret-token' };
const deps = { transport: new AgentTransport(), signal: new AbortController().signal };

function findingsAt(agentEndpoint: string, settings: object = {}) {
  return adkFindings(agentEndpoint, { appName: 'my_agent', headers: HEADERS, ...settings }, deps);
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

describe('probeAdkServer', () => {
  it('requests the list of apps with the headers of the route', async () => {
    const requests: unknown[] = [];
    const { url } = await serverOf((request, response) => {
      requests.push([request.url, request.headers.authorization]);
      response.end('["one",{"name":"two"}]');
    });
    const probe = await probeAdkServer(`${url}/`, { headers: HEADERS }, deps);
    expect(probe).toEqual({ server: url, status: 200, apps: ['one', 'two'] });
    expect(requests).toEqual([['/list-apps', 'Bearer top-secret-token']]);
  });

  it('names an abort as no answer in time', async () => {
    const { url } = await serverOf(() => undefined);
    const probe = await probeAdkServer(url, {}, { ...deps, signal: AbortSignal.abort() });
    expect(probe).toEqual({ server: url, apps: [], problem: 'no answer in time' });
  });

  it('throws for an address that cannot be used', async () => {
    await expect(probeAdkServer('localhost:8000', {}, deps)).rejects.toThrow(AgentProtocolError);
  });
});

describe('adkVersion', () => {
  it.each([
    [200, '{"version":"2.0.0","language":"python"}', '2.0.0'],
    [200, '{"version":2}', undefined],
    [200, 'OK', undefined],
    [404, '{"version":"2.0.0"}', undefined],
  ])('of status %i with %s is %s', async (status, body, version) => {
    const { url } = await serverOf((request, response) => {
      response.writeHead(request.url === '/version' ? status : 500).end(body);
    });
    expect(await adkVersion(url, {}, deps)).toBe(version);
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
