import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type Dockerode from 'dockerode';
import type { TarPackController } from 'modern-tar';
import { Wa2aiError } from '../../core/errors.ts';
import {
  ContainerNameTakenError,
  EngineRefusedError,
  EngineUnavailableError,
  ImageMissingError,
  ImagePullError,
} from '../../core/hosting/hosting-errors.ts';
import { say } from '../../core/phrases.ts';
import type { LogLine } from '../../core/ports/agent-runtime.ts';
import type {
  ContainerEngine,
  ContainerReach,
  ContainerSpec,
  ContainerState,
  EngineInfo,
} from './container-engine.ts';
import {
  exposedPortOf,
  firewallScript,
  NETWORK_IMAGE,
  networkContainer,
  networkContainerOf,
  networkSettingsOf,
} from './container-network.ts';

/** Longest wait for an answer that needs no work, in milliseconds. */
const REQUEST_LIMIT_MS = 60_000;
/** How many subnets wa2ai proposes for a new network. */
const SUBNET_ATTEMPTS = 64;
/** The first two numbers of the addresses of agents' networks, where no setting says others. */
const SUBNET_PREFIX = '10.213';
/** What a container may reach, as JSON. */
const REACH_LABEL = 'wa2ai.reach';

interface DockerEngineOptions {
  /** `unix:///path`; absent: DOCKER_HOST, then the usual sockets of Docker and podman. */
  address?: string;
  /** The first two numbers of the addresses of agents' networks: `10.213`. Each network gets 16 addresses. */
  subnetPrefix?: string;
  /** Label of mounted folders on machines with SELinux. */
  selinuxLabel?: 'z' | 'Z';
  /** Name or id of the container that wa2ai itself runs in: it joins each network and reaches containers there. */
  ownContainer?: string;
  env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Docker or podman through the Docker API of its socket. The two differ in statuses, words and timing; what a request did
 * is confirmed by an inspection where the answer does not say it.
 */
export class DockerEngine implements ContainerEngine {
  readonly #options: DockerEngineOptions;
  #client: Promise<{ docker: Dockerode; address: string }> | undefined;
  #info: EngineInfo | undefined;

  constructor(options: DockerEngineOptions = {}) {
    this.#options = options;
  }

