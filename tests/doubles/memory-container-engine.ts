import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  ContainerNameTakenError,
  EngineRefusedError,
  EngineUnavailableError,
  ImageMissingError,
  ImagePullError,
} from '../../router/src/core/hosting/hosting-errors.ts';
import type { LogLine } from '../../router/src/core/ports/agent-runtime.ts';
import type {
  ContainerEngine,
  ContainerSpec,
  ContainerState,
  EngineInfo,
} from '../../router/src/features/hosting/container-engine.ts';

/** What a program of the double sees of its container. */
interface FakeContainer {
  env: Readonly<Record<string, string>>;
  command: readonly string[];
  /** The path on this machine of a path in the container; undefined: the container has no such mount. */
  hostPath(containerPath: string): string | undefined;
  print(text: string, stream?: LogLine['stream']): void;
  /** Ends the program. */
  exit(code: number): void;
}

/** A program: prepares itself when its container starts, and answers requests; undefined: it listens on no port. */
export type FakeProgram = (container: FakeContainer) => RequestListener | undefined;

interface Entry {
  state: ContainerState;
  spec: ContainerSpec;
  lines: LogLine[];
  server?: Server;
  followers: Set<() => void>;
}

/** A container engine in memory: its containers are HTTP servers of this process, one for each start. */
export class MemoryContainerEngine implements ContainerEngine {
  /** The local images: their program, and the id that changes with a new version. */
  readonly images = new Map<string, { id: string; program: FakeProgram }>();
  /** Images of a registry: a pull makes them local. */
  readonly registry = new Map<string, { id: string; program: FakeProgram }>();
  /** While set, every method fails as it does without an engine. */
  isDown = false;
  /** What the next `create` of an engine without limits warns about. */
  warnings: string[] = [];
  readonly networks = new Set<string>();
  readonly calls: string[] = [];
  readonly #containers = new Map<string, Entry>();
  readonly #watchers = new Set<(state: ContainerState) => void>();
  #nextId = 1;

  async info(): Promise<EngineInfo> {
    this.#called('info');
    return { kind: 'docker', version: 'fake', address: 'memory' };
  }

  async imageId(image: string): Promise<string | undefined> {
    this.#called(`imageId ${image}`);
    return this.images.get(image)?.id;
  }

  async pull(image: string, { onProgress }: { onProgress(share: number): void }): Promise<void> {
    this.#called(`pull ${image}`);
    const found = this.registry.get(image);
    if (!found) throw new ImagePullError({ sentence: `The image ${image} could not be pulled: not found.` });
    onProgress(0.5);
    onProgress(1);
    this.images.set(image, found);
  }

