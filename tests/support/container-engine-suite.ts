import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  ContainerNameTakenError,
  ImageMissingError,
  ImagePullError,
} from '../../router/src/core/hosting/hosting-errors.ts';
import type { LogLine } from '../../router/src/core/ports/agent-runtime.ts';
import type {
  ContainerEngine,
  ContainerSpec,
  ContainerState,
} from '../../router/src/features/hosting/container-engine.ts';

/** An engine under test, and the programs that its image can run. */
export interface EngineSubject {
  engine: ContainerEngine;
  /** An image that is on this machine. */
  image: string;
  /** Prints `started` and `to stderr`, writes `/data/seen` and answers every request with the value of WORD. */
  server: readonly string[];
  /** Ends at once with exit code 3. */
  failure: readonly string[];
}

const LABELS = { 'wa2ai.test': 'engine-suite' };

const NETWORKS = ['wa2ai-suite-a', 'wa2ai-suite-b', 'wa2ai-suite-13', 'wa2ai-suite-103'];

/** What the agent host needs of a container engine; run on each engine and on the double. */
export function containerEngineSuite(name: string, openSubject: () => EngineSubject): void {
  describe(`ContainerEngine of ${name}`, () => {
    let subject: EngineSubject;
    const folders: string[] = [];
    beforeAll(() => {
      subject = openSubject();
    });
    afterEach(async () => {
      for (const { id } of await subject.engine.list(LABELS)) await subject.engine.remove(id);
      for (const network of NETWORKS) await subject.engine.removeNetwork(network);
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    });

    async function specOf(changes: Partial<ContainerSpec> = {}): Promise<ContainerSpec> {
      const folder = mkdtempSync(join(tmpdir(), 'wa2ai-engine-'));
      chmodSync(folder, 0o777);
      folders.push(folder);
      const network = changes.network ?? 'wa2ai-suite-a';
      await subject.engine.ensureNetwork(network, { labels: LABELS });
      return {
        ...{ name: 'wa2ai-suite-1', image: subject.image, command: subject.server, port: 8080 },
        ...{ env: { WORD: 'hello' }, labels: { ...LABELS, 'wa2ai.agent': 'a1' }, user: '1000:1000' },
        mounts: [{ hostPath: folder, containerPath: '/data', isReadOnly: false }],
        ...{ network, reach: [], memoryMb: 256, cpus: 1, pids: 64, isRootReadOnly: true },
        ...changes,
      };
    }

    async function started(spec: ContainerSpec): Promise<ContainerState> {
      const { id } = await subject.engine.create(spec);
      await subject.engine.start(id);
      const state = await subject.engine.inspect(id);
      if (!state) throw new Error('the container is gone');
      return state;
    }

    /** The answer of a container's program, as soon as it listens. */
    async function answerOf({ address }: ContainerState): Promise<string> {
      let text = '';
      await expect
        .poll(async () => {
          text = await fetch(`http://${address?.host}:${address?.port}/`, {
            signal: AbortSignal.timeout(2_000),
          }).then(
            (response) => response.text(),
            () => '',
          );
          return text;
        })
        .not.toBe('');
      return text;
    }

    async function linesOf(id: string): Promise<LogLine[]> {
      const lines: LogLine[] = [];
      const options = { tail: 100, follow: false, signal: new AbortController().signal };
      for await (const line of subject.engine.logs(id, options)) lines.push(line);
      return lines;
    }

    it('says what it is', async () => {
      const info = await subject.engine.info();
      expect(['docker', 'podman']).toContain(info.kind);
      expect(info.version).not.toBe('');
    });

    it('starts a container that answers on a port of this machine only', async () => {
      const state = await started(await specOf());
      expect(state).toMatchObject({
        name: 'wa2ai-suite-1',
        state: 'running',
        address: { host: '127.0.0.1' },
      });
      expect(state.labels['wa2ai.agent']).toBe('a1');
      expect(state.imageId).toBe(await subject.engine.imageId(subject.image));
      await expect(answerOf(state)).resolves.toBe('hello');
    });

    it('lets the program write into its folder', async () => {
      const spec = await specOf();
      await answerOf(await started(spec));
      expect(readFileSync(join(spec.mounts[0]?.hostPath ?? '', 'seen'), 'utf8')).toBe('hello');
    });

    it('starts a running container once more without an effect', async () => {
      const { id, address } = await started(await specOf());
      await subject.engine.start(id);
      await expect(subject.engine.inspect(id)).resolves.toMatchObject({ state: 'running', address });
    });

    it('stops a container, has no address of it, and starts it again', async () => {
      const { id } = await started(await specOf());
      await subject.engine.stop(id, 5_000);
      await subject.engine.stop(id, 5_000);
      const stopped = await subject.engine.inspect(id);
      expect(stopped).toMatchObject({ state: 'exited' });
      expect(stopped?.address).toBeUndefined();
      await subject.engine.start(id);
      const again = await subject.engine.inspect(id);
      expect(again).toMatchObject({ state: 'running', address: { host: '127.0.0.1' } });
      if (again) await expect(answerOf(again)).resolves.toBe('hello');
    });

    it('reports the exit code of a program that ends', async () => {
      const { id } = await started(await specOf({ command: subject.failure }));
      await expect.poll(() => subject.engine.inspect(id)).toMatchObject({ state: 'exited', exitCode: 3 });
    });

    it('returns what the program wrote, by stream', async () => {
      const state = await started(await specOf());
      await answerOf(state);
      const lines = await linesOf(state.id);
      expect(lines).toContainEqual({ stream: 'stdout', text: 'started' });
      expect(lines).toContainEqual({ stream: 'stderr', text: 'to stderr' });
    });

    it('follows a log until the container stops', async () => {
      const state = await started(await specOf());
      await answerOf(state);
      const options = { tail: 1, follow: true, signal: new AbortController().signal };
      const lines: LogLine[] = [];
      const following = (async () => {
        for await (const line of subject.engine.logs(state.id, options)) lines.push(line);
      })();
      await expect.poll(() => lines.length).toBeGreaterThan(0);
      await subject.engine.stop(state.id, 5_000);
      await following;
    });

    it('finds containers in every state by their labels', async () => {
      const created = await subject.engine.create(await specOf());
      const running = await started(
        await specOf({ name: 'wa2ai-suite-2', labels: { ...LABELS, other: 'x' } }),
      );
      const all = await subject.engine.list(LABELS);
      expect(all.map(({ id, state }) => ({ id, state })).sort(byId)).toEqual(
        [
          { id: created.id, state: 'created' },
          { id: running.id, state: 'running' },
        ].sort(byId),
      );
      const some = await subject.engine.list({ ...LABELS, other: 'x' });
      expect(some.map(({ id }) => id)).toEqual([running.id]);
    });

    it('refuses a second container with the same name', async () => {
      const spec = await specOf();
      await subject.engine.create(spec);
      await expect(subject.engine.create(spec)).rejects.toThrow(ContainerNameTakenError);
    });

    it('says that an image is missing', async () => {
      const spec = await specOf({ image: 'wa2ai-suite-missing:1' });
      await expect(subject.engine.imageId(spec.image)).resolves.toBeUndefined();
      await expect(subject.engine.create(spec)).rejects.toThrow(ImageMissingError);
    });

    it('reports a pull that fails', async () => {
      const options = { stallMs: 20_000, onProgress: () => undefined, signal: new AbortController().signal };
      await expect(subject.engine.pull('127.0.0.1:1/wa2ai/missing:1', options)).rejects.toThrow(
        ImagePullError,
      );
    });

    it('removes containers and networks, and again without an effect', async () => {
      const { id } = await started(await specOf());
      await subject.engine.remove(id);
      await subject.engine.remove(id);
      await expect(subject.engine.inspect(id)).resolves.toBeUndefined();
      await subject.engine.removeNetwork('wa2ai-suite-a');
      await subject.engine.removeNetwork('wa2ai-suite-a');
    });

    it('uses a network that exists', async () => {
      await specOf();
      await specOf();
      const state = await started(await specOf());
      expect(state.state).toBe('running');
    });

    it('gives networks whose first choice of addresses is the same different ones', async () => {
      // The hashes of these two names give the same addresses.
      const networks = ['wa2ai-suite-13', 'wa2ai-suite-103'];
      const specs = await Promise.all(
        networks.map((network) => specOf({ network, name: `${network}-container` })),
      );
      for (const spec of specs) expect((await started(spec)).state).toBe('running');
    });

    it('finds a path in a container before its start', async () => {
      const spec = await specOf();
      writeFileSync(join(spec.mounts[0]?.hostPath ?? '', 'marker'), '');
      const { id } = await subject.engine.create(spec);
      await expect(subject.engine.hasPath(id, '/data/marker')).resolves.toBe(true);
      await expect(subject.engine.hasPath(id, '/data/other')).resolves.toBe(false);
    });
  });
}

function byId(a: { id: string }, b: { id: string }): number {
  return a.id.localeCompare(b.id);
}