  async info(): Promise<EngineInfo> {
    return await this.#call('answer', async (docker, address) => {
      const version = await docker.version();
      const info: Record<string, unknown> = await docker.info();
      const names = (version.Components ?? []).map(({ Name }) => Name);
      const problem = ['MemoryLimit', 'CpuCfsQuota', 'PidsLimit'].filter((name) => info[name] === false);
      this.#info = {
        kind: names.some((name) => /podman/i.test(name)) ? 'podman' : 'docker',
        version: version.Version,
        address,
        ...(problem.length > 0 && {
          limitsProblem: `the engine cannot limit memory, processor or processes (${problem.join(', ')})`,
        }),
      };
      return this.#info;
    });
  }

  async imageId(image: string): Promise<string | undefined> {
    return await this.#call(`inspect image ${image}`, async (docker) => {
      try {
        const { Id } = await docker.getImage(image).inspect();
        return Id.replace(/^sha256:/, '');
      } catch (error) {
        if (failureOf(error).status === 404) return undefined;
        throw error;
      }
    });
  }

  async pull(
    image: string,
    {
      stallMs,
      onProgress,
      signal,
    }: { stallMs: number; onProgress(share: number): void; signal: AbortSignal },
  ): Promise<void> {
    await this.#call(`pull image ${image}`, async (docker) => {
      const stalled = new AbortController();
      let timer = setTimeout(() => stalled.abort(), stallMs);
      const progress = new PullProgress();
      try {
        const abortSignal = AbortSignal.any([signal, stalled.signal]);
        // Without a tag the engine pulls every tag of the repository.
        const named =
          image.includes('@') || image.slice(image.lastIndexOf('/') + 1).includes(':')
            ? image
            : `${image}:latest`;
        const stream = await docker.pull(named, { abortSignal });
        let text = '';
        for await (const chunk of stream) {
          clearTimeout(timer);
          timer = setTimeout(() => stalled.abort(), stallMs);
          const lines = `${text}${String(chunk)}`.split('\n');
          text = lines.pop() ?? '';
          for (const line of lines) readPullLine(line, image, progress, onProgress);
        }
        readPullLine(text, image, progress, onProgress);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ImagePullError) throw error;
        const why = stalled.signal.aborted
          ? say('hosted.pull-stalled', { ms: stallMs })
          : failureOf(error).said;
        if (failureOf(error).status === undefined && !stalled.signal.aborted) throw error;
        throw new ImagePullError(say('hosted.image-not-pulled', { image, why }), { cause: error });
      } finally {
        clearTimeout(timer);
      }
    });
  }

  async create(spec: ContainerSpec): Promise<{ id: string; warnings: string[] }> {
    const { kind } = this.#info ?? (await this.info());
    return await this.#call(`create container ${spec.name}`, async (docker) => {
      const isLimited = spec.reach !== 'any';
      try {
        if (isLimited) await this.#createNetworkContainer(docker, spec);
        const options = createOptions(spec, this.#options.selinuxLabel, kind, isLimited);
        const container = await docker.createContainer({ ...options, abortSignal: limit() });
        const { Warnings } = container as unknown as { Warnings?: string[] | null };
        return { id: container.id, warnings: Warnings ?? [] };
      } catch (error) {
        const failure = failureOf(error);
        if (isNameTaken(failure)) throw new ContainerNameTakenError(spec.name, { cause: error });
        if (isLimited) await this.#removeOne(docker, networkContainerOf(spec.name));
        if (isImageMissing(failure)) throw new ImageMissingError(spec.image, { cause: error });
        throw error;
      }
    });
  }

  async start(idOrName: string): Promise<void> {
    await this.#call(`start container ${idOrName}`, async (docker) => {
      const container = docker.getContainer(idOrName);
      const { State, HostConfig, Config } = await container.inspect({ abortSignal: limit() });
      const network = networkOf(HostConfig);
      if (network !== undefined) {
        const hasNetwork = (await docker.getContainer(network).inspect({ abortSignal: limit() })).State
          .Running;
        if (State.Running && hasNetwork) return;
        // It is still in the network that ended, where nobody reaches it.
        if (State.Running) await this.stop(idOrName, 0);
        await unless([304], docker.getContainer(network).start({ abortSignal: limit() }));
        await this.#loadFirewall(docker, network, JSON.parse(Config.Labels?.[REACH_LABEL] ?? '[]'));
      }
      await unless([304], container.start({ abortSignal: limit() }));
    });
  }

  async stop(idOrName: string, graceMs: number): Promise<void> {
    await this.#call(`stop container ${idOrName}`, async (docker) => {
      const stop = async (name: string, ms: number) => {
        const t = Math.ceil(ms / 1_000);
        const abortSignal = limit(REQUEST_LIMIT_MS + ms);
        await unless([304, 404], docker.getContainer(name).stop({ t, abortSignal }));
      };
      try {
        await stop(idOrName, graceMs);
      } catch (error) {
        // podman answers 500 when the container ended meanwhile.
        if ((await this.#inspectOne(docker, idOrName))?.State.Running) throw error;
      }
      const network = networkOf((await this.#inspectOne(docker, idOrName))?.HostConfig);
      if (network !== undefined) await stop(network, 0);
    });
  }

  async remove(idOrName: string): Promise<void> {
    await this.#call(`remove container ${idOrName}`, async (docker) => {
      const info = await this.#inspectOne(docker, idOrName);
      // One that wa2ai made before it ended has no other container yet.
      const network = info ? networkOf(info.HostConfig) : networkContainerOf(idOrName);
      await this.#removeOne(docker, idOrName);
      if (network !== undefined) await this.#removeOne(docker, network);
    });
  }

  async #removeOne(docker: Dockerode, idOrName: string): Promise<void> {
    const container = docker.getContainer(idOrName);
    try {
      await unless([404], container.remove({ force: true, v: true }));
    } catch (error) {
      if (failureOf(error).status !== 409) throw error;
      // Somebody else is removing it.
      await unless([404], container.wait({ condition: 'removed', abortSignal: limit() }));
    }
  }

  async #createNetworkContainer(docker: Dockerode, spec: ContainerSpec): Promise<void> {
    const options = { ...networkContainer(spec), abortSignal: limit() };
    try {
      await docker.createContainer(options);
    } catch (error) {
      const failure = failureOf(error);
      if (isImageMissing(failure)) await this.#makeNetworkImage(docker);
      // One whose container is gone.
      else if (isNameTaken(failure) && !(await this.#inspectOne(docker, spec.name))) {
        await this.#removeOne(docker, options.name as string);
      } else throw error;
      await docker.createContainer(options);
    }
  }

  async #makeNetworkImage(docker: Dockerode): Promise<void> {
    const note = Buffer.from('The programs of this image are those of the machine.\n');
    const files = [{ path: 'README', bytes: note.length, changedAtMs: 0, content: [note] }];
    const tar = Readable.from(tarOf(Readable.from(files)));
    // podman ignores `tag`.
    const stream = await docker.importImage(tar as never, { fromSrc: '-', repo: NETWORK_IMAGE });
    for await (const _ of stream);
  }

  /** Loads the firewall into the network of a container, in which no program runs yet. */
  async #loadFirewall(
    docker: Dockerode,
    network: string,
    reach: Exclude<ContainerReach, 'any'>,
  ): Promise<void> {
    const script = firewallScript(reach, this.#options.subnetPrefix ?? SUBNET_PREFIX);
    const exec = await docker.getContainer(network).exec({
      ...{ Cmd: ['/bin/sh', '-c', script], User: '0:0' },
      ...{ AttachStdout: true, AttachStderr: true, abortSignal: limit() },
    });
    const demux = new LogDemux();
    const lines: LogLine[] = [];
    for await (const chunk of await exec.start({ abortSignal: limit() }))
      lines.push(...demux.push(chunk as Buffer));
    lines.push(...demux.end());
    const { ExitCode } = await exec.inspect({ abortSignal: limit() });
    if (ExitCode === 0) return;
    const said = lines.map(({ text }) => text).join('; ');
    throw new EngineRefusedError(say('hosted.no-firewall', { why: said.slice(0, 300) }));
  }

  async inspect(idOrName: string): Promise<ContainerState | undefined> {
    return await this.#call(`inspect container ${idOrName}`, async (docker) => {
      const info = await this.#inspectOne(docker, idOrName);
      if (!info) return undefined;
      const other = networkOf(info.HostConfig);
      const network = other === undefined ? info : await this.#inspectOne(docker, other);
      // A container without its network cannot be started again: who creates it replaces it.
      return network && this.#stateOf(info, network);
    });
  }

  async #inspectOne(
    docker: Dockerode,
    idOrName: string,
  ): Promise<Dockerode.ContainerInspectInfo | undefined> {
    try {
      return await docker.getContainer(idOrName).inspect({ abortSignal: limit() });
    } catch (error) {
      const { status, said } = failureOf(error);
      // podman answers 500 for one that is removed meanwhile.
      if (status === 404 || (status === 500 && /no such container/i.test(said))) return undefined;
      throw error;
    }
  }

  async list(labels: Readonly<Record<string, string>>): Promise<ContainerState[]> {
    return await this.#call('list containers', async (docker) => {
      const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
      const rows = await docker.listContainers({ all: true, filters: { label }, abortSignal: limit() });
      // The rows of a crashed engine name old ports, so each container is inspected.
      const found = await Promise.all(rows.map(({ Id }) => this.inspect(Id)));
      return found.filter((state) => state !== undefined);
    });
  }

  async *logs(
    idOrName: string,
    { tail, follow, signal }: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine> {
    const demux = new LogDemux();
    const options = { stdout: true, stderr: true, tail, abortSignal: signal };
    try {
      if (follow) {
        const stream = await this.#call(`read the log of container ${idOrName}`, (docker) =>
          docker.getContainer(idOrName).logs({ ...options, follow: true }),
        );
        for await (const chunk of stream) yield* demux.push(chunk as Buffer);
      } else {
        const bytes = await this.#call(`read the log of container ${idOrName}`, (docker) =>
          docker.getContainer(idOrName).logs({ ...options, follow: false }),
        );
        yield* demux.push(bytes as unknown as Buffer);
      }
    } catch (error) {
      if (signal.aborted) return;
      const { address } = await this.#connected();
      throw engineError(error, `read the log of container ${idOrName}`, address);
    }
    yield* demux.end();
  }

  async *changes(
    labels: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): AsyncIterable<{ id: string; labels: Readonly<Record<string, string>> }> {
    const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    const stream = await this.#call('report events', (docker) =>
      docker.getEvents({ filters: { type: ['container'], label }, abortSignal: signal }),
    );
    let text = '';
    try {
      for await (const chunk of stream) {
        const lines = `${text}${String(chunk)}`.split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
          const event = JSON.parse(line || '{}') as EngineEvent;
          if (!/^(?:start|die|died|oom)$/.test(event.Action ?? '') || !event.Actor?.ID) continue;
          yield { id: event.Actor.ID, labels: event.Actor.Attributes ?? {} };
        }
      }
    } catch {
      // The connection was lost.
    }
  }

  async hasPath(idOrName: string, path: string): Promise<boolean> {
    return await this.#call(`look into container ${idOrName}`, async (docker) => {
      try {
        await docker.getContainer(idOrName).infoArchive({ path, abortSignal: limit() });
        return true;
      } catch (error) {
        if (failureOf(error).status === 404) return false;
        throw error;
      }
    });
  }

  async ensureNetwork(name: string, { labels }: { labels: Readonly<Record<string, string>> }): Promise<void> {
    await this.#call(`create network ${name}`, async (docker) => {
      if (await this.#isOfOldKind(docker, name)) await this.#removeOldNetwork(docker, name);
      if (!(await this.#hasNetwork(docker, name))) await this.#createNetwork(docker, name, labels);
      const { ownContainer } = this.#options;
      if (ownContainer === undefined) return;
      try {
        await docker.getNetwork(name).connect({ Container: ownContainer });
      } catch (error) {
        if (!/already (?:exists|attached|connected)/i.test(failureOf(error).said)) throw error;
      }
    });
  }

  async removeNetwork(name: string): Promise<void> {
    await this.#call(`remove network ${name}`, async (docker) => {
      const network = docker.getNetwork(name);
      const { ownContainer } = this.#options;
      if (ownContainer !== undefined && (await this.#hasNetwork(docker, name))) {
        await network.disconnect({ Container: ownContainer, Force: true }).catch(() => undefined);
      }
      await unless([404], network.remove({ abortSignal: limit() }));
    });
  }

  /** Earlier versions made internal networks, which publish no port. */
  async #isOfOldKind(docker: Dockerode, name: string): Promise<boolean> {
    const networks = await docker.listNetworks({ filters: { name: [name] }, abortSignal: limit() });
    return networks.some((network) => network.Name === name && network.Internal);
  }

  async #removeOldNetwork(docker: Dockerode, name: string): Promise<void> {
    const network = docker.getNetwork(name);
    const { Containers } = await network.inspect();
    for (const Container of Object.keys(Containers ?? {}))
      await network.disconnect({ Container, Force: true });
    await unless([404], network.remove({ abortSignal: limit() }));
  }

  async #hasNetwork(docker: Dockerode, name: string): Promise<boolean> {
    const networks = await docker.listNetworks({ filters: { name: [name] }, abortSignal: limit() });
    return networks.some(({ Name }) => Name === name);
  }

  /** Gives the network addresses itself: the engine's default ones end after about 30 networks. */
  async #createNetwork(
    docker: Dockerode,
    name: string,
    labels: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { kind } = this.#info ?? (await this.info());
    const prefix = this.#options.subnetPrefix ?? SUBNET_PREFIX;
    const first = createHash('sha256').update(name).digest().readUInt16BE(0);
    for (let attempt = 0; ; attempt++) {
      const index = (first + attempt) % 4_096;
      const Subnet = `${prefix}.${index >> 4}.${(index & 15) * 16}/28`;
      try {
        await docker.createNetwork({
          ...{
            Name: name,
            Driver: 'bridge',
            CheckDuplicate: true,
            Labels: { ...labels },
            // Docker separates its networks itself.
            Options: (kind === 'podman' ? { isolate: 'true' } : {}) as Record<string, string>,
          },
          IPAM: { Driver: 'default', Config: [{ Subnet }] },
          abortSignal: limit(),
        });
        return;
      } catch (error) {
        // Another caller made it. The engines' words do not tell this: podman says "already used" of names and of subnets.
        if (await this.#hasNetwork(docker, name)) return;
        if (attempt >= SUBNET_ATTEMPTS || !isSubnetTaken(failureOf(error))) throw error;
      }
    }
  }

  /** @param network the container whose network it has: another one or itself */
  #stateOf(info: Dockerode.ContainerInspectInfo, network: Dockerode.ContainerInspectInfo): ContainerState {
    const { Status, ExitCode } = info.State;
    // Nobody reaches a container whose network has ended: it counts as ended, and the next start ends it.
    const isRunning = info.State.Running && network.State.Running;
    const isCreated = Status === 'created' || Status === 'configured' || Status === 'initialized';
    return {
      id: info.Id,
      name: info.Name.replace(/^\//, ''),
      imageId: info.Image.replace(/^sha256:/, ''),
      labels: info.Config.Labels ?? {},
      state: isRunning ? 'running' : isCreated ? 'created' : 'exited',
      // An exited container may still name the ports of its last run.
      ...(isRunning && this.#addressOf(network)),
      ...(!isRunning && !isCreated && { exitCode: ExitCode }),
    };
  }

  #addressOf(info: Dockerode.ContainerInspectInfo): { address?: { host: string; port: number } } {
    const bindings = (info.HostConfig.PortBindings ?? {}) as Record<string, unknown>;
    const inside = Object.keys(bindings)[0];
    if (inside === undefined) return {};
    if (this.#options.ownContainer === undefined) {
      const published = info.NetworkSettings.Ports?.[inside]?.find(({ HostPort }) => HostPort);
      return published ? { address: { host: '127.0.0.1', port: Number(published.HostPort) } } : {};
    }
    const networks = Object.values(info.NetworkSettings.Networks ?? {});
    const host = networks.find(({ IPAddress }) => IPAddress)?.IPAddress;
    return host ? { address: { host, port: Number.parseInt(inside, 10) } } : {};
  }

  /** One request to the engine, whose failure becomes an error of wa2ai. */
  async #call<Result>(
    what: string,
    request: (docker: Dockerode, address: string) => Promise<Result>,
  ): Promise<Result> {
    const { docker, address } = await this.#connected();
    try {
      return await request(docker, address);
    } catch (error) {
      throw engineError(error, what, address);
    }
  }

  #connected(): Promise<{ docker: Dockerode; address: string }> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      // An engine that is installed later is found by a later request.
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect(): Promise<{ docker: Dockerode; address: string }> {
    const socketPath = await engineSocket(this.#options.address, this.#options.env ?? process.env);
    const { default: Docker } = await import('dockerode');
    return { docker: new Docker({ socketPath }), address: `unix://${socketPath}` };
  }
}

