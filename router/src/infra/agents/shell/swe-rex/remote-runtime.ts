import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Clock, withLimit } from '../../../../core/clock.ts';
import { AgentProtocolError } from '../../../../core/errors.ts';
import type { AgentHost } from '../../../../core/hosting/agent-host.ts';
import { type HostedAgent, PROFILE_PORTS } from '../../../../core/hosting/agent-life.ts';
import { ShellError, type ShellFault } from '../../../../core/hosting/hosting-errors.ts';
import { say } from '../../../../core/phrases.ts';
import type { RunOptions, ShellResult, ShellRuntime } from '../../../../core/ports/agent-runtime.ts';
import { withoutTrailing } from '../../../../core/text.ts';
import { type AgentTransport, exchangeError } from '../../transport/agent-transport.ts';
import type { Fetched } from '../../transport/bounded-fetch.ts';

/** Largest answers, in bytes: the output of a command, or a file in base64; and all others. */
const MAX_OUTPUT_BYTES = 48 * 1024 * 1024;
const MAX_BYTES = 1024 * 1024;
/** What an answer may take longer than the command. */
const GRACE_MS = 5_000;
const REPLAY_HEADER = 'x-request-replay';

const FAULTS: Record<string, ShellFault> = {
  BashIncorrectSyntaxError: 'syntax',
  CommandTimeoutError: 'timeout',
  SessionDoesNotExistError: 'session-missing',
  SessionExistsError: 'session-exists',
  EOF: 'session-ended',
  TIMEOUT: 'not-interrupted',
  FileNotFoundError: 'file',
  PermissionError: 'file',
  IsADirectoryError: 'file',
  NotADirectoryError: 'file',
};

interface RemoteRuntimeConfig {
  /** `http://127.0.0.1:8000`, with a path when the runtime is behind one. */
  url: string;
  token: string;
  transport: AgentTransport;
  clock: Clock;
  /** Longest wait for a new session, in milliseconds. Default 30,000. */
  startMs?: number;
}

interface ExchangeOptions {
  timeoutMs: number;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  maxBytes?: number;
}

/** A SWE-ReX runtime over HTTP: that of `runtime-server/`, or the Python original. */
export class RemoteRuntime implements ShellRuntime {
  readonly #config: RemoteRuntimeConfig;
  #canReplay = false;

  constructor(config: RemoteRuntimeConfig) {
    this.#config = config;
  }

  get canReplay(): boolean {
    return this.#canReplay;
  }

  async createSession(session: string, signal?: AbortSignal): Promise<void> {
    const body = { session, session_type: 'bash', startup_source: [], startup_timeout: 10 };
    await this.#post('create_session', body, { timeoutMs: this.#config.startMs ?? 30_000, signal });
  }

  async closeSession(session: string): Promise<void> {
    await this.#post('close_session', { session, session_type: 'bash' }, { timeoutMs: 30_000 });
  }

  async run(command: string, options: RunOptions): Promise<ShellResult> {
    const { session, timeoutMs, requestId, isRepeatOnly, signal } = options;
    const body = { action_type: 'bash', session, command, timeout: timeoutMs / 1_000, check: 'silent' };
    const headers = { 'x-request-id': requestId, ...(isRepeatOnly && { [REPLAY_HEADER]: 'only' }) };
    const answer = await this.#post('run_in_session', body, {
      ...{ timeoutMs, headers, signal, maxBytes: MAX_OUTPUT_BYTES },
    });
    const { output, exit_code } = observation(answer);
    return { output: output.replaceAll('\r\n', '\n'), exitCode: exit_code ?? undefined };
  }

  async interrupt(session: string): Promise<string> {
    const body = { action_type: 'bash_interrupt', session, timeout: 0.5, n_retry: 3 };
    const options = { timeoutMs: 15_000, maxBytes: MAX_OUTPUT_BYTES };
    return observation(await this.#post('run_in_session', body, options)).output;
  }

  async execute(command: readonly string[], { timeoutMs, cwd }: { timeoutMs: number; cwd?: string }) {
    const body = { command, shell: false, timeout: timeoutMs / 1_000, check: false, cwd: cwd ?? null };
    const { stdout, stderr, exit_code } = executed(
      await this.#post('execute', body, { timeoutMs, maxBytes: MAX_OUTPUT_BYTES }),
    );
    return { stdout, stderr, exitCode: exit_code };
  }

  async upload(path: string, bytes: Uint8Array): Promise<void> {
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(bytes)]), 'upload');
    form.set('target_path', path);
    form.set('unzip', 'false');
    const request = new Response(form);
    const headers = { 'content-type': request.headers.get('content-type') ?? '' };
    const body = new Uint8Array(await request.arrayBuffer());
    await this.#post('upload', body, { timeoutMs: 60_000, headers });
  }

  async #post(path: string, body: unknown, options: ExchangeOptions): Promise<unknown> {
    const fetched = await this.#fetch(path, body, options);
    options.signal?.throwIfAborted();
    const text = fetched.kind === 'answer' ? fetched.body.toString('utf8') : '';
    const status = fetched.kind === 'answer' ? fetched.status : 0;
    if (status === 409 && options.headers?.[REPLAY_HEADER]) {
      throw new ShellError('not-known', say('shell.unknown-request'), 'The command is not known.');
    }
    if (status === 511) throw shellErrorOf(text);
    if (status < 200 || status > 299) {
      const agent = say('agent-name.shell');
      throw exchangeError(fetched, {
        agent,
        aborted: say('agent.silent', { agent, ms: options.timeoutMs }),
        nowMs: this.#config.clock.now(),
        // what a runtime says of a request may quote the command
        redact: (said) => (fetched.kind === 'answer' ? '' : said),
      });
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new AgentProtocolError(say('shell.not-json', { path }), {
        cause: error,
      });
    }
  }

  async #fetch(path: string, body: unknown, options: ExchangeOptions): Promise<Fetched> {
    const { url, token, transport, clock } = this.#config;
    const headers = new Headers({
      'content-type': 'application/json',
      'x-api-key': token,
      'x-request-id': randomUUID(),
      ...options.headers,
    });
    const fetched = await withLimit(clock, options.timeoutMs + GRACE_MS, options.signal, (signal) =>
      transport.fetch(`${withoutTrailing(url, '/')}/${path}`, {
        method: 'POST',
        body: body instanceof Uint8Array ? body : JSON.stringify(body),
        ...{ headers, signal, maxBytes: options.maxBytes ?? MAX_BYTES },
      }),
    );
    if (fetched.kind === 'answer') this.#canReplay = fetched.headers.get(REPLAY_HEADER) === 'yes';
    return fetched;
  }
}

