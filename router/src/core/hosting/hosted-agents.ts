import type { NodeId } from '../chat-id.ts';
import { type Clock, within } from '../clock.ts';
import { AgentProtocolError, AgentUnavailableError, Wa2aiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { say } from '../phrases.ts';
import type {
  AgentMessage,
  AgentQuery,
  AgentRecord,
  AgentRegistry,
  AgentTalk,
  Conversation,
} from '../ports/agent-registry.ts';
import type { AgentFileInfo, AgentFiles, LogLine } from '../ports/agent-runtime.ts';
import type { AgentHost } from './agent-host.ts';
import type { AgentPhase, HostedAgent } from './agent-life.ts';
import { AgentElsewhereError, AgentUnusableError } from './hosting-errors.ts';

/** Messages of programs whose answer is kept; the oldest ended one is dropped first. */
const MAX_EXCHANGES = 1_000;
/** Files in a list. */
const MAX_FILES = 1_000;

/** A hosted agent, as programs see it. */
export interface HostedAgentView extends AgentRecord {
  /** `running`: it works, or is about to start or stop. `idle`: it runs and waits. */
  status: 'running' | 'idle' | 'stopped';
  /** What separates it from the machine and from other agents. */
  isolation: 'container' | 'none';
}

/** A message of a program to an agent, and what became of it. */
export type AgentExchange = { messageId: string } & (
  | { state: 'working' }
  /** `text` is absent when the agent said nothing. */
  | { state: 'answered'; text?: string }
  | { state: 'failed'; error: Wa2aiError }
);

interface HostedAgentsDeps {
  nodeId: NodeId;
  host: AgentHost;
  registry: AgentRegistry;
  files: AgentFiles;
  talk: AgentTalk;
  clock: Clock;
  log: Logger;
  /** Nodes that run. */
  liveNodes(): readonly NodeId[];
}

/**
 * What programs do with the hosted agents of this node, by their ids. Methods return undefined when there is no such agent.
 * @throws {AgentElsewhereError} from all methods but `list` and `get`: the agent belongs to another node that runs
 * @throws {StorageUnavailableError} from every method
 */
export class HostedAgents {
  readonly #deps: HostedAgentsDeps;
  readonly #stopping = new AbortController();
  readonly #exchanges = new Map<string, AgentExchange>();
  /** The work on each exchange that runs. */
  readonly #working = new Map<string, Promise<void>>();
  /** The last message to each agent that runs: one follows the other. */
  readonly #last = new Map<string, Promise<void>>();

  constructor(deps: HostedAgentsDeps) {
    this.#deps = deps;
  }

  async list(query: AgentQuery): Promise<HostedAgentView[]> {
    return (await this.#deps.registry.list(query)).map((record) => this.#viewOf(record));
  }

  async get(agentId: string): Promise<HostedAgentView | undefined> {
    const record = await this.#deps.registry.get(agentId);
    return record && this.#viewOf(record);
  }

  /** Adds an agent, which the first message starts, or changes the settings of a known one. */
  async put(agent: HostedAgent): Promise<{ view: HostedAgentView; isNew: boolean }> {
    const known = await this.#own(agent.agentId);
    const view = this.#viewOf(await this.#deps.host.register(agent));
    if (view.isDeleting) throw beingDeleted(agent.agentId);
    return { view, isNew: known === undefined };
  }

  /** Starts an agent, and waits until it answers; a crash loop is over. @throws as `AgentHost.use` */
  async start(agentId: string): Promise<HostedAgentView | undefined> {
    const record = await this.#own(agentId);
    if (!record) return undefined;
    await this.#deps.host.start(record.agent);
    return await this.get(agentId);
  }

  /** Stops an agent, also while it works. */
  async stop(agentId: string): Promise<HostedAgentView | undefined> {
    if (!(await this.#own(agentId))) return undefined;
    await this.#deps.host.stop(agentId);
    return await this.get(agentId);
  }

  async restart(agentId: string): Promise<HostedAgentView | undefined> {
    await this.stop(agentId);
    return await this.start(agentId);
  }

  /** Deletes an agent with its data. `deleting`: its node does so, as soon as it runs. */
  async remove(agentId: string): Promise<'deleted' | 'deleting' | undefined> {
    const { registry, host, nodeId } = this.#deps;
    const record = await registry.get(agentId);
    if (!record) return undefined;
    await registry.markDeleting(agentId);
    if (record.nodeId !== nodeId) return 'deleting';
    await host.remove(agentId);
    return 'deleted';
  }

  /** The lines of its program; none when it does not exist at the runtime. */
  async logs(
    agentId: string,
    options: { tail: number; follow: boolean; signal: AbortSignal },
  ): Promise<AsyncIterable<LogLine> | undefined> {
    const record = await this.#own(agentId);
    const signal = AbortSignal.any([options.signal, this.#stopping.signal]);
    return record && this.#deps.host.logs(record.agent, { ...options, signal });
  }

  /** Its files by path, at most 1,000, and what all its data takes on the disk. */
  async files(agentId: string): Promise<{ bytes: number; files: AgentFileInfo[] } | undefined> {
    const { files } = this.#deps;
    if (!(await this.#own(agentId))) return undefined;
    const { bytes } = await files.usage(agentId);
    return { bytes, files: await files.list(agentId, MAX_FILES) };
  }

  /** The bytes of a file; undefined also when there is no such file. */
  async readFile(agentId: string, path: string): Promise<Uint8Array | undefined> {
    return (await this.#own(agentId)) && (await this.#deps.files.read(agentId, path));
  }

  /**
   * Stores a file, in the place of one with this path. `false`: it cannot be there; see `AgentFiles.write`.
   * @throws {AgentUnusableError} its data would be larger than it may be, or cannot be stored
   */
  async writeFile(agentId: string, path: string, bytes: Uint8Array): Promise<boolean | undefined> {
    const record = await this.#own(agentId);
    return record && (await this.#deps.host.writeFile(record.agent, path, bytes));
  }

  /** Deletes a file or folder. */
  async deleteFile(agentId: string, path: string): Promise<HostedAgentView | undefined> {
    if (!(await this.#own(agentId))) return undefined;
    await this.#deps.files.delete(agentId, path);
    return await this.get(agentId);
  }

  /** All its files as a tar archive. */
  async archive(agentId: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return (await this.#own(agentId)) && this.#deps.files.archive(agentId);
  }

  /**
   * Sends a message to an agent, which wakes it. Messages to one agent follow each other. The same `messageId` is sent once:
   * a repeated call waits for the same answer, and sends again only when the attempt failed.
   * @param waitMs how long to wait for the answer; the message is answered even when nobody waits
   */
  async send(
    agentId: string,
    { messageId, text }: { messageId: string; text: string },
    waitMs: number,
  ): Promise<AgentExchange | undefined> {
    const record = await this.#own(agentId);
    if (!record) return undefined;
    const key = `${agentId}/${messageId}`;
    const known = this.#exchanges.get(key);
    if (!known || known.state === 'failed') this.#begin(key, record.agent, { messageId, text });
    const working = this.#working.get(key);
    if (working && waitMs > 0) await within(this.#deps.clock, waitMs, working);
    return this.#exchanges.get(key);
  }

  /** The newest messages of the conversation of programs with an agent, oldest first. Wakes the agent. */
  async messages(agentId: string, count: number, signal: AbortSignal): Promise<AgentMessage[] | undefined> {
    const record = await this.#own(agentId);
    if (!record) return undefined;
    const { host, talk } = this.#deps;
    const { agent } = record;
    return await host.use(
      agent,
      (running) => talk.history(agent, running, conversationWith(agentId), { count, signal }),
      { signal },
    );
  }

  /** Messages of programs that the agent works on, or could not be given to it. */
  async openExchanges(agentId: string): Promise<AgentExchange[]> {
    await this.#own(agentId);
    const own = [...this.#exchanges].filter(([key]) => key.startsWith(`${agentId}/`));
    return own.map(([, exchange]) => exchange).filter(({ state }) => state !== 'answered');
  }

  /** Ends the messages that are on their way. */
  async close(): Promise<void> {
    this.#stopping.abort(new Error('wa2ai is stopping'));
    await Promise.all(this.#working.values());
  }

  #begin(key: string, agent: HostedAgent, message: { messageId: string; text: string }): void {
    const { messageId } = message;
    this.#keep(key, { messageId, state: 'working' });
    const former = this.#last.get(agent.agentId) ?? Promise.resolve();
    const work = former.then(async () => {
      this.#keep(key, await this.#exchange(agent, message));
      this.#working.delete(key);
      if (this.#last.get(agent.agentId) === work) this.#last.delete(agent.agentId);
    });
    this.#working.set(key, work);
    this.#last.set(agent.agentId, work);
  }

  /** Never rejects. */
  async #exchange(
    agent: HostedAgent,
    { messageId, text }: { messageId: string; text: string },
  ): Promise<AgentExchange> {
    const { host, talk, clock } = this.#deps;
    const { signal } = this.#stopping;
    const timestamp = new Date(clock.now());
    const message = { id: messageId, text, timestamp, ...conversationWith(agent.agentId) };
    try {
      const answer = await host.use(agent, (running) => talk.ask(agent, running, message, { signal }), {
        signal,
      });
      const { success, response } = answer;
      if (!success) throw new AgentProtocolError(say('agent.failure-unnamed'));
      return { messageId, state: 'answered', ...(response !== undefined && { text: response }) };
    } catch (caught) {
      return { messageId, state: 'failed', error: this.#failureOf(caught, agent.agentId) };
    }
  }

  #failureOf(caught: unknown, agentId: string): Wa2aiError {
    if (caught instanceof Wa2aiError) return caught;
    if (this.#stopping.signal.aborted) return new AgentUnavailableError(say('hosted.wa2ai-stopped'));
    this.#deps.log.error({ err: caught, agentId }, 'message of a program to an agent failed');
    const name = caught instanceof Error ? caught.name : typeof caught;
    return new AgentProtocolError(say('hosted.message-fault', { name }));
  }

  #keep(key: string, exchange: AgentExchange): void {
    this.#exchanges.delete(key);
    this.#exchanges.set(key, exchange);
    if (this.#exchanges.size <= MAX_EXCHANGES) return;
    for (const [oldest, { state }] of this.#exchanges) {
      if (state === 'working') continue;
      this.#exchanges.delete(oldest);
      return;
    }
  }

  /** The record of an agent whose node is this one, or does not run. */
  async #own(agentId: string): Promise<AgentRecord | undefined> {
    const { registry, nodeId, liveNodes } = this.#deps;
    const record = await registry.get(agentId);
    if (record && record.nodeId !== nodeId && liveNodes().includes(record.nodeId))
      throw new AgentElsewhereError(agentId, record.nodeId);
    if (record?.isDeleting) throw beingDeleted(agentId);
    return record;
  }

  #viewOf(record: AgentRecord): HostedAgentView {
    const { agentId, spec } = record.agent;
    const isOwn = record.nodeId === this.#deps.nodeId;
    // The registry does not know whether an agent works at this moment.
    const phase = (isOwn && this.#deps.host.phaseOf(agentId)) || record.phase;
    const isolation = spec.runtime === 'process' ? 'none' : 'container';
    return { ...record, phase, status: statusOf(phase), isolation };
  }
}

function statusOf(phase: AgentPhase): HostedAgentView['status'] {
  if (phase === 'ready') return 'idle';
  return phase === 'absent' || phase === 'stopped' || phase === 'failed' ? 'stopped' : 'running';
}

/** Programs share one conversation with each agent. */
function conversationWith(agentId: string): Conversation {
  return { from: 'api', channelId: agentId };
}

function beingDeleted(agentId: string): AgentUnusableError {
  return new AgentUnusableError('AGENT_DELETING', say('hosted.being-deleted', { agent: agentId }));
}
