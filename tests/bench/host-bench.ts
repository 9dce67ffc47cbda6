import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import type { RunningAgent } from '../../router/src/core/ports/agent-registry.ts';
import type { AgentRuntime } from '../../router/src/core/ports/agent-runtime.ts';
import { AgentFolders } from '../../router/src/features/hosting/agent-folders.ts';
import { DockerEngine } from '../../router/src/features/hosting/docker-engine.ts';
import { DockerRuntime } from '../../router/src/features/hosting/docker-runtime.ts';
import { HttpAgentProbe, ProcessRuntime } from '../../router/src/features/hosting/process-runtime.ts';
import { createAgentClients } from '../../router/src/infra/agents/agent-clients.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { quietLog } from '../support/quiet-log.ts';
import { repositoryRoot } from '../support/repository.ts';
import { aRoute } from '../support/routes.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { Cluster } from './cluster.ts';
import { type BenchGround, withGround } from './ground.ts';
import type { HostResults } from './host-report.ts';
import { cpuSeconds, median } from './statistics.ts';

/** Messages of a round to a running agent, by wa2ai and by fetch each. */
const TRIPS = 100;
const STOPPED = 20;
const RUNNING = 5;
const USER = '1000:1000';
const SERVER = join(repositoryRoot, 'examples/agents/chat-node/server.js');

export interface HostBenchOptions {
  rounds: number;
  /** How long the idle node is watched, in seconds. */
  idleSeconds: number;
  /** Image of examples/agents/chat-node, on the engine already. */
  image: string;
}

/** Where the example agent runs. */
interface Place {
  title: string;
  hosted: Record<string, unknown>;
  /** A folder for agents of this process. */
  folder: string;
  runtime: AgentRuntime;
  env: Record<string, string>;
}

/**
 * `npm run bench -- --host`: examples/agents/chat-node as processes, and as containers when an engine answers. Wakes and
 * idle time are those of a node, through its API; what a message costs is that of the client of routes.
 */