/** The class of the runtime's error decides; its traceback is never shown. */
function shellErrorOf(text: string): ShellError {
  const { message, class_path, extra_info } = errorAnswer(text);
  const name = class_path.split('.').at(-1) ?? '';
  const fault = FAULTS[name] ?? 'other';
  const { bash_stderr, output } = extra_info;
  const own = [bash_stderr, output].find((value) => typeof value === 'string' && value !== '');
  return new ShellError(fault, say('shell.reported', { name: name || 'an error' }), String(own ?? message));
}

/** The answers of a SWE-ReX runtime, as far as wa2ai reads them. */

const observationSchema = z.object({ output: z.string(), exit_code: z.int().nullish() });
const executedSchema = z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() });
const errorSchema = z.object({
  swerexception: z.object({
    message: z.string().default(''),
    class_path: z.string().default(''),
    extra_info: z.record(z.string(), z.unknown()).default({}),
  }),
});

/** @throws {AgentProtocolError} */
function observation(answer: unknown): z.output<typeof observationSchema> {
  return parsed(observationSchema, answer);
}

/** @throws {AgentProtocolError} */
function executed(answer: unknown): z.output<typeof executedSchema> {
  return parsed(executedSchema, answer);
}

/** The error in an answer with the status 511; an empty one when the answer has another form. */
function errorAnswer(text: string): z.output<typeof errorSchema>['swerexception'] {
  try {
    return errorSchema.parse(JSON.parse(text)).swerexception;
  } catch {
    return { message: '', class_path: '', extra_info: {} };
  }
}

function parsed<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.join('.') ?? '';
  throw new AgentProtocolError(say('shell.not-valid', { path }));
}

/** Starts the runtime that the image has: that of wa2ai, or the Python original, which takes its token as an argument. */
const START = [
  'if [ -f /opt/wa2ai/shell-runtime.mjs ]; then exec node /opt/wa2ai/shell-runtime.mjs; fi',
  'exec swerex-remote --auth-token="$(cat "$AGENT_TOKEN_FILE")" --port="$PORT"',
].join('\n');

interface DockerDeploymentOptions {
  /** Pulls the image, creates the container on a free port of 127.0.0.1 with its own name and token, and waits for it. */
  host: Pick<AgentHost, 'use' | 'stop'>;
  transport: AgentTransport;
  clock: Clock;
  image: string;
  /** Id, owner and idle time of the container: it stops after that time without a request. */
  container: Pick<HostedAgent, 'agentId' | 'idleMs' | 'accountId' | 'routeId' | 'usedBy'>;
  env?: Readonly<Record<string, string>>;
  /** Longest wait for a new session, in milliseconds. */
  startMs?: number;
}

/** What `start` and `use` may get. */
interface DeploymentUse {
  signal?: AbortSignal;
  /** Called once when the image is pulled and that takes long. */
  onSlowStart?(): Promise<void>;
}

/** A container with a SWE-ReX runtime, which the agent host of this node runs. Its files in `/data` survive a stop. */
export class DockerDeployment {
  readonly #options: DockerDeploymentOptions;
  readonly #agent: HostedAgent;

  constructor(options: DockerDeploymentOptions) {
    const { image, env = {}, container } = options;
    this.#options = options;
    this.#agent = {
      ...container,
      spec: {
        runtime: 'docker',
        image,
        command: ['sh', '-c', START],
        profile: 'swerex',
        port: PROFILE_PORTS.swerex,
        env,
        ...{ memoryMb: 1_024, cpus: 1, pids: 256, network: 'internet', pull: 'missing' },
      },
    };
  }

  /** Starts the container unless it runs; resolves when its runtime answers. @throws as `use` */
  async start(options: DeploymentUse = {}): Promise<void> {
    await this.use(async () => undefined, options);
  }

  /**
   * Starts the container unless it runs, and gives its runtime to `work`. It does not stop before `work` ends.
   * @throws what AgentHost.use throws
   */
  async use<T>(work: (runtime: RemoteRuntime) => Promise<T>, options: DeploymentUse = {}): Promise<T> {
    const { host, transport, clock, startMs } = this.#options;
    return await host.use(
      this.#agent,
      ({ url, token }) =>
        work(
          new RemoteRuntime({
            ...{ url, token, clock, transport: transport.alsoTo(url) },
            ...(startMs !== undefined && { startMs }),
          }),
        ),
      options,
    );
  }

  /** Stops the container with everything that runs in it; the next `use` starts it again. Idempotent. */
  async stop(): Promise<void> {
    await this.#options.host.stop(this.#agent.agentId);
  }
}
