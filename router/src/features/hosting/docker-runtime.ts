import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { type HostedAgent, isImageName } from '../../core/hosting/agent-life.ts';
import {
  AgentStartError,
  AgentUnusableError,
  ContainerNameTakenError,
  EngineRefusedError,
  ImageMissingError,
} from '../../core/hosting/hosting-errors.ts';
import { say } from '../../core/phrases.ts';
import type {
  AgentInstance,
  AgentPlace,
  AgentRuntime,
  LogLine,
  RuntimeState,
} from '../../core/ports/agent-runtime.ts';
import type { ContainerEngine, ContainerSpec, ContainerState } from './container-engine.ts';

/** Where a container sees the agent's folder and its token. */
const DATA_DIR = '/data';
const TOKEN_FILE = '/run/wa2ai/agent-token';
/** Part of the hash of a spec: another number re-creates every container. */
const SPEC_VERSION = 3;
/** A pull during which nothing happens for this long has failed. */
const PULL_STALL_MS = 120_000;

const HOST_LABEL = 'wa2ai.host';
const AGENT_LABEL = 'wa2ai.agent';
const SPEC_LABEL = 'wa2ai.spec';

interface DockerRuntimeOptions {
  engine: ContainerEngine;
  /** Name of this host: its containers carry it, and no other container is touched. */
  hostId: string;
  /** Where the folders of agents are. Absent: deleted files that programs keep open are not counted. */
  folder?: string;
  /** `1000:1000`: the user of the programs. */
  user: string;
  /** What agents with the network `internet` may reach besides public addresses. Default: nothing. */
  allowedNetworks?: 'any' | readonly string[];
  /** The path that the engine's machine has for a path of this one: another one when wa2ai runs in a container. */
  hostPathOf?(path: string): string;
}

/** Agents in containers, each in its own network. */
export class DockerRuntime implements AgentRuntime {
  readonly name = 'docker';
  readonly isolation = 'container';
  readonly #options: DockerRuntimeOptions;

  constructor(options: DockerRuntimeOptions) {
    this.#options = options;
  }

  ownerOf(): string {
    return this.#options.user;
  }

  async state(): Promise<RuntimeState> {
    try {
      const { kind, version, address, limitsProblem } = await this.#options.engine.info();
      const problem = limitsProblem === undefined ? '' : `, but ${limitsProblem}`;
      return { isAvailable: true, sentence: `${kind} ${version} at ${address}${problem}` };
    } catch (error) {
      return { isAvailable: false, sentence: error instanceof Error ? error.message : String(error) };
    }
  }

