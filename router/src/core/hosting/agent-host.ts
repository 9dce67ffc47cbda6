import type { NodeId } from '../chat-id.ts';
import { AgentUnavailableError } from '../errors.ts';
import { say } from '../phrases.ts';
import type { AgentRecord, RunningAgent } from '../ports/agent-registry.ts';
import type { AgentRuntime, LogLine } from '../ports/agent-runtime.ts';
import { type AgentPhase, agentsToStop, type HostedAgent, isIdle, isUp } from './agent-life.ts';
import { AgentRunner, diskProblem, type RunnerDeps, refusalOf, type UseOptions } from './agent-runner.ts';
import { AgentElsewhereError, AgentUnusableError } from './hosting-errors.ts';

/** How often idle agents are looked for. */
const SWEEP_EVERY_MS = 5_000;
/** Every so many sweeps read the registry: which agents are to be deleted, or belong to another node. */
const REGISTRY_SWEEPS = 6;
/** Wait before a new attempt of a message when all places of the node are taken. */
const FULL_RETRY_MS = 5_000;

interface AgentHostDeps extends RunnerDeps {
  /** Containers are stopped with this node; otherwise they continue, and the next start adopts them. */
  stopsOnExit: boolean;
  /** What this node sees of the others. */
  nodes: { liveNodes(): readonly NodeId[]; isExpired(nodeId: NodeId): boolean };
}

/**
 * The hosted agents of this node: wakes them for requests, stops idle ones, and adopts what an earlier process of this
 * node left running. An agent belongs to one node, whose engine runs it; the registry says which.
 */
export class AgentHost {
  readonly #deps: AgentHostDeps;
  readonly #runners = new Map<string, AgentRunner>();
  readonly #stopping = new AbortController();
  #sweeping: Promise<void> = Promise.resolve();
  readonly #watching = new Map<AgentRuntime, Promise<void>>();
  /** Agents that got a place and do not start yet. */
  readonly #admitted = new Set<string>();
  #hasAdopted = false;
  /** A node that never had an agent asks neither the database nor an engine. */
  #hasAgents = false;
  #sweeps = 0;

  constructor(deps: AgentHostDeps) {
    this.#deps = deps;
  }

  /**
   * Starts the agent unless it runs, and gives it to `work`. The agent counts as busy until `work` ends.
   * @throws {AgentElsewhereError} the agent belongs to another node that runs
   * @throws {AgentUnavailableError} it cannot run now; nothing was sent
   * @throws {AgentUnusableError} it cannot run until somebody acts
   * @throws {StorageUnavailableError} its record could not be read
   */
  async use<T>(
    agent: HostedAgent,
    work: (running: RunningAgent) => Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    const runner = await this.#ownRunner(agent);
    await this.#admit(runner);
    const used = runner.use(work, options);
    // It counts as running from here on.
    this.#admitted.delete(agent.agentId);
    return await used;
  }

  /**
   * Stores an agent that the first request starts, or its new settings.
   * @returns its record, of whichever node
   * @throws {AgentUnusableError} AGENT_PROCESSES_OFF: the operator does not let its runtime run agents
   */
  async register(agent: HostedAgent): Promise<AgentRecord> {
    const { registry, nodeId, files, runtimes } = this.#deps;
    const refused = refusalOf(runtimes[agent.spec.runtime]);
    if (refused) throw refused;
    const record = await registry.claim(agent, nodeId, await files.folderId());
    if (record.nodeId === nodeId && !record.isDeleting) this.#runnerOf(agent);
    return record;
  }

  /** Starts an agent now; a crash loop is over. @throws as `use` */
  async start(agent: HostedAgent): Promise<void> {
    const runner = await this.#ownRunner(agent);
    runner.forgive();
    await this.use(agent, async () => undefined);
  }

  /** Stops an agent of this node, also while it works; nothing happens when it does not run. */
  async stop(agentId: string): Promise<void> {
    await this.#runners.get(agentId)?.stop();
  }

  /** Stops an agent of this node, and deletes its instance, its data and its record. */
  async remove(agentId: string): Promise<void> {
    const { registry, files, runtimes } = this.#deps;
    const record = await registry.get(agentId);
    if (!record) return;
    await this.#runners.get(agentId)?.stop();
    await runtimes[record.agent.spec.runtime].remove(agentId);
    await files.remove(agentId);
    await registry.delete(agentId);
    this.#runners.delete(agentId);
    this.#deps.log.info({ agentId }, 'hosted agent deleted');
  }

