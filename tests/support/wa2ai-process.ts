import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { builtService, repositoryRoot } from './repository.ts';

const MAIN = join(builtService, 'main.js');
/** Arguments for a Node that was started with an IPC channel; see end-with-parent.ts. */
export const END_WITH_PARENT = [
  '--import',
  pathToFileURL(join(repositoryRoot, 'dist/tests/support/end-with-parent.js')).href,
];

/** What libsignal prints of a session, with its private keys. */
const SIGNAL_SESSION = /SessionEntry|^Closing (open )?session|privKey/;

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

/** A JSON log line of the service. */
export interface LogLine {
  level: (typeof LEVELS)[number];
  msg: string;
  [field: string]: unknown;
}

export function isAtLeast(level: LogLine['level'], line: LogLine): boolean {
  return LEVELS.indexOf(line.level) >= LEVELS.indexOf(level);
}

export interface Wa2aiOptions {
  whatsappWsUrl: string;
  /** Leave out to use the embedded database in `dataDir`. */
  databaseUrl?: string;
  dataDir?: string;
  env?: Record<string, string>;
  /** Switches for Node itself, such as `--cpu-prof`. */
  nodeArgs?: string[];
  /** Another built service than this repository's. */
  main?: string | undefined;
  /** The service ends when this process does, however it ends. Ctrl-C in the terminal reaches this process only. */
  endWithParent?: boolean;
}

/** The built service as its own process, with its log lines as events and its API as calls. */
export class Wa2aiProcess {
  readonly #child: ChildProcess;
  readonly #lines: LogLine[] = [];
  readonly #events = new EventEmitter();
  /** Everything the process wrote, for a test's failure message. */
  output = '';
  url = '';
  #leaked: string | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#events.setMaxListeners(100);
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (text) => this.#take(text));
    }
    child.once('exit', (code, signal) => this.#events.emit('exit', code, signal));
  }

  /** Starts the service and waits until it is ready; throws with its output when it ends before. */
  static async start(options: Wa2aiOptions): Promise<Wa2aiProcess> {
    const service = Wa2aiProcess.spawn(options);
    await service.untilReady();
    return service;
  }

  /** Starts the process only. */
  static spawn(options: Wa2aiOptions): Wa2aiProcess {
    const { nodeArgs = [], main = MAIN, endWithParent = false } = options;
    const preload = endWithParent ? END_WITH_PARENT : [];
    const child = spawn(process.execPath, [...preload, ...nodeArgs, main], {
      stdio: ['ignore', 'pipe', 'pipe', ...(endWithParent ? (['ipc'] as const) : [])],
      detached: endWithParent,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        WA2AI_PORT: '0',
        WA2AI_LOG_FORMAT: 'json',
        WA2AI_LOG_LEVEL: 'debug',
        WA2AI_WHATSAPP_WS_URL: options.whatsappWsUrl,
        ...(options.databaseUrl && { DATABASE_URL: options.databaseUrl }),
        // Services of tests that run at the same time share the default data folder, and so its Unix socket.
        ...(!options.dataDir && !options.env?.WA2AI_DATA_DIR && { WA2AI_SOCKET: 'off' }),
        ...(options.dataDir && { WA2AI_DATA_DIR: options.dataDir }),
        ...options.env,
      },
    });
    return new Wa2aiProcess(child);
  }

  /** Resolves when the service answers requests at `url`; rejects with its output when it ends before. */
  async untilReady(): Promise<void> {
    const ready = await this.untilLog((line) => line.msg === 'wa2ai is ready', 60_000);
    this.url = String(ready.url);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Log lines so far. */
  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  /** Lines of level warn and above, but for the one that a start without a data key logs. */
  get warnings(): readonly LogLine[] {
    return this.#lines.filter((line) => isAtLeast('warn', line) && line.variable !== 'WA2AI_DATA_KEY_FILE');
  }

  /**
   * The first log line, past or to come, that fits; `from` leaves out that many earlier lines (see `lines`). Rejects
   * when the process ends or the time is over.
   */
  untilLog(fits: (line: LogLine) => boolean, timeoutMs = 60_000, from = 0): Promise<LogLine> {
    const past = this.#lines.slice(from).find(fits);
    if (past) return Promise.resolve(past);
    return new Promise((resolve, reject) => {
      const end = (error?: Error, line?: LogLine) => {
        clearTimeout(timer);
        this.#events.off('line', onLine).off('exit', onExit);
        if (line) resolve(line);
        else reject(error);
      };
      const onLine = (line: LogLine) => fits(line) && end(undefined, line);
      const onExit = () => end(new Error(`wa2ai ended before the awaited log line:\n${this.tail()}`));
      const timer = setTimeout(() => {
        end(new Error(`the awaited log line did not come in ${timeoutMs} ms:\n${this.tail()}`));
      }, timeoutMs);
      this.#events.on('line', onLine).on('exit', onExit);
    });
  }

  /** The last lines that the process wrote. */
  tail(): string {
    return this.output.split('\n').slice(-40).join('\n');
  }

  /** Resolves with the exit code (null: ended by a signal). */
  async untilExit(): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const [code] = await once(this.#child, 'exit');
    return code;
  }

  /**
   * Ends the process and waits for its end; the default asks it to stop cleanly.
   * @throws when the process ever printed a Signal session
   */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal);
    const code = await this.untilExit();
    this.assertNothingLeaked();
    return code;
  }

  /** @throws when the process ever printed a Signal session */
  assertNothingLeaked(): void {
    if (this.#leaked !== undefined) throw new Error(`wa2ai printed a Signal session: ${this.#leaked}`);
  }

  /** Calls the REST API; the body is parsed as JSON. */
  async api(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; body: Record<string, unknown> & { data?: unknown } }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Creates an ADK route; throws unless it was created. */
  async addRoute(
    channelId: string,
    agentUrl: string | undefined,
    more: Record<string, unknown> = {},
  ): Promise<{ id: string }> {
    const { config, ...fields } = more as { config?: Record<string, unknown> };
    const { status, body } = await this.api('POST', '/api/routes', {
      channelId,
      agentEndpoint: agentUrl,
      environment: 'lab',
      config: { adk: { appName: 'test_agent' }, ...config },
      ...fields,
    });
    if (status !== 201) throw new Error(`route was not created: ${status} ${JSON.stringify(body)}`);
    return body.data as { id: string };
  }

  #take(text: string): void {
    this.output += `${text}\n`;
    if (SIGNAL_SESSION.test(text)) this.#leaked ??= text;
    let line: LogLine;
    try {
      line = JSON.parse(text);
    } catch {
      return;
    }
    this.#lines.push(line);
    this.#events.emit('line', line);
  }
}