/** The container whose network this one has: its name or id. */
function networkOf(config: Dockerode.HostConfig | undefined): string | undefined {
  const [, network] = /^container:(.+)$/.exec(config?.NetworkMode ?? '') ?? [];
  return network;
}

interface EngineEvent {
  Action?: string;
  Actor?: { ID?: string; Attributes?: Record<string, string> };
}

/** Ends a request that the engine does not answer. */
function limit(ms = REQUEST_LIMIT_MS): AbortSignal {
  return AbortSignal.timeout(ms);
}

/** Ignores these statuses: the request is fulfilled already. */
async function unless(statuses: readonly number[], request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    const { status } = failureOf(error);
    if (status === undefined || !statuses.includes(status)) throw error;
  }
}

function readPullLine(
  line: string,
  image: string,
  progress: PullProgress,
  onProgress: (share: number) => void,
): void {
  if (line.trim() === '') return;
  const read = JSON.parse(line) as PullLine;
  const error = progress.errorIn(read);
  if (error !== undefined) throw new ImagePullError(say('hosted.image-not-pulled', { image, why: error }));
  onProgress(progress.shareAfter(read));
}

function createOptions(
  spec: ContainerSpec,
  selinuxLabel: 'z' | 'Z' | undefined,
  kind: EngineInfo['kind'],
  isLimited: boolean,
): Dockerode.ContainerCreateOptions {
  const memory = spec.memoryMb * 1024 * 1024;
  const broken = spec.mounts.find(({ hostPath }) => hostPath.includes(':'));
  if (broken) {
    throw new EngineRefusedError(say('hosted.path-with-colon', { path: broken.hostPath }));
  }
  const command = [...(spec.command ?? [])];
  return {
    name: spec.name,
    Image: spec.image,
    ...(command.length > 0 &&
      (spec.replacesEntrypoint ? { Entrypoint: command, Cmd: [] } : { Cmd: command })),
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    Labels: { ...spec.labels, [REACH_LABEL]: JSON.stringify(spec.reach) },
    ...(!isLimited && { ExposedPorts: exposedPortOf(spec) }),
    ...(spec.user !== undefined && { User: spec.user }),
    ...(spec.workingFolder !== undefined && { WorkingDir: spec.workingFolder }),
    HostConfig: {
      Binds: spec.mounts.map(({ hostPath, containerPath, isReadOnly }) => {
        const options = [isReadOnly ? 'ro' : 'rw', ...(selinuxLabel ? [selinuxLabel] : [])];
        return `${hostPath}:${containerPath}:${options.join(',')}`;
      }),
      ...(isLimited
        ? { NetworkMode: `container:${networkContainerOf(spec.name)}` }
        : networkSettingsOf(spec)),
      RestartPolicy: { Name: 'no' },
      Init: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: spec.isRootReadOnly,
      Tmpfs: { '/tmp': 'rw,size=64m,mode=1777' },
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(spec.cpus * 1e9),
      PidsLimit: spec.pids,
      // Without a limit, what a program prints fills the disk of the machine. podman keeps one file.
      LogConfig: {
        Type: 'json-file',
        Config: { 'max-size': '10m', ...(kind === 'docker' && { 'max-file': '2' }) },
      },
    },
  };
}

