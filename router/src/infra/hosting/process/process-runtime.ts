import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import type { HostedAgent } from '../../../core/hosting/agent-spec.ts';
import { AgentStartError, AgentUnusableError } from '../../../core/hosting/hosting-errors.ts';
import type {
  AgentInstance,
  AgentPlace,
  AgentRuntime,
  RuntimeState,
} from '../../../core/ports/agent-runtime.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { LogLine } from '../../../core/ports/container-engine.ts';
import { type ProcessRecord, ProcessRecords, startTimeOf } from './process-record.ts';

/** Variables of wa2ai's own environment that a program gets: nothing secret. */
const PASSED_ON = 'PATH LANG LC_ALL TZ TMPDIR SystemRoot NODE_EXTRA_CA_CERTS SSL_CERT_FILE'.split(' ');
/** A larger log is renamed before the next start. */
const MAX_LOG_BYTES = 5 * 1024 * 1024;
const MAX_LINE_CHARS = 16 * 1024;
/** Between two looks at a process that ends, or at a log that is followed. */
const POLL_MS = 50;

export interface ProcessRuntimeOptions {
  /** Where records and logs are. */
  folder: string;
  hostId: string;
  clock: Clock;
  env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Agents as child processes: no isolation from this machine. Each is a separate process group, so that its children end
 * with it, and writes its output to a file, so that it survives a crash of wa2ai and is adopted by the next process.
 */
export class ProcessRuntime implements AgentRuntime {
  readonly name = 'process';
  readonly isolation = 'none';
  readonly #options: ProcessRuntimeOptions;
  readonly #records: ProcessRecords;
  readonly #prepared = new Map<string, { agent: HostedAgent; place: AgentPlace }>();
  readonly #children = new Map<string, ChildProcess>();
  readonly #exits = new Map<string, number>();
  /** Ports that programs were given and may not listen on yet: nobody else gets them. */
  readonly #ports = new Map<string, number>();
  readonly #watchers = new Set<(agentId: string) => void>();

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#records = new ProcessRecords(options.folder);
  }

  async state(): Promise<RuntimeState> {
    return process.platform === 'win32'
      ? { isAvailable: false, sentence: 'processes of agents cannot be ended as a group on Windows' }
      : { isAvailable: true, sentence: 'child processes of wa2ai, without isolation' };
  }

  async find(agent: HostedAgent): Promise<(AgentInstance & { isCurrent: boolean }) | undefined> {
    const record = await this.#records.read(agent.agentId);
    if (!record) return undefined;
    const instance = await this.#instanceOf(record);
    // A process that ended cannot be started again without its settings.
    const isCurrent = record.specHash === hashOf(agent) && instance.state === 'running';
    return { ...instance, isCurrent };
  }