  async create(spec: ContainerSpec): Promise<{ id: string; warnings: string[] }> {
    this.#called(`create ${spec.name}`);
    const image = this.images.get(spec.image);
    if (!image) throw new ImageMissingError(spec.image);
    if (this.#find(spec.name)) throw new ContainerNameTakenError(spec.name);
    if (!this.networks.has(spec.network))
      throw new EngineRefusedError({ sentence: `no network ${spec.network}` });
    const id = `container-${this.#nextId++}`;
    const state: ContainerState = {
      ...{ id, name: spec.name, imageId: image.id, labels: { ...spec.labels }, state: 'created' },
    };
    this.#containers.set(id, { state, spec, lines: [], followers: new Set() });
    return { id, warnings: this.warnings };
  }

  async start(idOrName: string): Promise<void> {
    this.#called(`start ${idOrName}`);
    const entry = this.#find(idOrName);
    if (!entry) throw new EngineRefusedError({ sentence: `no container ${idOrName}` });
    if (entry.state.state === 'running') return;
    const image = this.images.get(entry.spec.image);
    if (!image) throw new EngineRefusedError({ sentence: `no image ${entry.spec.image}` });
    let exitCode: number | undefined;
    const listener = image.program({
      env: entry.spec.env,
      command: entry.spec.command ?? [],
      hostPath: (path) => hostPathOf(entry.spec, path),
      print: (text, stream = 'stdout') => {
        entry.lines.push({ stream, text });
        for (const wake of entry.followers) wake();
      },
      exit: (code) => {
        exitCode = code;
        if (entry.state.state === 'running') this.#end(entry, code);
      },
    });
    if (exitCode !== undefined) {
      entry.state = { ...entry.state, state: 'exited', exitCode };
      return;
    }
    // A new port at each start, as Docker does.
    const server = createServer(listener ?? ((_, response) => response.destroy()));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    entry.server = server;
    const { port } = server.address() as AddressInfo;
    const { exitCode: _, ...state } = entry.state;
    entry.state = { ...state, state: 'running', address: { host: '127.0.0.1', port } };
  }

  async stop(idOrName: string): Promise<void> {
    this.#called(`stop ${idOrName}`);
    const entry = this.#find(idOrName);
    if (entry?.state.state === 'running') this.#end(entry, 143);
  }

  async remove(idOrName: string): Promise<void> {
    this.#called(`remove ${idOrName}`);
    const entry = this.#find(idOrName);
    if (!entry) return;
    if (entry.state.state === 'running') this.#end(entry, 137);
    this.#containers.delete(entry.state.id);
  }

  async inspect(idOrName: string): Promise<ContainerState | undefined> {
    this.#called(`inspect ${idOrName}`);
    return this.#find(idOrName)?.state;
  }

  async list(labels: Readonly<Record<string, string>>): Promise<ContainerState[]> {
    this.#called('list');
    const wanted = Object.entries(labels);
    return [...this.#containers.values()]
      .map(({ state }) => state)
      .filter((state) => wanted.every(([name, value]) => state.labels[name] === value));
  }

  async *logs(
    idOrName: string,
    { tail, follow, signal }: { tail: number; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<LogLine> {
    this.#called(`logs ${idOrName}`);
    const entry = this.#find(idOrName);
    if (!entry) throw new EngineRefusedError({ sentence: `no container ${idOrName}` });
    let next = Math.max(0, entry.lines.length - tail);
    for (;;) {
      yield* entry.lines.slice(next);
      next = entry.lines.length;
      if (!follow || signal.aborted || entry.state.state !== 'running') return;
      await new Promise<void>((resolve) => {
        entry.followers.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }

  async *changes(
    labels: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): AsyncIterable<{ id: string; labels: Readonly<Record<string, string>> }> {
    this.#called('changes');
    const ended: ContainerState[] = [];
    let wake: () => void = () => undefined;
    const watcher = (state: ContainerState) => {
      if (Object.entries(labels).every(([name, value]) => state.labels[name] === value)) ended.push(state);
      wake();
    };
    this.#watchers.add(watcher);
    signal.addEventListener('abort', () => wake(), { once: true });
    while (!signal.aborted) {
      for (const { id, labels: own } of ended.splice(0)) yield { id, labels: own };
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (ended.length > 0 || signal.aborted) resolve();
      });
    }
    this.#watchers.delete(watcher);
  }

  async hasPath(idOrName: string, path: string): Promise<boolean> {
    this.#called(`hasPath ${idOrName}`);
    const entry = this.#find(idOrName);
    const found = entry && hostPathOf(entry.spec, path);
    return found !== undefined && existsSync(found);
  }

  async ensureNetwork(name: string): Promise<void> {
    this.#called(`ensureNetwork ${name}`);
    this.networks.add(name);
  }

  async removeNetwork(name: string): Promise<void> {
    this.#called(`removeNetwork ${name}`);
    this.networks.delete(name);
  }

  /** As after a crash of the engine: every container has exited. */
  crash(): void {
    for (const entry of this.#containers.values()) {
      if (entry.state.state === 'running') this.#end(entry, 0);
    }
  }

  #find(idOrName: string): Entry | undefined {
    const byId = this.#containers.get(idOrName);
    return byId ?? [...this.#containers.values()].find(({ state }) => state.name === idOrName);
  }

  #end(entry: Entry, exitCode: number): void {
    const { address: _, ...state } = entry.state;
    entry.state = { ...state, state: 'exited', exitCode };
    entry.server?.closeAllConnections();
    entry.server?.close();
    for (const wake of entry.followers) wake();
    for (const watcher of this.#watchers) watcher(entry.state);
  }

  #called(call: string): void {
    this.calls.push(call);
    if (this.isDown)
      throw new EngineUnavailableError({ sentence: 'The container engine at memory does not answer.' });
  }
}

function hostPathOf({ mounts }: ContainerSpec, path: string): string | undefined {
  const mount = mounts
    .filter(({ containerPath }) => path === containerPath || path.startsWith(`${containerPath}/`))
    .sort((a, b) => b.containerPath.length - a.containerPath.length)[0];
  return mount && join(mount.hostPath, path.slice(mount.containerPath.length));
}