/** Where engines listen, in the order in which wa2ai looks. */
export function socketCandidates(env: Readonly<Record<string, string | undefined>>): string[] {
  const runtimeDir = env.XDG_RUNTIME_DIR;
  return [
    '/var/run/docker.sock',
    join(homedir(), '.docker/run/docker.sock'),
    ...(runtimeDir ? [join(runtimeDir, 'docker.sock'), join(runtimeDir, 'podman/podman.sock')] : []),
    '/run/podman/podman.sock',
  ];
}

/**
 * Path of the engine's socket: the configured one, DOCKER_HOST, or the first that exists.
 * @param configured `unix:///path` or a path
 * @throws {EngineUnavailableError} the sentence names the paths
 */
export async function engineSocket(
  configured: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const named = configured ?? env.DOCKER_HOST;
  if (named) {
    const path = named.replace(/^unix:\/\//, '');
    if (/^\//.test(path)) return path;
    throw new EngineUnavailableError(say('hosted.engine-elsewhere', { engine: named }));
  }
  const candidates = socketCandidates(env);
  for (const path of candidates) {
    const isSocket = await stat(path).then(
      (found) => found.isSocket(),
      () => false,
    );
    if (isSocket) return path;
  }
  throw new EngineUnavailableError(say('hosted.no-engine', { paths: candidates.join(', ') }));
}

/** An error of dockerode: an answer of the engine with its status, or a connection that failed. */
interface EngineFailure {
  status: number | undefined;
  /** What the engine says, on one line. */
  said: string;
}

/** Reads an error of dockerode. Its `json` is the engine's answer; its `message` repeats status and reason. */
export function failureOf(error: unknown): EngineFailure {
  const { statusCode, json, message, code } = (error ?? {}) as {
    statusCode?: number;
    json?: { message?: unknown; cause?: unknown };
    message?: string;
    code?: string;
  };
  const answer = typeof json?.message === 'string' ? json.message : undefined;
  const said = (answer ?? message?.trim() ?? '') || code || 'unknown';
  return { status: statusCode, said: said.replace(/\s+/g, ' ').trim().slice(0, 500) };
}

/**
 * The error for a failed request. Docker and podman answer the same mistakes with different statuses, so callers look at
 * the engine's words first, and only an unknown failure ends here.
 * @param what as a sentence names it: `create container wa2ai-x`
 */
export function engineError(error: unknown, what: string, address: string): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  const { status, said } = failureOf(error);
  if (status === undefined || status === 502 || status === 503) {
    return new EngineUnavailableError(say('hosted.engine-unavailable', { address, what, why: said }), {
      cause: error,
    });
  }
  return new EngineRefusedError(say('hosted.engine-refused', { what, why: said, status }), {
    cause: error,
  });
}

/** Whether a name is taken: Docker answers 409, podman 500. */
export function isNameTaken({ status, said }: EngineFailure): boolean {
  return (status === 409 || status === 500) && isInOrder(said, 'name ', 'already in use');
}

/** Whether an image is missing: both answer 404, and so they do for a missing network. */
export function isImageMissing({ status, said }: EngineFailure): boolean {
  return (
    status === 404 &&
    (/no such image|image not known/i.test(said) || isInOrder(said, 'unable to find ', 'image'))
  );
}

/** Whether the addresses of a network are taken by another network or an interface of the machine. */
export function isSubnetTaken({ status, said }: EngineFailure): boolean {
  return (
    status !== undefined && status >= 400 && /overlap|already used|conflicts with|being used/i.test(said)
  );
}

function isInOrder(said: string, first: string, second: string): boolean {
  const words = said.toLowerCase();
  const at = words.indexOf(first);
  return at >= 0 && words.includes(second, at);
}

const HEADER_BYTES = 8;
/** Longest line that is passed on; a longer one is cut. */
const MAX_LINE_CHARS = 16 * 1024;

/**
 * Splits the log stream of a container without a terminal into lines. The stream consists of frames: one byte for the
 * stream (1 stdout, 2 stderr), three zero bytes, the length in four bytes (big-endian), then that many bytes. A line may
 * extend over several frames, and a frame over several chunks.
 */
export class LogDemux {
  #pending: Buffer = Buffer.alloc(0);
  readonly #unfinished = { stdout: Buffer.alloc(0) as Buffer, stderr: Buffer.alloc(0) as Buffer };

  /** The lines that this chunk completes. */
  push(chunk: Uint8Array): LogLine[] {
    const lines: LogLine[] = [];
    let data = Buffer.concat([this.#pending, chunk]);
    while (data.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + data.readUInt32BE(4);
      if (data.length < end) break;
      const stream = data[0] === 2 ? 'stderr' : 'stdout';
      lines.push(...this.#linesOf(stream, data.subarray(HEADER_BYTES, end)));
      data = data.subarray(end);
    }
    this.#pending = data;
    return lines;
  }

  /** The last lines, which have no line break. */
  end(): LogLine[] {
    return (['stdout', 'stderr'] as const).flatMap((stream) => {
      const rest = this.#unfinished[stream];
      this.#unfinished[stream] = Buffer.alloc(0);
      return rest.length > 0 ? [lineOf(stream, rest)] : [];
    });
  }

  #linesOf(stream: LogLine['stream'], bytes: Buffer): LogLine[] {
    const lines: LogLine[] = [];
    let rest = Buffer.concat([this.#unfinished[stream], bytes]);
    for (let at = rest.indexOf(0x0a); at >= 0; at = rest.indexOf(0x0a)) {
      lines.push(lineOf(stream, rest.subarray(0, at)));
      rest = rest.subarray(at + 1);
    }
    // A program that writes no line break must not fill the memory.
    this.#unfinished[stream] = rest.length > MAX_LINE_CHARS ? rest.subarray(0, MAX_LINE_CHARS) : rest;
    return lines;
  }
}

function lineOf(stream: LogLine['stream'], bytes: Buffer): LogLine {
  return { stream, text: bytes.toString('utf8').replace(/\r$/, '').slice(0, MAX_LINE_CHARS) };
}

/** One file of an archive. */
export interface TarEntry {
  /** With slashes: `workspace/notes.txt`. */
  path: string;
  bytes: number;
  changedAtMs: number;
  content: AsyncIterable<Uint8Array>;
}

const FILLER = Buffer.alloc(65_536);

/** A tar archive. A file that is shorter or longer than it was is filled with zeros or cut, so that the archive stays readable. */
export async function* tarOf(entries: AsyncIterable<TarEntry>): AsyncGenerator<Uint8Array> {
  const { createTarPacker } = await import('modern-tar');
  const { readable, controller } = createTarPacker();
  const writing = writeEntries(controller, entries).catch((error: unknown) => controller.error(error));
  try {
    yield* readable;
  } finally {
    await writing; // fails when the archive is no longer read
  }
}

async function writeEntries(archive: TarPackController, entries: AsyncIterable<TarEntry>): Promise<void> {
  for await (const { path, bytes, changedAtMs, content } of entries) {
    const header = { name: path, size: bytes, mode: 0o600, mtime: new Date(changedAtMs) };
    await ReadableStream.from(exactly(bytes, content)).pipeTo(archive.add(header));
  }
  archive.finalize();
}

async function* exactly(bytes: number, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of content) {
    const part = chunk.subarray(0, left);
    left -= part.length;
    yield part;
    if (left === 0) return;
  }
  for (; left > 0; left -= Math.min(left, FILLER.length)) yield FILLER.subarray(0, left);
}

/** One line of the answer to a pull. Docker and podman use different words, and both report failures in such a line. */
interface PullLine {
  id?: string;
  status?: string;
  error?: string;
  progressDetail?: { current?: number; total?: number };
}

/** Adds up what a pull reports of its layers. */
export class PullProgress {
  readonly #layers = new Map<string, number>();

  /** Why the pull failed, when the line says so: it may be part of an answer with status 200. */
  errorIn(line: PullLine): string | undefined {
    return line.error?.trim() || undefined;
  }

  /** The share that is done after this line, from 0 to 1; it may go back when the engine finds another layer. */
  shareAfter({ id, status = '', progressDetail }: PullLine): number {
    if (id !== undefined && id !== 'latest' && !/[./:]/.test(id)) {
      const { current = 0, total = 0 } = progressDetail ?? {};
      const isDone = /^(?:pull complete|already exists|download complete)$/i.test(status);
      const part = total > 0 ? Math.min(current / total, 1) : 0;
      this.#layers.set(id, Math.max(this.#layers.get(id) ?? 0, isDone ? 1 : part));
    }
    if (this.#layers.size === 0) return 0;
    let sum = 0;
    for (const part of this.#layers.values()) sum += part;
    return sum / this.#layers.size;
  }
}
