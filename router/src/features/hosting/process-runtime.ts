import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { z } from 'zod';
import { OWN_REQUEST_HEADER } from '../../core/access/caller.ts';
import type { Clock } from '../../core/clock.ts';
import { type AgentProfile, type HostedAgent, tokenHeaders } from '../../core/hosting/agent-life.ts';
import { AgentStartError, AgentUnusableError } from '../../core/hosting/hosting-errors.ts';
import { type Said, say } from '../../core/phrases.ts';
import type { AgentProbe, RunningAgent } from '../../core/ports/agent-registry.ts';
import type {
  AgentInstance,
  AgentPlace,
  AgentRuntime,
  LogLine,
  RuntimeState,
} from '../../core/ports/agent-runtime.ts';
import { deletedBytes } from './docker-runtime.ts';

/** Variables of wa2ai's own environment that a program gets: nothing secret. */
const PASSED_ON = 'PATH LANG LC_ALL TZ TMPDIR SystemRoot NODE_EXTRA_CA_CERTS SSL_CERT_FILE'.split(' ');
/** Of a larger log, the last part is kept in a second file, and the first one begins again. */
const MAX_LOG_BYTES = 5 * 1024 * 1024;
const KEPT_LOG_BYTES = 1024 * 1024;
const LOG_CHECK_MS = 1_000;
/** Largest part of a log that is read for its last lines. */
const MAX_TAIL_BYTES = 4 * 1024 * 1024;
const BLOCK_BYTES = 64 * 1024;
const MAX_LINE_CHARS = 16 * 1024;
/** Between two looks at a process that ends, or at a log that is followed. */
const POLL_MS = 50;

/** Users of agents, one for each, where wa2ai is root: above those of people, services and containers. */
const FIRST_USER = 1_900_000_000;
const USERS = 0x1_00_00_00;

