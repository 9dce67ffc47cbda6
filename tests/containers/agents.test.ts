import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import Docker from 'dockerode';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import type { HostedAgent } from '../../router/src/core/hosting/agent-life.ts';
import { AgentFolders } from '../../router/src/features/hosting/agent-folders.ts';
import { DockerEngine } from '../../router/src/features/hosting/docker-engine.ts';
import { DockerRuntime } from '../../router/src/features/hosting/docker-runtime.ts';
import { HttpAgentProbe } from '../../router/src/features/hosting/process-runtime.ts';
import { hostedAgentOf } from '../../router/src/infra/agents/hosted/hosted-kind.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { quietLog } from '../support/quiet-log.ts';
import { engineUnderTest } from './engine-under-test.ts';
import { restartEngine } from './restart-engine.ts';

type DockerRuntimeOptions = ConstructorParameters<typeof DockerRuntime>[0];

type DockerEngineOptions = NonNullable<ConstructorParameters<typeof DockerEngine>[0]>;

/** Fetches the address in its query, and says whether it got an answer. */
const FETCHER = `
require('node:http').createServer(async (request, response) => {
  const to = new URL(request.url, 'http://agent').searchParams.get('to');
  if (!to) return response.end('{}');
  const answer = await fetch(to, { signal: AbortSignal.timeout(2000) }).then(() => 'reached', () => 'not reached');
  response.end(answer);
}).listen(process.env.PORT, '0.0.0.0');
`;

/** Fetches cloud metadata before anything else, and answers with what it got. */
const EAGER = `
fetch('http://169.254.169.254:8000/', { signal: AbortSignal.timeout(2000) }).then(() => 'reached', () => 'not reached').then((got) =>
  require('node:http').createServer((_, response) => response.end(got)).listen(process.env.PORT, '0.0.0.0'));
`;

