import type { HostedAgent } from '../hosting/agent-spec.ts';
import type { LogLine } from './container-engine.ts';

/** An agent that exists at a runtime: a container, or a process with its record. */
export interface AgentInstance {
  /** Of the container, or of the process. */
  id: string;
  agentId: string;
  state: 'created' | 'running' | 'exited';
  /** `http://127.0.0.1:32768`; only while it runs, and another one after each start. */
  url?: string;
  exitCode?: number;
}

/** Where an agent keeps its data, on this machine. */
export interface AgentPlace {
  /** The agent's folder, which it sees as DATA_DIR. */
  folder: string;
  /** A file with the agent's token, which only its program may read. */
  tokenFile: string;
}

/** What a runtime says about itself. */
export interface RuntimeState {
  isAvailable: boolean;
  /** One sentence: what it uses, or why it cannot be used. */
  sentence: string;
}

/**
 * Runs hosted agents on this machine. Everything that it makes names this host, and it never touches the rest.
 * @throws {EngineUnavailableError} from every method: nothing was changed, call again
 */
export interface AgentRuntime {
  readonly name: 'docker' | 'process';
  /** What separates an agent from this machine and from other agents. */
  readonly isolation: 'container' | 'none';
  /** Why the operator does not let it run agents, as a sentence; absent: it may. */
  readonly refusal?: string;
  state(): Promise<RuntimeState>;
  /** The user and group of an agent's program, and of its files: `1000:1000`; absent: those of wa2ai. */
  ownerOf(agentId: string): string | undefined;
  /** The instance of an agent; `isCurrent` is false when its image or its spec has changed since it was created. */
  find(agent: HostedAgent): Promise<(AgentInstance & { isCurrent: boolean }) | undefined>;
  /** Every instance of this host, in any state. */
  list(): Promise<AgentInstance[]>;
  /** Whether the agent can be created without a pull. */
  hasImage(agent: HostedAgent): Promise<boolean>;
  /** @throws {ImagePullError} */
  pull(agent: HostedAgent, signal: AbortSignal): Promise<void>;
  /**
   * Makes an instance without starting it; one with the agent's name is replaced.
   * @returns what the operator should know
   */
  create(agent: HostedAgent, place: AgentPlace): Promise<{ warnings: string[] }>;
  /** Starts the instance. One that runs stays as it is. */
  start(agentId: string): Promise<AgentInstance>;
  inspect(agentId: string): Promise<AgentInstance | undefined>;
  /** Asks the program to end, and ends it after `graceMs`. */
  stop(agentId: string, graceMs: number): Promise<void>;
  /** Removes the instance, running or not, without its data. */
  remove(agentId: string): Promise<void>;
  /** Bytes of files that the agent's program has deleted and keeps open, as far as this machine tells. */
  deletedBytes(agentId: string): Promise<number>;
  logs(
    agentId: string,
    options: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine>;
  /**
   * Reports instances that may have ended or started, until the signal aborts; `undefined` stands for all of them, after
   * the connection to the engine was lost. Resolves then, or at once for a runtime that has nothing to report.
   */
  watch(onChange: (agentId: string | undefined) => void, signal: AbortSignal): Promise<void>;
}
