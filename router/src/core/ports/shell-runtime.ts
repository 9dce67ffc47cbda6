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