const PORT = 8_000;
const ADDRESSES = {
  internet: '93.184.216.34',
  machine: '93.184.216.33',
  metadata: '169.254.169.254',
  private: '10.77.0.1',
};
/** Addresses of the machine of the test, and a machine of the internet behind it. */
const OUTSIDE = [
  `addr add ${ADDRESSES.metadata}/32 dev lo`,
  `addr add ${ADDRESSES.private}/32 dev lo`,
  'netns add outside',
  'link add out0 type veth peer name out1 netns outside',
  `addr add ${ADDRESSES.machine}/30 dev out0`,
  'link set out0 up',
  `-n outside addr add ${ADDRESSES.internet}/30 dev out1`,
  '-n outside link set out1 up',
  '-n outside link set lo up',
  `-n outside route add default via ${ADDRESSES.machine}`,
];
const CLEAN_UP = [
  'link del out0',
  'netns del outside',
  `addr del ${ADDRESSES.metadata}/32 dev lo`,
  `addr del ${ADDRESSES.private}/32 dev lo`,
];

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
    open();
  });

  function open({
    allowedNetworks = [],
    ...options
  }: DockerEngineOptions & Partial<Pick<DockerRuntimeOptions, 'allowedNetworks'>> = {}): void {
    const engine = new DockerEngine({ address, ...options });
    runtime = new DockerRuntime({ engine, hostId, user: '1000:1000', allowedNetworks });
    host = new AgentHost({
      ...{ nodeId: 'node-1', clock: systemClock, log: quietLog, probe: new HttpAgentProbe() },
      ...{ registry: new MemoryAgentRegistry(), files: new AgentFolders(folder) },
      runtimes: { docker: runtime, process: runtime },
      limits: { maxRunning: 10, maxBytes: 64 * 1024 * 1024, startMs: 60_000 },
      stopsOnExit: false,
      nodes: { liveNodes: () => ['node-1'], isExpired: () => true },
    });
  }

  afterEach(async () => {
    await host.close();
    for (const { agentId } of await runtime.list()) await runtime.remove(agentId);
    rmSync(folder, { recursive: true, force: true });
  });

  const fetcher = (agentId: string, network: 'internet' | 'none' = 'internet') =>
    hostedAgentOf(agentId, { image: 'agent-base:test', command: ['node', '-e', FETCHER], network });
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

  /** Those of this host: other files may have left some. */
  const ownContainers = async () =>
    (await docker.listContainers({ all: true })).filter(({ Labels }) =>
      Object.values(Labels).includes(hostId),
    );

  async function addressOf(agentId: string): Promise<{ ip: string; gateway: string; port: string }> {
    const instance = await runtime.inspect(agentId);
    const { HostConfig, NetworkSettings } = await docker.getContainer(instance?.id ?? '').inspect();
    const [, other] = /^container:(.+)$/.exec(HostConfig.NetworkMode ?? '') ?? [];
    const networkSettings = other
      ? (await docker.getContainer(other).inspect()).NetworkSettings
      : NetworkSettings;
    const [network] = Object.values(networkSettings.Networks);
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

  describe('with addresses around them', () => {
    let server: Server;
    let outside: ChildProcess;
    beforeAll(async () => {
      mkdirSync('/run/netns', { recursive: true });
      for (const line of OUTSIDE) execFileSync('ip', line.split(' '));
      server = createServer((_, response) => response.end('here')).listen(PORT, '0.0.0.0');
      await once(server, 'listening');
      const program = `require('node:http').createServer((_, response) => response.end('out')).listen(${PORT}, () => console.log('up'))`;
      outside = spawn('ip', ['netns', 'exec', 'outside', process.execPath, '-e', program]);
      await once(outside.stdout as Readable, 'data');
    });
    afterAll(async () => {
      outside.kill();
      server.close();
      for (const line of CLEAN_UP) execFileSync('ip', line.split(' '));
    });

    /** What an agent reaches of the addresses, and of its gateway. */
    async function reached(agent: HostedAgent): Promise<string[]> {
      const { gateway } = await addressOf(agent.agentId);
      const found: string[] = [];
      for (const [name, to] of Object.entries({ ...ADDRESSES, gateway })) {
        if ((await fetched(agent, `http://${to}:${PORT}/`)) === 'reached') found.push(name);
      }
      return found;
    }

    it('answer on their addresses, so that a failure to reach them means something', async () => {
      for (const to of Object.values(ADDRESSES))
        expect((await fetch(`http://${to}:${PORT}/`)).status).toBe(200);
      open({ allowedNetworks: 'any' });
      await host.start(fetcher('agent-a'));
      expect(await reached(fetcher('agent-a'))).toEqual([...Object.keys(ADDRESSES), 'gateway']);
    });

    it('reach public addresses only, from their first program on and after each start', async () => {
      const agent = fetcher('agent-a');
      await host.start(agent);
      expect(await reached(agent)).toEqual(['internet']);
      await host.stop('agent-a');
      await host.start(agent);
      expect(await reached(agent)).toEqual(['internet']);
      const eager = hostedAgentOf('eager', { image: 'agent-base:test', command: ['node', '-e', EAGER] });
      const first = await host.use(eager, async ({ url }) => (await fetch(url)).text());
      expect(first).toBe('not reached');
    });

    it('reach networks that the operator allows', async () => {
      open({ allowedNetworks: ['10.77.0.0/16'] });
      await host.start(fetcher('agent-a'));
      expect(await reached(fetcher('agent-a'))).toEqual(['internet', 'private']);
    });

    it('reach nothing with the network none, and answer', async () => {
      const agent = fetcher('agent-a', 'none');
      await host.start(agent);
      expect(await reached(agent)).toEqual([]);
    });

    it('do not start when the firewall cannot be loaded', async () => {
      open({ allowedNetworks: ['300.0.0.0/8'] });
      await expect(host.start(fetcher('agent-a'))).rejects.toMatchObject({
        code: 'AGENT_START_REFUSED',
        message: expect.stringMatching(/^The firewall of the container could not be loaded: .+nftables/s),
      });
    });

    it('do not reach wa2ai where it runs in a container, which reaches them', async () => {
      const own = await docker.createContainer({
        ...{ name: 'own', Image: 'agent-base:test', Env: ['PORT=8080'], Cmd: ['node', '-e', FETCHER] },
      });
      try {
        await own.start();
        open({ ownContainer: 'own' });
        const agent = fetcher('agent-a');
        await host.start(agent);
        const { ip } = await addressOf('agent-a');
        const { Networks } = (await own.inspect()).NetworkSettings;
        const joined = Object.entries(Networks).find(([name]) => name.startsWith('wa2ai-agent-a'))?.[1];
        expect(await fetched(agent, `http://${joined?.IPAddress}:8080/`)).toBe('not reached');
        const there = await fetch(
          `http://${joined?.IPAddress}:8080/?to=${encodeURIComponent(`http://${ip}:8080/`)}`,
        );
        expect(await there.text()).toBe('reached');
      } finally {
        await own.remove({ force: true });
      }
    });
  });

  it('have no rights on their machine', async () => {
    await host.start(fetcher('agent-a'));
    const instance = await runtime.inspect('agent-a');
    const { HostConfig, Config } = await docker.getContainer(instance?.id ?? '').inspect();
    expect(HostConfig).toMatchObject({ Privileged: false, ReadonlyRootfs: true });
    expect(HostConfig.SecurityOpt?.join()).toContain('no-new-privileges');
    expect(Config.User).toBe('1000:1000');
    expect(JSON.stringify(Config.Env)).not.toMatch(/TOKEN=/);
    const containers = await ownContainers();
    expect(containers).toHaveLength(2);
    for (const { Id } of containers) {
      const { HostConfig } = await docker.getContainer(Id).inspect();
      for (const bindings of Object.values(
        (HostConfig.PortBindings ?? {}) as Record<string, { HostIp: string }[]>,
      ))
        for (const { HostIp } of bindings) expect(HostIp).toBe('127.0.0.1');
    }
  });

  it('leave no container and no network when they do not start', async () => {
    const failing = hostedAgentOf('agent-a', {
      image: 'agent-base:test',
      command: ['node', '-e', 'process.exit(3)'],
    });
    await expect(host.start(failing)).rejects.toThrow('ended with exit code 3');
    const filters = { label: [`wa2ai.host=${hostId}`] };
    await expect.poll(ownContainers).toEqual([]);
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