  async find(agent: HostedAgent): Promise<(AgentInstance & { isCurrent: boolean }) | undefined> {
    const { engine } = this.#options;
    const container = await engine.inspect(this.#nameOf(agent.agentId));
    if (!container) return undefined;
    const { image = '', pull } = agent.spec;
    const imageId = pull === 'never' || pull === 'missing' ? await engine.imageId(image) : container.imageId;
    // An image that is gone meanwhile is not needed for its container.
    const hasSameImage = imageId === undefined || imageId === container.imageId;
    const isCurrent = container.labels[SPEC_LABEL] === this.#hashOf(agent) && hasSameImage;
    return { ...instanceOf(container), isCurrent };
  }

  async list(): Promise<AgentInstance[]> {
    const containers = await this.#options.engine.list({ [HOST_LABEL]: this.#options.hostId });
    return containers.map(instanceOf);
  }

  async hasImage({ spec }: HostedAgent): Promise<boolean> {
    const image = imageOf(spec.image);
    if ((await this.#options.engine.imageId(image)) !== undefined) return true;
    if (spec.pull === 'never') throw new ImageMissingError(image);
    return false;
  }

  async pull({ agentId, spec }: HostedAgent, signal: AbortSignal): Promise<void> {
    const image = imageOf(spec.image);
    try {
      await this.#options.engine.pull(image, { stallMs: PULL_STALL_MS, onProgress: () => undefined, signal });
    } catch (error) {
      // Without the registry a local image is good enough.
      if (spec.pull === 'always' && (await this.#options.engine.imageId(image)) !== undefined) return;
      throw error instanceof Error
        ? error
        : new AgentStartError(say('hosted.image-of-agent-not-pulled', { agent: agentId }));
    }
  }

  async create(agent: HostedAgent, place: AgentPlace): Promise<{ warnings: string[] }> {
    const { engine } = this.#options;
    const { agentId } = agent;
    const name = this.#nameOf(agentId);
    const labels = { [HOST_LABEL]: this.#options.hostId, [AGENT_LABEL]: agentId };
    const container = this.#containerOf(agent, place, { ...labels, [SPEC_LABEL]: this.#hashOf(agent) });
    const create = async () => {
      await engine.ensureNetwork(name, { labels });
      return await this.#createOrReplace(container);
    };
    const { id, warnings } = await create().catch(async (error: unknown) => {
      // The network was there and is gone: by `docker network prune`, or a removal that took longer than its request.
      if (error instanceof EngineRefusedError) return await create();
      throw error;
    });
    if (!(await engine.hasPath(id, `${DATA_DIR}/workspace`))) {
      await engine.remove(id);
      throw new AgentUnusableError(
        'AGENT_DATA_NOT_MOUNTED',
        say('hosted.data-not-mounted', { path: place.folder }),
      );
    }
    return { warnings };
  }

  async start(agentId: string): Promise<AgentInstance> {
    const { engine } = this.#options;
    const name = this.#nameOf(agentId);
    try {
      await engine.start(name);
    } catch (error) {
      if (error instanceof EngineRefusedError)
        throw new AgentUnusableError('AGENT_START_REFUSED', error.said, { cause: error });
      throw error;
    }
    const container = await engine.inspect(name);
    if (!container) throw new AgentStartError(say('hosted.container-gone', { agent: agentId }));
    return instanceOf(container);
  }

  async inspect(agentId: string): Promise<AgentInstance | undefined> {
    const container = await this.#options.engine.inspect(this.#nameOf(agentId));
    return container && instanceOf(container);
  }

  async stop(agentId: string, graceMs: number): Promise<void> {
    await this.#options.engine.stop(this.#nameOf(agentId), graceMs);
  }

  async remove(agentId: string): Promise<void> {
    const { engine } = this.#options;
    const name = this.#nameOf(agentId);
    await engine.remove(name);
    await engine.removeNetwork(name);
  }

  async deletedBytes(agentId: string): Promise<number> {
    const { engine, folder } = this.#options;
    if (folder === undefined) return 0;
    const container = await engine.inspect(this.#nameOf(agentId));
    if (container?.state !== 'running') return 0;
    return await deletedBytes(folder, async (path) =>
      (await readFile(`${path}/cgroup`, 'utf8')).includes(container.id),
    );
  }

  async *logs(
    agentId: string,
    options: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine> {
    const { engine } = this.#options;
    const name = this.#nameOf(agentId);
    if (await engine.inspect(name)) yield* engine.logs(name, options);
  }

  async watch(onChange: (agentId: string | undefined) => void, signal: AbortSignal): Promise<void> {
    const labels = { [HOST_LABEL]: this.#options.hostId };
    for await (const container of this.#options.engine.changes(labels, signal)) {
      onChange(container.labels[AGENT_LABEL]);
    }
    onChange(undefined);
  }

  async #createOrReplace(container: ContainerSpec): Promise<{ id: string; warnings: string[] }> {
    const { engine, hostId } = this.#options;
    try {
      return await engine.create(container);
    } catch (error) {
      if (!(error instanceof ContainerNameTakenError)) throw error;
      const other = await engine.inspect(container.name);
      if (other && other.labels[HOST_LABEL] !== hostId) throw error;
      await engine.remove(container.name);
      return await engine.create(container);
    }
  }

  #containerOf(
    { agentId, spec }: HostedAgent,
    place: AgentPlace,
    labels: Record<string, string>,
  ): ContainerSpec {
    const { user, hostPathOf = (path: string) => path } = this.#options;
    return {
      name: this.#nameOf(agentId),
      image: imageOf(spec.image),
      // A command of the settings runs in the workspace; an image's own one where the image says.
      ...(spec.command && {
        command: spec.command,
        replacesEntrypoint: true,
        workingFolder: `${DATA_DIR}/workspace`,
      }),
      env: {
        HOME: DATA_DIR,
        ...spec.env,
        ...{
          PORT: String(spec.port),
          HOST: '0.0.0.0',
          DATA_DIR,
          AGENT_TOKEN_FILE: TOKEN_FILE,
          AGENT_ID: agentId,
        },
      },
      labels,
      port: spec.port,
      mounts: [
        { hostPath: hostPathOf(place.folder), containerPath: DATA_DIR, isReadOnly: false },
        { hostPath: hostPathOf(place.tokenFile), containerPath: TOKEN_FILE, isReadOnly: true },
      ],
      user,
      network: this.#nameOf(agentId),
      reach: spec.network === 'none' ? 'none' : (this.#options.allowedNetworks ?? []),
      ...{ memoryMb: spec.memoryMb, cpus: spec.cpus, pids: spec.pids, isRootReadOnly: true },
    };
  }

  /** Also the name of its network. The hash keeps ids apart that differ only in what the slug drops. */
  #nameOf(agentId: string): string {
    const slug = agentId
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 40)
      .replace(/^-|-$/g, '');
    const hash = createHash('sha256')
      .update(JSON.stringify([this.#options.hostId, agentId]))
      .digest('hex');
    return `wa2ai-${slug || 'agent'}-${hash.slice(0, 8)}`;
  }

  #hashOf({ spec }: HostedAgent): string {
    const { pull: _, ...rest } = spec;
    const { user, allowedNetworks = [] } = this.#options;
    const sorted = Object.entries({ ...rest, user, allowedNetworks, version: SPEC_VERSION }).sort();
    return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16);
  }
}

function imageOf(image: string | undefined): string {
  if (image !== undefined && isImageName(image)) return image;
  if (image !== undefined) throw new AgentUnusableError('AGENT_SETTINGS', say('hosted.bad-image'));
  throw new AgentUnusableError('AGENT_SETTINGS', say('hosted.no-image'));
}

function instanceOf({ id, labels, state, address, exitCode }: ContainerState): AgentInstance {
  return {
    ...{ id, agentId: labels[AGENT_LABEL] ?? '', state },
    ...(address && { url: `http://${address.host}:${address.port}` }),
    ...(exitCode !== undefined && { exitCode }),
  };
}

/**
 * Bytes of files that programs have deleted and keep open on the disk of a folder: no walk finds them. Linux only, and only of
 * processes that wa2ai may look at (as root, or of the same user); 0 otherwise.
 * @param isOf whether a process is meant, by its folder in /proc; it may throw when the process has ended
 */
export async function deletedBytes(
  folder: string,
  isOf: (procFolder: string) => Promise<boolean>,
): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const { dev } = await stat(folder);
  const found = new Map<number, number>();
  for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    if (!(await isOf(`/proc/${pid}`).catch(() => false))) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await stat(`/proc/${pid}/fd/${fd}`).catch(() => undefined);
      if (!file?.isFile() || file.nlink > 0 || file.dev !== dev) continue;
      // Several processes may have the same file open.
      found.set(file.ino, Math.max(file.size, file.blocks * 512));
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}