export async function benchHost(options: HostBenchOptions): Promise<HostResults[]> {
  const folder = await mkdtemp(join(tmpdir(), 'wa2ai-bench-agents-'));
  const results: HostResults[] = [];
  try {
    await withGround(async (ground) => {
      for (const place of await places(folder, options.image)) {
        const message = await benchMessages(place, options.rounds);
        results.push({ title: place.title, message, ...(await benchNode(ground, place, options)) });
      }
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return results;
}

async function places(folder: string, image: string): Promise<Place[]> {
  const command = [process.execPath, SERVER];
  const processes: Place = {
    title: 'process',
    folder,
    hosted: { runtime: 'process', command },
    runtime: new ProcessRuntime({
      isAllowed: true,
      folder: join(folder, 'records'),
      hostId: 'bench',
      clock: holdingClock,
    }),
    env: {},
  };
  const engine = new DockerEngine();
  const runtime = new DockerRuntime({ engine, hostId: 'bench', user: USER });
  const { isAvailable, sentence } = await runtime.state();
  if (!isAvailable) {
    console.log(`Processes only. ${sentence}`);
    return [processes];
  }
  const { kind, version, address } = await engine.info();
  if ((await engine.imageId(image)) === undefined) {
    throw new Error(`${kind} has no image ${image}: docker build -t ${image} examples/agents/chat-node`);
  }
  const env = { WA2AI_CONTAINER_ENGINE: address };
  const hosted = { image, memoryMb: 256, pull: 'never' };
  return [processes, { title: `${kind} ${version}`, folder, hosted, runtime, env }];
}

/** A message to a running agent by the client of its route, and by fetch with the same request, turn by turn. */
async function benchMessages(place: Place, rounds: number): Promise<HostResults['message']> {
  const host = new AgentHost({
    ...{ nodeId: 'bench', registry: new MemoryAgentRegistry(), files: new AgentFolders(place.folder) },
    ...{ clock: holdingClock, log: quietLog, probe: new HttpAgentProbe(), owner: USER, stopsOnExit: true },
    runtimes: { docker: place.runtime, process: place.runtime },
    limits: { maxRunning: 2, maxBytes: 64 * 1024 * 1024, startMs: 60_000 },
    nodes: { liveNodes: () => ['bench'], isExpired: () => true },
  });
  let running: RunningAgent | undefined;
  const clients = createAgentClients({
    ...{
      defaultTimeoutMs: () => 30_000,
      log: quietLog,
      clock: holdingClock,
      transport: new AgentTransport(),
    },
    hosting: {
      use: (agent, work, options) => {
        const seen = (given: RunningAgent) => {
          running = given;
          return work(given);
        };
        return host.use(agent, seen, options);
      },
      stop: (agentId) => host.stop(agentId),
    },
  });
  const measured: Array<{ own: number; bare: number }> = [];
  try {
    for (let round = 0; round < rounds; round++) {
      // Another route is another agent, with an empty session.
      const agent = { kind: 'hosted', settings: place.hosted };
      const client = clients.clientFor(aRoute({ agentEndpoint: '', config: { agent } }));
      const said = { from: '5491@s.whatsapp.net', channelId: '5491', text: 'hello', timestamp: new Date(0) };
      const own = async (id: string) => {
        await client.sendMessage('', { id, ...said });
      };
      await own('first');
      const times = { own: [] as number[], bare: [] as number[] };
      for (let trip = 0; trip < TRIPS; trip++) {
        times.own.push(await timed(() => own(`own-${trip}`)));
        times.bare.push(await timed(() => bareTrip(running, `bare-${trip}`)));
      }
      measured.push({ own: median(times.own), bare: median(times.bare) });
    }
  } finally {
    await host.close();
    for (const { agentId } of await place.runtime.list()) await place.runtime.remove(agentId);
  }
  return {
    wa2ai: median(measured.map(({ own }) => own)),
    bare: median(measured.map(({ bare }) => bare)),
    added: median(measured.map(({ own, bare }) => own - bare)),
  };
}

async function bareTrip(running: RunningAgent | undefined, id: string): Promise<void> {
  if (!running) throw new Error('the agent does not run');
  const response = await fetch(`${running.url}/chat`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': running.token,
      authorization: `Bearer ${running.token}`,
      'idempotency-key': id,
    },
    body: JSON.stringify({ message: 'hello', session_id: '5491', message_id: id, user_id: '5491' }),
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`the agent answered ${response.status}: ${body}`);
}

/** Wakes to the first answer, and the processor time of a node whose agents have nothing to do. */
async function benchNode(
  ground: BenchGround,
  place: Place,
  { rounds, idleSeconds }: HostBenchOptions,
): Promise<Pick<HostResults, 'coldMs' | 'warmMs' | 'idle'>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-bench-host-'));
  const env = { ...place.env, WA2AI_DATA_DIR: dataDir, WA2AI_AGENTS_STOP_ON_EXIT: 'true' };
  const cluster = await Cluster.start(ground, { names: ['n1'], accounts: 0, env });
  const node = cluster.nodes.node('n1');
  const agents = new Agents(node, place.hosted);
  try {
    const [cold, warm] = [[] as number[], [] as number[]];
    // The first round warms the node up.
    for (let round = 0; round <= rounds; round++) {
      const id = await agents.add();
      const coldMs = await timed(() => agents.ask(id));
      await agents.stop(id);
      const warmMs = await timed(() => agents.ask(id));
      await agents.remove(id);
      if (round === 0) continue;
      cold.push(coldMs);
      warm.push(warmMs);
    }
    const without = await idleShare(node, idleSeconds);
    for (let made = 0; made < STOPPED; made++) {
      const id = await agents.add();
      await agents.ask(id);
      await agents.stop(id);
    }
    for (let made = 0; made < RUNNING; made++) await agents.ask(await agents.add());
    return {
      ...{ coldMs: median(cold), warmMs: median(warm) },
      idle: { without, with: await idleShare(node, idleSeconds) },
    };
  } finally {
    await agents.removeAll();
    await cluster.nodes.endAll('SIGTERM');
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The agents of a node, by its API. */
class Agents {
  readonly #node: Wa2aiProcess;
  readonly #hosted: Record<string, unknown>;
  readonly #ids = new Set<string>();
  #made = 0;

  constructor(node: Wa2aiProcess, hosted: Record<string, unknown>) {
    this.#node = node;
    this.#hosted = hosted;
  }

  /** Adds an agent, which does not start. */
  async add(): Promise<string> {
    this.#made += 1;
    const id = `bench-${this.#made}`;
    await this.#call('POST', '', { id, hosted: this.#hosted });
    this.#ids.add(id);
    return id;
  }

  async ask(id: string): Promise<void> {
    const data = await this.#call('POST', `/${id}/messages`, { message: 'hello', waitSeconds: 60 });
    const { response } = (data ?? {}) as { response?: string };
    if (!response) throw new Error(`agent ${id} gave no answer: ${JSON.stringify(data)}`);
  }

  async stop(id: string): Promise<void> {
    await this.#call('POST', `/${id}/stop`);
  }

  async remove(id: string): Promise<void> {
    await this.#call('DELETE', `/${id}`);
    this.#ids.delete(id);
  }

  async removeAll(): Promise<void> {
    for (const id of this.#ids) await this.remove(id);
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.#node.api(method, `/api/agents${path}`, body);
    if (answer.status > 299) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body.data;
  }
}

/** Processor time of the node, in percent of a core. */
async function idleShare({ pid }: Wa2aiProcess, seconds: number): Promise<number> {
  const [usedSeconds, startedMs] = [cpuSeconds(pid), performance.now()];
  await passed(seconds * 1_000);
  return ((cpuSeconds(pid) - usedSeconds) * 100_000) / (performance.now() - startedMs);
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
