import type { LogLine } from '../../core/ports/agent-runtime.ts';

/** What a container engine says about itself. */
export interface EngineInfo {
  kind: 'docker' | 'podman';
  version: string;
  /** The socket: `unix:///var/run/docker.sock`. */
  address: string;
  /** Why limits of memory, processor and processes have no effect here; absent when they have. */
  limitsProblem?: string;
}

/** A folder or file of the engine's machine inside a container. */
interface ContainerMount {
  /** Absolute path on the engine's machine; it must exist. */
  hostPath: string;
  containerPath: string;
  isReadOnly: boolean;
}

/**
 * What a container may connect to. `none`: nothing. A list: public addresses and these networks, such as `10.1.0.0/16`, but
 * not the machine, cloud metadata and other private networks. `any`: everything. It always answers those who connect to it.
 */
export type ContainerReach = 'none' | 'any' | readonly string[];

/** A container to create. It has no capabilities, no new privileges, and an init process as its first one. */
export interface ContainerSpec {
  /** `[a-zA-Z0-9][a-zA-Z0-9_.-]+`, unique on the engine. */
  name: string;
  image: string;
  /** Replaces the command of the image; with `replacesEntrypoint`, its entrypoint too. */
  command?: readonly string[];
  replacesEntrypoint?: boolean;
  env: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  /** TCP port that the program in the container listens on. The engine publishes it on a free port of 127.0.0.1. */
  port: number;
  mounts: readonly ContainerMount[];
  /** `1000:1000`; absent: the image's own. */
  user?: string;
  workingFolder?: string;
  /** Name of a network that `ensureNetwork` made. */
  network: string;
  reach: ContainerReach;
  memoryMb: number;
  cpus: number;
  /** Largest number of processes and threads. */
  pids: number;
  /** The root file system is read-only, and `/tmp` is in memory. */
  isRootReadOnly: boolean;
}

/** What the engine knows about a container. */
export interface ContainerState {
  id: string;
  /** Without a leading slash. */
  name: string;
  /** Id of its image, for a comparison with `imageId`: names differ between engines. */
  imageId: string;
  labels: Readonly<Record<string, string>>;
  /** `created`: it never ran. */
  state: 'created' | 'running' | 'exited';
  /** Where the port of its spec can be reached; only while it runs, and another one after each start. */
  address?: { host: string; port: number };
  /** Only of an exited container. */
  exitCode?: number;
}

/**
 * An engine that runs containers: Docker, or podman through its Docker API.
 * @throws {EngineUnavailableError} from every method: the engine does not answer, and the request may or may not have
 *   been executed. Each method can be repeated.
 * @throws {EngineRefusedError} from every method: the engine refused the request
 */
export interface ContainerEngine {
  info(): Promise<EngineInfo>;
  /** Id of a local image; undefined when it is not on this machine. */
  imageId(image: string): Promise<string | undefined>;
  /**
   * Pulls an image. There is no limit of the whole time: it ends when nothing happened for `stallMs`.
   * @param onProgress called with the share that is done, from 0 to 1, as the engine reports it
   * @throws {ImagePullError}
   */
  pull(
    image: string,
    options: { stallMs: number; onProgress(share: number): void; signal: AbortSignal },
  ): Promise<void>;
  /**
   * Creates a container without starting it.
   * @returns its id, and what the engine warned about
   * @throws {ContainerNameTakenError}
   * @throws {ImageMissingError}
   */
  create(spec: ContainerSpec): Promise<{ id: string; warnings: string[] }>;
  /**
   * Starts a container, whose network is limited before its first program runs; one that runs stays as it is. A failed
   * start leaves it `created` or `exited`.
   */
  start(idOrName: string): Promise<void>;
  /** Asks the program to end, and kills it after `graceMs`. Nothing happens when the container does not run. */
  stop(idOrName: string, graceMs: number): Promise<void>;
  /** Removes a container, running or not; one that does not exist is removed already. */
  remove(idOrName: string): Promise<void>;
  /** Undefined: there is no such container. */
  inspect(idOrName: string): Promise<ContainerState | undefined>;
  /** The containers that have all these labels, in any state. */
  list(labels: Readonly<Record<string, string>>): Promise<ContainerState[]>;
  /**
   * The lines of a container, oldest first.
   * @param tail how many of the last lines to begin with
   * @param follow continue with new lines until the container ends or the signal aborts
   */
  logs(
    idOrName: string,
    options: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine>;
  /**
   * Containers with these labels that started or ended, as they do, until the signal aborts or the connection to the
   * engine is lost; then list them, because events were missed.
   */
  changes(
    labels: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): AsyncIterable<{ id: string; labels: Readonly<Record<string, string>> }>;
  /** Whether a path exists in the file system of a container that was created. */
  hasPath(idOrName: string, path: string): Promise<boolean>;
  /**
   * Makes a bridge network, unless one of this name exists. Containers of different networks cannot reach each other.
   * @throws {EngineRefusedError} also when the engine has no free addresses
   */
  ensureNetwork(name: string, options: { labels: Readonly<Record<string, string>> }): Promise<void>;
  /** Removes a network without containers; one that does not exist is removed already. */
  removeNetwork(name: string): Promise<void>;
}