  async list(): Promise<AgentInstance[]> {
    const records = (await this.#records.all()).filter(({ hostId }) => hostId === this.#options.hostId);
    return await Promise.all(records.map((record) => this.#instanceOf(record)));
  }

  async hasImage(): Promise<boolean> {
    return true;
  }

  async pull(): Promise<void> {}

  async create(agent: HostedAgent, place: AgentPlace): Promise<{ warnings: string[] }> {
    const { agentId, spec } = agent;
    if (!spec.command?.length) {
      throw new AgentUnusableError(
        'AGENT_SETTINGS',
        `The hosted agent ${agentId} has the runtime "process" and no command. Set hosted.command, or use the runtime "docker".`,
      );
    }
    await this.remove(agentId);
    await this.#records.write({ agentId, hostId: this.#options.hostId, specHash: hashOf(agent) });
    this.#prepared.set(agentId, { agent, place });
    return { warnings: [] };
  }

  async start(agentId: string): Promise<AgentInstance> {
    const record = await this.#records.read(agentId);
    const prepared = this.#prepared.get(agentId);
    if (!record || !prepared)
      throw new AgentStartError(`The process of the hosted agent ${agentId} is not prepared.`);
    const running = await instanceOf(record);
    if (running.state === 'running') return running;
    const { spec } = prepared.agent;
    const port = await this.#portFor(agentId, spec.port);
    const child = await this.#spawn(prepared, port);
    const pid = child.pid as number;
    const startedAt = await startTimeOf(pid);
    const started: ProcessRecord = { ...record, pid, port, ...(startedAt !== undefined && { startedAt }) };
    await this.#records.write(started);
    return await this.#instanceOf(started);
  }

  async inspect(agentId: string): Promise<AgentInstance | undefined> {
    const record = await this.#records.read(agentId);
    return record && (await this.#instanceOf(record));
  }

  async stop(agentId: string, graceMs: number): Promise<void> {
    const { clock } = this.#options;
    const isRunning = async () => (await this.inspect(agentId))?.state === 'running';
    const record = await this.#records.read(agentId);
    if (record?.pid === undefined || !(await isRunning())) return;
    signalGroup(record.pid, 'SIGTERM');
    const startedMs = clock.monotonicMs();
    while (await isRunning()) {
      if (clock.monotonicMs() - startedMs >= graceMs) signalGroup(record.pid, 'SIGKILL');
      await clock.sleep(POLL_MS);
    }
    // Children of the program that did not end with it.
    signalGroup(record.pid, 'SIGKILL');
  }

  async remove(agentId: string): Promise<void> {
    await this.stop(agentId, 0);
    await this.#records.remove(agentId);
    this.#prepared.delete(agentId);
    this.#exits.delete(agentId);
  }

  async *logs(
    agentId: string,
    { tail, follow, signal }: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine> {
    const path = this.#logOf(agentId);
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    // Keeps the first bytes of a character until the others are written.
    let decoder = new StringDecoder('utf8');
    let offset = bytes.byteLength;
    const lines = decoder.write(bytes).split('\n');
    let rest = lines.pop() ?? '';
    for (const line of lines.slice(-tail)) yield lineOf(line);
    while (follow && !signal.aborted) {
      const isRunning = (await this.inspect(agentId))?.state === 'running';
      const size = (await stat(path).catch(() => undefined))?.size ?? 0;
      // The log began again.
      if (size < offset) [offset, rest, decoder] = [0, '', new StringDecoder('utf8')];
      if (size > offset) {
        const file = await open(path);
        try {
          const { buffer, bytesRead } = await file.read(
            Buffer.alloc(Math.min(size - offset, 65_536)),
            0,
            undefined,
            offset,
          );
          offset += bytesRead;
          rest += decoder.write(buffer.subarray(0, bytesRead));
        } finally {
          await file.close();
        }
        const more = rest.split('\n');
        rest = more.pop() ?? '';
        for (const line of more) yield lineOf(line);
      } else if (!isRunning) break;
      else await this.#options.clock.sleep(POLL_MS, signal).catch(() => undefined);
    }
    rest += decoder.end();
    if (rest !== '') yield lineOf(rest);
  }

  async watch(onChange: (agentId: string | undefined) => void, signal: AbortSignal): Promise<void> {
    this.#watchers.add(onChange);
    try {
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      this.#watchers.delete(onChange);
    }
  }

  async #portFor(agentId: string, wanted: number): Promise<number> {
    for (;;) {
      const port = await freePort(wanted, agentId);
      const isGiven = [...this.#ports].some(([other, given]) => other !== agentId && given === port);
      if (isGiven && wanted === 0) continue;
      this.#ports.set(agentId, port);
      return port;
    }
  }

  async #instanceOf(record: ProcessRecord): Promise<AgentInstance> {
    const { agentId, pid } = record;
    const found = await instanceOf(record, this.#exits.get(agentId));
    if (found.state !== 'exited' || found.exitCode !== undefined) return found;
    const child = this.#children.get(agentId);
    // The system knows of the end before Node.js does, which has the exit code.
    if (child?.pid === pid && child?.exitCode === null && child.signalCode === null)
      await once(child, 'exit');
    return await instanceOf(record, this.#exits.get(agentId));
  }

  async #spawn(
    { agent, place }: { agent: HostedAgent; place: AgentPlace },
    port: number,
  ): Promise<ChildProcess> {
    const { agentId, spec } = agent;
    const [program = '', ...args] = spec.command ?? [];
    const log = await this.#openLog(agentId);
    try {
      const child = spawn(program, args, {
        cwd: join(place.folder, 'workspace'),
        env: this.#envOf(agent, place, port),
        // A separate group: a signal reaches its children too.
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
      });
      this.#exits.delete(agentId);
      this.#children.set(agentId, child);
      child.once('exit', (code, signal) => {
        if (this.#children.get(agentId) !== child) return;
        this.#children.delete(agentId);
        this.#ports.delete(agentId);
        this.#exits.set(agentId, code ?? (signal === null ? 1 : 128));
        for (const report of this.#watchers) report(agentId);
      });
      await once(child, 'spawn');
      // It must not keep wa2ai alive.
      child.unref();
      return child;
    } catch (error) {
      this.#children.delete(agentId);
      this.#ports.delete(agentId);
      const reason = error instanceof Error ? error.message : String(error);
      throw new AgentUnusableError(
        'AGENT_START_REFUSED',
        `The program of the hosted agent ${agentId} cannot be started: ${reason}. Check hosted.command.`,
        { cause: error },
      );
    } finally {
      await log.close();
    }
  }

  #envOf({ agentId, spec }: HostedAgent, { folder, tokenFile }: AgentPlace, port: number): NodeJS.ProcessEnv {
    const own = this.#options.env ?? process.env;
    const passedOn = PASSED_ON.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]));
    return {
      ...Object.fromEntries(passedOn),
      HOME: folder,
      ...spec.env,
      ...{
        PORT: String(port),
        HOST: '127.0.0.1',
        DATA_DIR: folder,
        AGENT_TOKEN_FILE: tokenFile,
        AGENT_ID: agentId,
      },
    };
  }

  async #openLog(agentId: string) {
    const path = this.#logOf(agentId);
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    const size = (await stat(path).catch(() => undefined))?.size ?? 0;
    if (size > MAX_LOG_BYTES) {
      await rm(`${path}.1`, { force: true });
      await rename(path, `${path}.1`);
    }
    return await open(path, 'a', 0o600);
  }

  #logOf(agentId: string): string {
    return join(this.#options.folder, `${agentId}.log`);
  }
}

async function instanceOf(record: ProcessRecord, exitCode?: number): Promise<AgentInstance> {
  const { agentId, pid, startedAt, port } = record;
  const base = { id: pid === undefined ? '' : String(pid), agentId };
  if (pid === undefined) return { ...base, state: 'created' };
  const isRunning = startedAt !== undefined && (await startTimeOf(pid)) === startedAt;
  if (isRunning && exitCode === undefined)
    return { ...base, state: 'running', url: `http://127.0.0.1:${port}` };
  return { ...base, state: 'exited', ...(exitCode !== undefined && { exitCode }) };
}

function hashOf({ spec }: HostedAgent): string {
  const { image: _, pull: __, memoryMb: ___, cpus: ____, pids: _____, network: ______, ...used } = spec;
  return createHash('sha256')
    .update(JSON.stringify(Object.entries(used).sort()))
    .digest('hex')
    .slice(0, 16);
}

/** A port that nobody listens on now: the wanted one, or any. Another program may take it before the agent does. */
async function freePort(wanted: number, agentId: string): Promise<number> {
  const server = createServer();
  try {
    server.listen(wanted, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : wanted;
  } catch (error) {
    throw new AgentUnusableError(
      'AGENT_PORT_TAKEN',
      `Port ${wanted} of the hosted agent ${agentId} is in use. Remove hosted.port so that each agent gets a free one, or use the runtime "docker".`,
      { cause: error },
    );
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

function signalGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended.
  }
}

/** The process writes both streams to one file. */
function lineOf(text: string): LogLine {
  return { stream: 'stdout', text: text.replace(/\r$/, '').slice(0, MAX_LINE_CHARS) };
}
