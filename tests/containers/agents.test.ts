import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import type { HostedAgent } from '../../router/src/core/hosting/agent-spec.ts';
import { hostedAgentOf } from '../../router/src/infra/agents/hosted/hosted-settings.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { DockerEngine } from '../../router/src/infra/hosting/docker/docker-engine.ts';
import { DockerRuntime } from '../../router/src/infra/hosting/docker/docker-runtime.ts';
import { AgentFolders } from '../../router/src/infra/hosting/files/agent-folders.ts';
import { HttpAgentProbe } from '../../router/src/infra/hosting/http-agent-probe.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { quietLog } from '../support/quiet-log.ts';
import { engineUnderTest } from './engine-under-test.ts';
import { restartEngine } from './restart-engine.ts';

/** Fetches the address in its query, and says whether it got an answer. */
const FETCHER = `
require('node:http').createServer(async (request, response) => {
  const to = new URL(request.url, 'http://agent').searchParams.get('to');
  if (!to) return response.end('{}');
  const answer = await fetch(to, { signal: AbortSignal.timeout(2000) }).then(() => 'reached', () => 'not reached');
  response.end(answer);
}).listen(process.env.PORT, '0.0.0.0');
`;

const { kind, address } = engineUnderTest();
const docker = new Docker({ socketPath: address.replace('unix://', '') });

describe(`agents in containers of ${kind}`, () => {
  let folder: string;
  let hostId: string;
  let runtime: DockerRuntime;
  let host: AgentHost;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wa2ai-host-'));
    hostId = `node-1-${folder.slice(-6)}`;
    runtime = new DockerRuntime({ engine: new DockerEngine({ address }), hostId, user: '1000:1000' });
    host = new AgentHost({
      ...{ nodeId: 'node-1', clock: systemClock, log: quietLog, probe: new HttpAgentProbe() },
      ...{ registry: new MemoryAgentRegistry(), files: new AgentFolders(folder) },
      runtimes: { docker: runtime, process: runtime },
      limits: { maxRunning: 10, maxBytes: 64 * 1024 * 1024, startMs: 60_000 },
      stopsOnExit: false,
      nodes: { liveNodes: () => ['node-1'], isExpired: () => true },
    });
  });

  afterEach(async () => {
    await host.close();
    for (const { agentId } of await runtime.list()) await runtime.remove(agentId);
    rmSync(folder, { recursive: true, force: true });
  });

  const fetcher = (agentId: string) =>
    hostedAgentOf(agentId, { image: 'agent-base:test', command: ['node', '-e', FETCHER] });
  const chatter = hostedAgentOf('chatter', { image: 'chat-node:test' });

  /** What the agent gets from an address. */
  const fetched = (agent: HostedAgent, to: string) =>
    host.use(agent, async ({ url }) => (await fetch(`${url}/?to=${encodeURIComponent(to)}`)).text());
  const say = (message: string) =>
    host.use(chatter, async ({ url, token }) => {
      const headers = { 'x-api-key': token, 'content-type': 'application/json' };
      const body = JSON.stringify({ message, message_id: message });
      const response = await fetch(`${url}/chat`, { method: 'POST', headers, body });
      return ((await response.json()) as { response: string }).response;
    });

  async function addressOf(agentId: string): Promise<{ ip: string; gateway: string; port: string }> {
    const instance = await runtime.inspect(agentId);
    const { NetworkSettings } = await docker.getContainer(instance?.id ?? '').inspect();
    const [network] = Object.values(NetworkSettings.Networks);
    const { port } = new URL(instance?.url ?? '');
    return { ip: network?.IPAddress ?? '', gateway: network?.Gateway ?? '', port };
  }

  it('cannot reach each other', async () => {
    const [a, b] = [fetcher('agent-a'), fetcher('agent-b')];
    for (const agent of [a, b]) await host.start(agent);
    const own = await addressOf('agent-a');
    const other = await addressOf('agent-b');
    expect(other.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    // The address and the program work.
    expect(await fetched(a, `http://${own.ip}:8080/`)).toBe('reached');
    expect(await fetched(b, `http://${other.ip}:8080/`)).toBe('reached');
    expect(await fetched(a, `http://${other.ip}:8080/`)).toBe('not reached');
    expect(await fetched(b, `http://${own.ip}:8080/`)).toBe('not reached');
    // Nor by the port that the engine opened on this machine.
    for (const host of [own.gateway, other.gateway, '127.0.0.1'])
      expect(await fetched(a, `http://${host}:${other.port}/`), host).toBe('not reached');
  });

  it('have no rights on their machine', async () => {
    await host.start(fetcher('agent-a'));
    const instance = await runtime.inspect('agent-a');
    const { HostConfig, Config } = await docker.getContainer(instance?.id ?? '').inspect();
    expect(HostConfig).toMatchObject({ Privileged: false, ReadonlyRootfs: true });
    expect(HostConfig.SecurityOpt?.join()).toContain('no-new-privileges');
    expect(Config.User).toBe('1000:1000');
    expect(JSON.stringify(Config.Env)).not.toMatch(/TOKEN=/);
    for (const bindings of Object.values(HostConfig.PortBindings as Record<string, { HostIp: string }[]>))
      for (const { HostIp } of bindings) expect(HostIp).toBe('127.0.0.1');
  });

  it('leave no container and no network when they do not start', async () => {
    const failing = hostedAgentOf('agent-a', {
      image: 'agent-base:test',
      command: ['node', '-e', 'process.exit(3)'],
    });
    await expect(host.start(failing)).rejects.toThrow('ended with exit code 3');
    const filters = { label: [`wa2ai.host=${hostId}`] };
    await expect.poll(() => docker.listContainers({ all: true, filters })).toEqual([]);
    await expect.poll(() => docker.listNetworks({ filters })).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'continue after the engine got %s and was started',
    async (signal) => {
      await host.open();
      expect(await say('my name is Ana')).toBe('Nice to meet you, Ana.');
      const before = await runtime.inspect('chatter');
      await restartEngine(signal);
      await expect
        .poll(() => say('who am I').catch((error: Error) => error.message), { timeout: 120_000 })
        .toBe('You are Ana.');
      const instances = await runtime.list();
      expect(instances.map(({ id }) => id)).toEqual([before?.id]);
      // Docker chooses another port at each start; the containers of podman run on.
      if (kind === 'docker') expect(instances[0]?.url).not.toBe(before?.url);
    },
  );
});