interface ProcessRuntimeOptions {
  /** Whether the operator lets agents run as processes; otherwise it only ends those that an earlier wa2ai started. */
  isAllowed: boolean;
  /** Where records and logs are. */
  folder: string;
  hostId: string;
  clock: Clock;
  env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Agents as child processes, without isolation from this machine: they can do what their user can do. Where wa2ai is root, each
 * has another user, which neither reads the files of wa2ai or of other agents, nor its environment. Each is a separate process group, so that its children end
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
  readonly #bounded = new Map<string, NodeJS.Timeout>();
  readonly #watchers = new Set<(agentId: string) => void>();

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#records = new ProcessRecords(options.folder);
  }

  get refusal(): Said | undefined {
    return this.#options.isAllowed ? undefined : say('hosted.processes-off');
  }

  ownerOf(agentId: string): string | undefined {
    if (process.getuid?.() !== 0) return undefined;
    const user = FIRST_USER + (createHash('sha256').update(agentId).digest().readUInt32BE(0) % USERS);
    return `${user}:${user}`;
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
      throw new AgentUnusableError('AGENT_SETTINGS', say('hosted.no-command', { agent: agentId }));
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
      throw new AgentStartError(say('hosted.process-not-prepared', { agent: agentId }));
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
    clearInterval(this.#bounded.get(agentId));
    this.#bounded.delete(agentId);
  }

  async deletedBytes(agentId: string): Promise<number> {
    const pid = (await this.#records.read(agentId))?.pid;
    if (pid === undefined) return 0;
    const user = Number(this.ownerOf(agentId)?.split(':')[0] ?? Number.NaN);
    return await deletedBytes(this.#options.folder, async (path) => {
      if ((await stat(path)).uid === user) return true;
      const text = await readFile(`${path}/stat`, 'utf8');
      // After the name in brackets: state, parent, group, session.
      const [, , group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
      return group === String(pid) || session === String(pid);
    });
  }

  async *logs(
    agentId: string,
    { tail, follow, signal }: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine> {
    const path = this.#logOf(agentId);
    const { bytes, size } = await lastBytes(path, tail);
    // Keeps the first bytes of a character until the others are written.
    let decoder = new StringDecoder('utf8');
    let offset = size;
    const lines = decoder.write(bytes).split('\n');
    let rest = lines.pop() ?? '';
    const missing = tail - lines.length;
    if (missing > 0) {
      const before = (await lastBytes(`${path}.1`, missing)).bytes.toString('utf8').split('\n').slice(0, -1);
      lines.unshift(...before.slice(-missing));
    }
    for (const line of tail > 0 ? lines.slice(-tail) : []) yield lineOf(line);
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
        if (rest.length > MAX_LINE_CHARS) {
          yield lineOf(rest);
          rest = '';
        }
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
    if (found.state === 'running' && pid !== undefined) this.#boundLog(agentId, pid);
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
    const [uid, gid] = this.ownerOf(agentId)?.split(':').map(Number) ?? [];
    if (uid !== undefined) await refuseUnreachable(agentId, place.folder);
    const log = await this.#openLog(agentId);
    try {
      const child = spawn(program, args, {
        cwd: join(place.folder, 'workspace'),
        env: this.#envOf(agent, place, port),
        // A separate group: a signal reaches its children too.
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        ...(uid !== undefined && { uid, gid: gid ?? uid }),
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
        say('hosted.program-not-started', { agent: agentId, why: reason }),
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
    await shortenLog(path);
    return await open(path, 'a', 0o600);
  }

  /** Keeps the log of a process short while it runs, also of one that an earlier wa2ai started. */
  #boundLog(agentId: string, pid: number): void {
    if (this.#bounded.has(agentId)) return;
    const timer = setInterval(() => {
      shortenLog(this.#logOf(agentId)).catch(() => undefined);
      if (isAlive(pid)) return;
      clearInterval(timer);
      this.#bounded.delete(agentId);
    }, LOG_CHECK_MS);
    timer.unref();
    this.#bounded.set(agentId, timer);
  }

  #logOf(agentId: string): string {
    return join(this.#options.folder, `${agentId}.log`);
  }
}

/** @throws {AgentUnusableError} another user than root does not reach the folder of the agent */
async function refuseUnreachable(agentId: string, folder: string): Promise<void> {
  for (let path = dirname(folder); ; path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) === 0) {
      throw new AgentUnusableError(
        'AGENT_START_REFUSED',
        say('hosted.folder-out-of-reach', { agent: agentId, path }),
      );
    }
    if (dirname(path) === path) return;
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
      say('hosted.port-taken', { port: wanted, agent: agentId }),
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

/** Cuts a log that is too long. The process goes on writing: it appends. Lines that it writes at this moment may be lost. */
async function shortenLog(path: string): Promise<void> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  if (size <= MAX_LOG_BYTES) return;
  const file = await open(path, 'r+');
  try {
    const kept = Buffer.alloc(KEPT_LOG_BYTES);
    const { bytesRead } = await file.read(kept, 0, kept.length, size - kept.length);
    const end = kept.subarray(0, bytesRead);
    await writeFile(`${path}.1`, end.subarray(end.indexOf(10) + 1), { mode: 0o600 });
    await file.truncate(0);
  } finally {
    await file.close();
  }
}

/** The end of a file with at least so many line breaks, read from its end; at most 4 MiB. Empty when there is no file. */
async function lastBytes(path: string, lines: number): Promise<{ bytes: Buffer; size: number }> {
  const file = await open(path).catch(() => undefined);
  if (!file) return { bytes: Buffer.alloc(0), size: 0 };
  try {
    const { size } = await file.stat();
    const blocks: Buffer[] = [];
    let found = 0;
    let start = size;
    while (start > 0 && found <= lines && size - start < MAX_TAIL_BYTES) {
      const from = Math.max(0, start - BLOCK_BYTES);
      const block = Buffer.alloc(start - from);
      await file.read(block, 0, block.length, from);
      for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, at + 1)) found += 1;
      blocks.unshift(block);
      start = from;
    }
    const bytes = Buffer.concat(blocks);
    // The first line may be cut.
    return { bytes: start > 0 ? bytes.subarray(bytes.indexOf(10) + 1) : bytes, size };
  } finally {
    await file.close();
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The process writes both streams to one file. */
function lineOf(text: string): LogLine {
  return { stream: 'stdout', text: text.replace(/\r$/, '').slice(0, MAX_LINE_CHARS) };
}

/** A process that wa2ai started, as its file says. A process id alone may belong to another program meanwhile. */
const recordSchema = z.object({
  agentId: z.string(),
  hostId: z.string(),
  specHash: z.string(),
  /** Absent: it never ran. */
  pid: z.number().optional(),
  /** When the process began, as the system says. */
  startedAt: z.string().optional(),
  port: z.number().optional(),
  exitCode: z.number().optional(),
});

type ProcessRecord = z.output<typeof recordSchema>;

/** The files about processes of agents, one for each: written to a temporary file and renamed, so each is whole. */
class ProcessRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(record: ProcessRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(record.agentId);
    const file = await open(`${path}.new`, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(record));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.new`, path);
  }

  /** Undefined: there is none, or it is damaged. */
  async read(agentId: string): Promise<ProcessRecord | undefined> {
    try {
      const parsed = recordSchema.safeParse(JSON.parse(await readFile(this.#pathOf(agentId), 'utf8')));
      return parsed.data;
    } catch {
      return undefined;
    }
  }

  async all(): Promise<ProcessRecord[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length));
    const records = await Promise.all(ids.sort().map((agentId) => this.read(agentId)));
    return records.filter((record) => record !== undefined);
  }

  async remove(agentId: string): Promise<void> {
    await rm(this.#pathOf(agentId), { force: true });
  }

  #pathOf(agentId: string): string {
    return join(this.#folder, `${agentId}.json`);
  }
}

/** When the process with this id began, in a form that is only compared; undefined when it does not run. */
async function startTimeOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      // The name in brackets may contain spaces; the state follows it, and the start time is the 20th field after it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? undefined : fields[19];
    } catch {
      return undefined;
    }
  }
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim() || undefined;
  } catch {
    return undefined;
  }
}

/** The path whose answer says that a program is ready. */
const PATHS: Record<AgentProfile, string> = {
  chat: '/health',
  adk: '/list-apps',
  abi: '/health',
  agentcore: '/ping',
  a2a: '/.well-known/agent-card.json',
  swerex: '/is_alive',
};
/** Of a status answer wa2ai reads no more than this. */
const MAX_BYTES = 4_096;

/**
 * Asks over HTTP. Any HTTP answer but 502, 503 and 504 counts as ready: many agents have no path for their health. A
 * connection alone proves nothing, because an engine accepts it before the program listens.
 */
export class HttpAgentProbe implements AgentProbe {
  async ask(
    { url, token }: RunningAgent,
    profile: AgentProfile,
    signal: AbortSignal,
  ): Promise<'silent' | 'ready' | 'busy'> {
    try {
      const response = await fetch(`${url}${PATHS[profile]}`, {
        headers: { ...tokenHeaders(token), [OWN_REQUEST_HEADER]: 'wa2ai' },
        redirect: 'manual',
        signal,
      });
      const text = await startOf(response);
      if (response.status >= 502 && response.status <= 504) return 'silent';
      return saysBusy(text) ? 'busy' : 'ready';
    } catch {
      return 'silent';
    }
  }
}

/** `{"status": "HealthyBusy"}` of the AgentCore contract; wa2ai reads `busy` in the same way. */
function saysBusy(text: string): boolean {
  return /"status"\s*:\s*"[^"]*busy"/i.test(text);
}

async function startOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  let text = '';
  const decoder = new TextDecoder();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    text += decoder.decode(read.value, { stream: true });
    if (text.length > MAX_BYTES) {
      await reader.cancel().catch(() => undefined);
      break;
    }
  }
  return text;
}
