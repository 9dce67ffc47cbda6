import type { HostedAgent } from '../hosting/agent-life.ts';
import type { Said } from '../phrases.ts';

/** One line that a container wrote. */
export interface LogLine {
  stream: 'stdout' | 'stderr';
  /** Without the line break; at most 16 KiB. */
  text: string;
}

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
  readonly refusal?: Said;
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
   * the connection to the engine was lost. Resolves then, or immediately for a runtime that has nothing to report.
   */
  watch(onChange: (agentId: string | undefined) => void, signal: AbortSignal): Promise<void>;
}

/** One file of an agent. */
export interface AgentFileInfo {
  /** Within the agent's folder, with slashes: `workspace/notes.txt`. */
  path: string;
  bytes: number;
  changedAtMs: number;
}

/** What the data of an agent takes on the disk. */
export interface AgentUsage {
  /** Each file, folder and link counts with at least 4,096, which bounds their number too. */
  bytes: number;
  /** Path of something that could not be measured: more may be there. */
  unread?: string;
}

/** The data of hosted agents: `session.json` and `workspace/` of each, in a folder that its program alone may change. */
export interface AgentFiles {
  /** Identifies the folder of all agents. Nodes that share it can start each other's agents. */
  folderId(): Promise<string>;
  /**
   * Makes the folder of an agent, with a new token when `isNew`.
   * @param owner of the files: `1000:1000`; absent: the user of wa2ai
   */
  prepare(agentId: string, options: { isNew: boolean; owner?: string }): Promise<AgentPlace>;
  /** The agent's token; undefined when it has none yet. */
  token(agentId: string): Promise<string | undefined>;
  /** What its data takes on the disk. Counting ends above the limit. */
  usage(agentId: string, limitBytes?: number): Promise<AgentUsage>;
  /** Free bytes on the disk of all agents. */
  freeBytes(): Promise<number>;
  /** Its files, by path; at most `limit`. Links are not followed. */
  list(agentId: string, limit: number): Promise<AgentFileInfo[]>;
  /** The bytes of a file; undefined when it does not exist, is not a file, or lies outside of the agent's folder. */
  read(agentId: string, path: string): Promise<Uint8Array | undefined>;
  /**
   * Stores a file, in the place of one with this path, with the owner of the agent's folder. The file is there whole or as it
   * was before. No link is followed; missing folders are made.
   * @returns false: the path is none of a file within the agent's folder, or leads through a link or a file, or is a folder
   * @throws {AgentUnusableError} the file cannot be stored
   */
  write(agentId: string, path: string, bytes: Uint8Array): Promise<boolean>;
  /** All its files as a tar archive; a file that changes meanwhile may be cut. */
  archive(agentId: string): AsyncIterable<Uint8Array>;
  /**
   * Deletes a file or folder; nothing happens when it does not exist. The agent's own folder stays.
   * @throws {AgentUnusableError} it cannot be deleted
   */
  delete(agentId: string, path: string): Promise<void>;
  /** Deletes all data of an agent, and its token. */
  remove(agentId: string): Promise<void>;
}

/** How a command ended. */
export interface ShellResult {
  output: string;
  /** Undefined: the runtime could not read it. */
  exitCode: number | undefined;
}

/** Options of a command in a session. */
export interface RunOptions {
  session: string;
  /** The runtime gives the command up after this; it then still runs, until it is interrupted. */
  timeoutMs: number;
  /** The runtime answers a repeat of this id from memory, where it can: the command runs once. */
  requestId: string;
  /** Only repeats the answer to this id, also of a command that still runs: nothing is started. */
  isRepeatOnly?: boolean;
  signal?: AbortSignal;
}

/**
 * Persistent bash sessions on another machine: a SWE-ReX runtime.
 * @throws {ShellError} from every method: the runtime reports an error
 * @throws {AgentUnavailableError} from every method: the runtime did not take the request
 * @throws {AgentTimeoutError} from every method: the request may have arrived
 * @throws {AgentProtocolError} from every method: the answer is not one of a runtime, or the address or token is refused
 */
export interface ShellRuntime {
  /** Whether it answers repeated requests from memory, also while the first one runs. Known after its first answer. */
  readonly canReplay: boolean;
  createSession(session: string, signal?: AbortSignal): Promise<void>;
  /** Ends a session and its programs. */
  closeSession(session: string): Promise<void>;
  /** Runs a command in a session. */
  run(command: string, options: RunOptions): Promise<ShellResult>;
  /** Interrupts the command that runs in the session. @returns what it wrote, when no request waits for it */
  interrupt(session: string): Promise<string>;
  /** Runs a program outside of all sessions. */
  execute(
    command: readonly string[],
    options: { timeoutMs: number; cwd?: string },
  ): Promise<{ stdout: string; stderr: string; exitCode: number }>;
  upload(path: string, bytes: Uint8Array): Promise<void>;
}