  /**
   * Stores a file of an agent of this node, also before its first start; see `AgentFiles.write`.
   * @throws {AgentUnusableError} its data would be larger than it may be, or cannot be stored
   */
  async writeFile({ agentId, spec }: HostedAgent, path: string, bytes: Uint8Array): Promise<boolean> {
    const { files, runtimes } = this.#deps;
    const problem = await diskProblem(this.#deps, agentId, bytes.length);
    if (problem) throw problem;
    const owner = runtimes[spec.runtime].ownerOf(agentId);
    await files.prepare(agentId, { isNew: false, ...(owner !== undefined && { owner }) });
    return await files.write(agentId, path, bytes);
  }

  /** The phase of an agent of this node; undefined when it is not in use. */
  phaseOf(agentId: string): AgentPhase | undefined {
    return this.#runners.get(agentId)?.life.phase;
  }

  /** Agents of this node by phase, for metrics. */
  phases(): Map<AgentPhase, number> {
    const counts = new Map<AgentPhase, number>();
    for (const { life } of this.#runners.values()) counts.set(life.phase, (counts.get(life.phase) ?? 0) + 1);
    return counts;
  }

  /** The lines of an agent's program; none when it has no instance on this node. */
  logs(
    { agentId, spec }: HostedAgent,
    options: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine> {
    return this.#deps.runtimes[spec.runtime].logs(agentId, options);
  }

  /** Adopts the instances of an earlier process of this node, then looks for idle agents until `close`. */
  async open(): Promise<void> {
    await this.#adopt();
    this.#sweeping = this.#keepSweeping();
  }

  /** Ends processes, and containers if they are to end with this node. Requests must have ended before. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeping;
    const ending = [...this.#runners.values()].filter(
      ({ agent }) => agent.spec.runtime === 'process' || this.#deps.stopsOnExit,
    );
    await Promise.allSettled(ending.map((runner) => runner.stop()));
    await Promise.allSettled([...this.#runners.values()].map((runner) => runner.saved()));
    await Promise.all(this.#watching.values());
  }

  /** One look for idle, deleted and moved agents. Never rejects. */
  async sweep(): Promise<void> {
    const { registry, nodeId, log } = this.#deps;
    if (!this.#hasAdopted) await this.#adopt();
    if (!this.#hasAgents) return;
    try {
      if (this.#sweeps++ % REGISTRY_SWEEPS === 0) await this.#compare(await registry.list({ nodeId }));
      await Promise.all([...this.#runners.values()].map((runner) => runner.tick()));
    } catch (error) {
      log.warn({ err: error }, 'cannot check hosted agents, retrying');
    }
  }

  /** Deletes what is to be deleted, and stops what belongs to another node meanwhile. */
  async #compare(records: readonly AgentRecord[]): Promise<void> {
    for (const record of records) if (record.isDeleting) await this.remove(record.agent.agentId);
    const own = new Set(records.map(({ agent }) => agent.agentId));
    for (const [agentId, runner] of this.#runners) {
      if (own.has(agentId) || !isUp(runner.life)) continue;
      await runner.stop();
      await this.#deps.runtimes[runner.agent.spec.runtime].remove(agentId);
      this.#runners.delete(agentId);
    }
  }

  async #keepSweeping(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(SWEEP_EVERY_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.sweep();
    }
  }

  async #watch(runtime: AgentRuntime): Promise<void> {
    const { signal } = this.#stopping;
    const onChange = (agentId: string | undefined) => {
      for (const runner of this.#runners.values()) {
        const isMeant = agentId === undefined || runner.agent.agentId === agentId;
        if (runner.agent.spec.runtime === runtime.name && isMeant) runner.changed();
      }
    };
    while (!signal.aborted) {
      await runtime.watch(onChange, signal).catch(() => undefined);
      await this.#deps.clock.sleep(SWEEP_EVERY_MS, signal).catch(() => undefined);
    }
  }

  /** Never rejects: what fails is done by the next sweep. */
  async #adopt(): Promise<void> {
    try {
      await this.#adoptAll();
      this.#hasAdopted = true;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'cannot adopt hosted agents, retrying');
    }
  }

  /** Keeps what belongs to an agent of this node, and removes the rest that carries this node's name. */
  async #adoptAll(): Promise<void> {
    const { registry, runtimes, nodeId, log } = this.#deps;
    const records = new Map(
      (await registry.list({ nodeId })).map((record) => [record.agent.agentId, record]),
    );
    if (records.size === 0) return;
    this.#hasAgents = true;
    for (const runtime of Object.values(runtimes)) {
      if (!(await runtime.state()).isAvailable) continue;
      for (const { agentId, state } of await runtime.list()) {
        const known = this.#runners.get(agentId);
        // A request has come meanwhile, and found the instance.
        if (known && isUp(known.life)) continue;
        const record = runtime.refusal === undefined ? records.get(agentId) : undefined;
        if (record?.agent.spec.runtime === runtime.name && state !== 'created') {
          const runner = this.#runnerOf(record.agent);
          runner.adopt(state === 'running', record.lastActivityMs);
          if (state === 'running') log.info({ agentId }, 'hosted agent adopted');
        } else {
          await runtime.remove(agentId);
          log.info({ agentId }, 'leftover of a hosted agent removed');
        }
      }
    }
  }

  /** The runner of an agent that belongs to this node. */
  async #ownRunner(agent: HostedAgent): Promise<AgentRunner> {
    const known = this.#runners.get(agent.agentId);
    if (known && isUp(known.life) && isSame(known.agent, agent)) return known;
    const { registry, nodeId, files } = this.#deps;
    const folderId = await files.folderId();
    const record = await registry.claim(agent, nodeId, folderId);
    if (record.isDeleting) {
      throw new AgentUnavailableError(say('hosted.being-deleted', { agent: agent.agentId }), {
        isAway: true,
      });
    }
    if (record.nodeId !== nodeId) await this.#takeOver(record, folderId);
    const runner = this.#runnerOf(agent);
    // Changed settings need another instance, as soon as no request runs.
    if (isUp(runner.life) && isIdle(runner.life) && !isSame(runner.agent, agent)) await runner.stop();
    runner.agent = agent;
    return runner;
  }

  /** Takes an agent of a dead node over, when its data is here. */
  async #takeOver(
    { agent, nodeId: owner, folderId: itsFolder }: AgentRecord,
    folderId: string,
  ): Promise<void> {
    const { nodes, registry, nodeId, log } = this.#deps;
    const { agentId } = agent;
    if (nodes.liveNodes().includes(owner)) throw new AgentElsewhereError(agentId, owner);
    if (itsFolder !== folderId) {
      throw new AgentUnusableError(
        'AGENT_DATA_ELSEWHERE',
        say('hosted.data-elsewhere', { agent: agentId, node: owner }),
      );
    }
    if (!nodes.isExpired(owner) || !(await registry.move(agentId, owner, nodeId, folderId))) {
      throw new AgentUnavailableError(say('hosted.moves', { agent: agentId, node: owner }), { isAway: true });
    }
    log.warn({ agentId, from: owner }, 'hosted agent taken over');
  }

