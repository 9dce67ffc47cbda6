import type { NodeId } from '../chat-id.ts';
import { type Clock, orAbort } from '../clock.ts';
import { AgentTimeoutError, AgentUnavailableError, Wa2aiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type Said, saidOf, say } from '../phrases.ts';
import type { AgentProbe, AgentRegistry, RunningAgent } from '../ports/agent-registry.ts';
import type { AgentFiles, AgentRuntime } from '../ports/agent-runtime.ts';
import {
  type AgentEffect,
  type AgentEvent,
  type AgentLife,
  type AgentProblem,
  type AgentSpec,
  agentLife,
  type HostedAgent,
  isIdle,
  newAgentLife,
} from './agent-life.ts';
import { AgentStartError, AgentUnusableError } from './hosting-errors.ts';

/** Between two questions whether a started agent answers. */
const POLL_MS = 50;
/** Longest wait for one answer of a starting agent: a port may be open before its program listens. */
const PROBE_LIMIT_MS = 500;
/** A pull that takes longer is reported in the chat. */
const SLOW_PULL_MS = 3_000;
/** Lines of the log in the sentence of a failed start. */
const LOG_LINES = 5;
/** How long a program may take to end. */
const GRACE_MS = 10_000;
/** How often the activity of a running agent is stored. */
const SAVE_EVERY_MS = 60_000;
/** How often the size of a running agent's folder is measured. */
const MEASURE_EVERY_MS = 60_000;
/** With less on their disk, all agents stop: the database needs space. */
const MIN_FREE_BYTES = 256 * 1024 * 1024;

interface AgentHostLimits {
  /** Agents that may run on this node at the same time. */
  maxRunning: number;
  /** Largest data folder of an agent, in bytes. */
  maxBytes: number;
  /** How long a started agent may take until it answers, in milliseconds. */
  startMs: number;
}

export interface RunnerDeps {
  nodeId: NodeId;
  /** By name. */
  runtimes: Readonly<Record<AgentSpec['runtime'], AgentRuntime>>;
  registry: AgentRegistry;
  files: AgentFiles;
  probe: AgentProbe;
  clock: Clock;
  log: Logger;
  limits: AgentHostLimits;
}

/** What `use` may call while the agent starts. */
export interface UseOptions {
  signal?: AbortSignal;
  /** Called once when the image is pulled and that takes long. */
  onSlowStart?(): Promise<void>;
}

interface Waiter {
  resolve(running: RunningAgent): void;
  reject(error: Error): void;
  onSlowStart?(): Promise<void>;
  isDelivered: boolean;
}

/** Performs the life cycle (agent-life.ts) of one agent at its runtime. */
export class AgentRunner {
  agent: HostedAgent;
  readonly #deps: RunnerDeps;
  readonly #stopping: AbortSignal;
  #life: AgentLife;
  #waiters: Waiter[] = [];
  #running: RunningAgent | undefined;
  #isPullSlow = false;
  /** Called at each change of the phase. */
  #onPhase: Array<() => void> = [];
  #savedAtMs: number;
  #measuredAtMs: number;
  #saving: Promise<void> = Promise.resolve();
  #effects: Promise<void> = Promise.resolve();

  /** @param stopping aborts when the service stops */
  constructor(deps: RunnerDeps, agent: HostedAgent, stopping: AbortSignal) {
    this.#deps = deps;
    this.#stopping = stopping;
    this.agent = agent;
    this.#savedAtMs = deps.clock.now();
    this.#measuredAtMs = this.#savedAtMs;
    this.#life = newAgentLife(deps.clock.now());
  }

  get life(): AgentLife {
    return this.#life;
  }

