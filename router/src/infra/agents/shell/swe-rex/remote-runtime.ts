import { randomUUID } from 'node:crypto';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { ShellError, type ShellFault } from '../../../../core/hosting/hosting-errors.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { RunOptions, ShellResult, ShellRuntime } from '../../../../core/ports/shell-runtime.ts';
import { withLimit } from '../../../../core/time-limit.ts';
import { withoutTrailing } from '../../../../core/without-trailing.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import type { Fetched } from '../../transport/bounded-fetch.ts';
import { exchangeError } from '../../transport/exchange-error.ts';
import { errorAnswer, executed, observation } from './wire.ts';

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

export interface RemoteRuntimeConfig {
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
      throw new ShellError(
        'not-known',
        'The shell runtime does not know the request.',
        'The command is not known.',
      );
    }
    if (status === 511) throw shellErrorOf(text);
    if (status < 200 || status > 299) {
      throw exchangeError(fetched, {
        agent: 'shell runtime',
        aborted: `The shell runtime did not answer within ${options.timeoutMs} ms.`,
        nowMs: this.#config.clock.now(),
        // what a runtime says of a request may quote the command
        redact: (said) => (fetched.kind === 'answer' ? '' : said),
      });
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new AgentProtocolError(`The shell runtime answered ${path} with something else than JSON.`, {
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
  return new ShellError(fault, `The shell runtime reported ${name || 'an error'}.`, String(own ?? message));
}