  /** Makes room for one more running agent. @throws {AgentUnavailableError} every place is taken by working agents */
  async #admit(runner: AgentRunner): Promise<void> {
    const { agentId } = runner.agent;
    if (isUp(runner.life) || this.#admitted.has(agentId)) return;
    const { maxRunning } = this.#deps.limits;
    const lives = new Map([...this.#runners].map(([id, { life }]) => [id, life]));
    const stops = agentsToStop(lives, agentId, maxRunning - this.#admitted.size);
    if (!stops) {
      throw new AgentUnavailableError(say('hosted.node-full', { count: maxRunning }), {
        isAway: true,
        retryAfterMs: FULL_RETRY_MS,
      });
    }
    this.#admitted.add(agentId);
    await Promise.all(stops.map((id) => this.#runners.get(id)?.stop()));
  }

  #runnerOf(agent: HostedAgent): AgentRunner {
    const known = this.#runners.get(agent.agentId);
    if (known) return known;
    const runner = new AgentRunner(this.#deps, agent, this.#stopping.signal);
    this.#runners.set(agent.agentId, runner);
    this.#hasAgents = true;
    const runtime = this.#deps.runtimes[agent.spec.runtime];
    if (!this.#watching.has(runtime)) this.#watching.set(runtime, this.#watch(runtime));
    return runner;
  }
}

function isSame(a: HostedAgent, b: HostedAgent): boolean {
  return JSON.stringify(settingsOf(a)) === JSON.stringify(settingsOf(b));
}

function settingsOf({ spec, idleMs, options, timeoutMs }: HostedAgent): unknown[] {
  return [spec, idleMs, options, timeoutMs];
}