  /** An earlier process of this node made the instance. */
  adopt(isRunning: boolean, lastActivityMs: number): void {
    if (this.#life.phase !== 'absent') return;
    const life = { ...newAgentLife(lastActivityMs, 'stopped') };
    this.#life = isRunning ? { ...life, phase: 'ready', isInDoubt: true } : life;
  }

  /** @throws as `AgentHost.use` */
  async use<T>(work: (running: RunningAgent) => Promise<T>, options: UseOptions): Promise<T> {
    const running = await this.#untilRunning(options);
    try {
      return await work(running);
    } catch (error) {
      // It may have ended, or the engine may have restarted: the next request looks at it first.
      if (error instanceof AgentUnavailableError || error instanceof AgentTimeoutError) this.changed();
      throw error;
    } finally {
      this.#dispatch({ kind: 'request-ended', nowMs: this.#deps.clock.now() });
      this.#save();
    }
  }

  /** Stops the agent; resolves when it has stopped, or could not be stopped. */
  async stop(): Promise<void> {
    await this.#until(() => !['pulling', 'creating', 'starting'].includes(this.#life.phase));
    this.#dispatch({ kind: 'stop' });
    await this.#until(() => this.#life.phase !== 'stopping');
  }

  /** The instance may have ended, or have another address. */
  changed(): void {
    this.#dispatch({ kind: 'changed' });
  }

  forgive(): void {
    this.#dispatch({ kind: 'forgiven' });
  }

  /** Stops the agent when it has been idle for its time, and does not say that it works. Ends it when its disk is full. */
  async tick(): Promise<void> {
    const { clock } = this.#deps;
    if (this.#life.phase !== 'ready' && this.#life.phase !== 'busy') return;
    await this.#stopWhenFull();
    const isOver = () => clock.now() - this.#life.lastActivityMs >= this.agent.idleMs;
    if (this.#running && (this.#life.saysBusy || (isOver() && isIdle(this.#life)))) {
      const answer = await this.#ask(this.#running);
      this.#dispatch({ kind: 'says-busy', isBusy: answer === 'busy', nowMs: clock.now() });
    }
    this.#dispatch({ kind: 'tick', nowMs: clock.now(), idleMs: this.agent.idleMs });
    await this.#until(() => this.#life.phase !== 'stopping');
  }

  /** Also while it works: what it writes must not fill the disk of its node. */
  async #stopWhenFull(): Promise<void> {
    const { clock, log } = this.#deps;
    if (clock.now() - this.#measuredAtMs < MEASURE_EVERY_MS) return;
    this.#measuredAtMs = clock.now();
    const { agentId } = this.agent;
    const runtime = this.#deps.runtimes[this.agent.spec.runtime];
    const problem = await diskProblem(this.#deps, agentId, await runtime.deletedBytes(agentId));
    if (!problem) return;
    log.warn({ agentId, error: problem.message }, 'disk of a hosted agent is full, stopping it');
    await this.stop();
  }

  /** Resolves when what happened is stored, or could not be stored. */
  async saved(): Promise<void> {
    await this.#saving;
  }

  /** Waits until the agent can be used. */
  async #untilRunning({ signal, onSlowStart }: UseOptions): Promise<RunningAgent> {
    signal?.throwIfAborted();
    let waiter: Waiter | undefined;
    const waiting = new Promise<RunningAgent>((resolve, reject) => {
      waiter = { resolve, reject, onSlowStart, isDelivered: false };
      this.#waiters.push(waiter);
    });
    this.#dispatch({ kind: 'request', nowMs: this.#deps.clock.now() });
    if (this.#isPullSlow && onSlowStart) this.#reportSlowStart(onSlowStart);
    try {
      return await orAbort(waiting, signal);
    } catch (error) {
      if (signal?.aborted && waiter) this.#cancel(waiter);
      waiting.catch(() => undefined);
      throw error;
    }
  }

  #cancel(waiter: Waiter): void {
    if (waiter.isDelivered) this.#dispatch({ kind: 'request-ended', nowMs: this.#deps.clock.now() });
    else if (this.#waiters.includes(waiter)) this.#dispatch({ kind: 'canceled' });
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
  }

  #dispatch(event: AgentEvent): void {
    const before = this.#life.phase;
    const { life, effects } = agentLife(this.#life, event);
    this.#life = life;
    for (const effect of effects) this.#perform(effect);
    if (this.#life.phase === before) return;
    const { agentId } = this.agent;
    if (this.#life.phase === 'stopped') this.#deps.log.info({ agentId }, 'hosted agent stopped');
    this.#deps.log.debug({ agentId, phase: this.#life.phase }, 'phase of a hosted agent');
    const isTurn = [before, this.#life.phase].every((phase) => phase === 'ready' || phase === 'busy');
    if (!isTurn) this.#save({ isDue: true });
    for (const notify of this.#onPhase.splice(0)) notify();
  }

  #perform(effect: AgentEffect): void {
    if (effect.do === 'deliver') this.#deliver();
    else if (effect.do === 'reject') this.#reject(effect.problem);
    else this.#effects = this.#effects.then(() => this.#run(effect));
  }

  #deliver(): void {
    const running = this.#running;
    for (const waiter of this.#waiters.splice(0)) {
      waiter.isDelivered = true;
      if (running) waiter.resolve(running);
    }
  }

  #reject(problem: AgentProblem): void {
    const { agentId } = this.agent;
    this.#deps.log.warn({ agentId, code: problem.code, error: problem.sentence }, 'hosted agent not started');
    for (const waiter of this.#waiters.splice(0)) waiter.reject(errorOf(problem));
  }

  /** One effect; its result is the next event. Never rejects. */
  async #run(effect: AgentEffect): Promise<void> {
    try {
      const result = await this.#resultOf(effect);
      if (result) this.#dispatch(result);
    } catch (error) {
      const leaves = effect.do === 'create' || effect.do === 'start' || effect.do === 'wait';
      this.#dispatch({ kind: 'failed', problem: problemOf(error), leaves });
    }
  }

  async #resultOf(effect: AgentEffect): Promise<AgentEvent | undefined> {
    const { clock, runtimes, files } = this.#deps;
    const { agent } = this;
    const { agentId, spec } = agent;
    const runtime = runtimes[spec.runtime];
    const nowMs = clock.now();
    switch (effect.do) {
      case 'find': {
        const problem = refusalOf(runtime) ?? (await diskProblem(this.#deps, agentId, 0));
        if (problem) throw problem;
        const found = await runtime.find(agent);
        if (found?.isCurrent && found.state !== 'created') {
          if (found.url) this.#running = { url: found.url, token: (await files.token(agentId)) ?? '' };
          const instance = found.state === 'running' ? 'running' : 'stopped';
          return { kind: 'found', instance, hasImage: true, nowMs: clock.now() };
        }
        const hasImage = spec.pull !== 'always' && (await runtime.hasImage(agent));
        return { kind: 'found', instance: found ? 'outdated' : 'none', hasImage, nowMs: clock.now() };
      }
      case 'pull':
        await this.#pull();
        return { kind: 'pulled' };
      case 'remove':
        await runtime.remove(agentId);
        return { kind: 'removed' };
      case 'clean-up':
        await runtime.remove(agentId).catch((error: unknown) => {
          // The next creation replaces it.
          this.#deps.log.warn({ err: error, agentId }, 'instance of a hosted agent not removed');
        });
        return undefined;
      case 'create': {
        const owner = runtime.ownerOf(agentId);
        const place = await files.prepare(agentId, { isNew: true, ...(owner !== undefined && { owner }) });
        const { warnings } = await runtime.create(agent, place);
        for (const warning of warnings) this.#deps.log.warn({ agentId, warning }, 'hosted agent created');
        return { kind: 'created', nowMs };
      }
      case 'start': {
        const { url } = await runtime.start(agentId);
        this.#running = { url: url ?? '', token: (await files.token(agentId)) ?? '' };
        await this.#untilReady();
        return { kind: 'ready', nowMs: clock.now() };
      }
      case 'wait':
        await this.#untilReady();
        return { kind: 'ready', nowMs: clock.now() };
      case 'stop':
        await runtime.stop(agentId, GRACE_MS);
        this.#running = undefined;
        return { kind: 'stopped' };
      default:
        return undefined;
    }
  }

  async #pull(): Promise<void> {
    const { clock, runtimes, log } = this.#deps;
    const ended = new AbortController();
    log.info(
      { agentId: this.agent.agentId, image: this.agent.spec.image },
      'pulling the image of a hosted agent',
    );
    clock.sleep(SLOW_PULL_MS, ended.signal).then(
      () => {
        this.#isPullSlow = true;
        for (const { onSlowStart } of this.#waiters) if (onSlowStart) this.#reportSlowStart(onSlowStart);
      },
      () => undefined,
    );
    try {
      await runtimes[this.agent.spec.runtime].pull(this.agent, this.#stopping);
    } finally {
      ended.abort();
      this.#isPullSlow = false;
    }
  }

  #reportSlowStart(onSlowStart: () => Promise<void>): void {
    onSlowStart().catch((error: unknown) => {
      this.#deps.log.warn({ err: error, agentId: this.agent.agentId }, 'slow start not reported');
    });
  }

  /** Waits for an HTTP answer. @throws {AgentStartError} the program ended, or does not answer in time */
  async #untilReady(): Promise<void> {
    const { clock, limits, runtimes } = this.#deps;
    const stopping = this.#stopping;
    const { agentId, spec } = this.agent;
    const runtime = runtimes[spec.runtime];
    const startedMs = clock.monotonicMs();
    for (;;) {
      stopping.throwIfAborted();
      const instance = await runtime.inspect(agentId);
      if (instance?.state !== 'running' || !instance.url) {
        const code = instance?.exitCode;
        const ended = { agent: agentId };
        const error =
          code === undefined ? say('hosted.ended', ended) : say('hosted.ended-with-code', { ...ended, code });
        throw new AgentStartError(await this.#withLastLines(error));
      }
      this.#running = { url: instance.url, token: this.#running?.token ?? '' };
      if ((await this.#ask(this.#running)) !== 'silent') return;
      if (clock.monotonicMs() - startedMs > limits.startMs) {
        const port = spec.port || 'PORT';
        const error = say('hosted.silent', { agent: agentId, ms: limits.startMs, port });
        throw new AgentStartError(await this.#withLastLines(error));
      }
      await clock.sleep(POLL_MS, stopping);
    }
  }

  async #ask(running: RunningAgent): Promise<'silent' | 'ready' | 'busy'> {
    const { clock, probe } = this.#deps;
    const limited = new AbortController();
    const done = new AbortController();
    clock.sleep(PROBE_LIMIT_MS, done.signal).then(
      () => limited.abort(),
      () => undefined,
    );
    try {
      return await probe.ask(
        running,
        this.agent.spec.profile,
        AbortSignal.any([this.#stopping, limited.signal]),
      );
    } finally {
      done.abort();
    }
  }

  /** An error with the last lines of the agent's log. */
  async #withLastLines(error: Said): Promise<Said> {
    const { runtimes } = this.#deps;
    const lines: string[] = [];
    const options = { tail: LOG_LINES, follow: false, signal: this.#stopping };
    try {
      for await (const { text } of runtimes[this.agent.spec.runtime].logs(this.agent.agentId, options))
        lines.push(text.slice(0, 200));
    } catch {
      return error;
    }
    return lines.length > 0
      ? say('hosted.log-ends-with', { error, lines: lines.slice(-LOG_LINES).join(' | ') })
      : say('hosted.log-empty', { error });
  }

  /** Stores the phase and the activity, in order. An error is logged: the next save has it all. */
  #save({ isDue = false }: { isDue?: boolean } = {}): void {
    const { clock, registry, nodeId, log } = this.#deps;
    if (!isDue && clock.now() - this.#savedAtMs < SAVE_EVERY_MS) return;
    this.#savedAtMs = clock.now();
    this.#saving = this.#saving.then(async () => {
      const { phase, lastActivityMs, problem } = this.#life;
      // Whether it works at this moment is not stored.
      const stored = phase === 'busy' ? 'ready' : phase;
      const changes = {
        phase: stored,
        lastActivityMs,
        ...(problem && { problem: problem.sentence }),
        ...(problem?.phrase && { phrase: problem.phrase }),
      } as const;
      await registry.update(this.agent.agentId, nodeId, changes).catch((error: unknown) => {
        log.debug({ err: error, agentId: this.agent.agentId }, 'state of a hosted agent not stored');
      });
    });
  }

  async #until(isReached: () => boolean): Promise<void> {
    while (!isReached()) await new Promise<void>((resolve) => this.#onPhase.push(resolve));
  }
}

/** The operator does not let the runtime run agents. */
export function refusalOf({ refusal }: Pick<AgentRuntime, 'refusal'>): AgentUnusableError | undefined {
  return refusal === undefined ? undefined : new AgentUnusableError('AGENT_PROCESSES_OFF', refusal);
}

/**
 * Why an agent may not run, or get a file of so many bytes: its data is larger than it may be, or a part of it cannot be
 * measured, which counts as too large.
 */
export async function diskProblem(
  { files, limits: { maxBytes } }: Pick<RunnerDeps, 'files' | 'limits'>,
  agentId: string,
  moreBytes: number,
): Promise<AgentUnusableError | undefined> {
  if ((await files.freeBytes()) < MIN_FREE_BYTES) {
    return new AgentUnusableError('AGENT_DISK_FULL', say('hosted.disk-full'));
  }
  const { bytes, unread } = await files.usage(agentId, maxBytes);
  if (unread !== undefined) {
    return new AgentUnusableError(
      'AGENT_DISK_FULL',
      say('hosted.data-unreadable', { agent: agentId, path: JSON.stringify(unread.slice(0, 200)) }),
    );
  }
  if (bytes + moreBytes <= maxBytes) return undefined;
  return new AgentUnusableError(
    'AGENT_DISK_FULL',
    say('hosted.data-too-large', { agent: agentId, megabytes: Math.round(maxBytes / 1_048_576) }),
  );
}

function problemOf(error: unknown): AgentProblem {
  if (!(error instanceof Wa2aiError)) {
    const why = error instanceof Error ? error.message : String(error);
    return { code: 'AGENT_START_FAILED', ...say('hosted.host-failed', { why }), isFinal: true };
  }
  return { code: error.code, ...error.said, isFinal: error.disposition === 'dead' };
}

/** The error for who waits. An engine that does not answer is like an agent that cannot be reached. */
function errorOf(problem: AgentProblem): Wa2aiError {
  const { code, isFinal } = problem;
  const said = saidOf(problem);
  if (isFinal) return new AgentUnusableError(code, said);
  if (code === 'AGENT_START_FAILED') return new AgentStartError(said);
  return new AgentUnavailableError(said, { isAway: true });
}
