import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { StandInServer } from '../doubles/stand-in-server.ts';
import { repositoryRoot } from '../support/repository.ts';
import { END_WITH_PARENT } from '../support/wa2ai-process.ts';
import { Cluster } from './cluster.ts';
import type { BenchGround } from './ground.ts';
import { quantile } from './statistics.ts';

/** Tasks of a round, and how many callers open them at a time. */
const OPENS = 200;
const CALLERS = 16;
/** Readers of one task. */
const STREAMS = 200;
const LIMIT_MS = 60_000;

/** An agent as programs see it. */
export interface Face {
  /** Opens a task that ends at once; resolves with the answer to the call. */
  open(): Promise<void>;
  /** Opens a task that runs. @returns its id */
  run(): Promise<string>;
  /** Opens a stream of events of a task. */
  stream(taskId: string): Promise<Response>;
  /** Ends the task that runs. */
  release(): void;
  /** In the last event of a stream. */
  end: RegExp;
  /** Resolves when the tasks opened so far have ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Tasks a second, opened by several callers at the same time. */
export async function opensPerSecond(face: Face): Promise<number> {
  const startedMs = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (; next < OPENS; next++) await face.open();
    }),
  );
  const rate = OPENS / ((performance.now() - startedMs) / 1_000);
  await face.settled();
  return rate;
}

/** How long after the end of a task 99 % of its readers have the last event, in milliseconds. */
export async function fanOutMs(face: Face): Promise<number> {
  const taskId = await face.run();
  const readers = await Promise.all(
    Array.from({ length: STREAMS }, async () => new Reader(await streamOf(face, taskId), face.end)),
  );
  await Promise.all(readers.map(({ begun }) => begun));
  const releasedMs = performance.now();
  face.release();
  const endsMs = await Promise.all(readers.map(({ ended }) => ended));
  return quantile(
    endsMs.map((endMs) => endMs - releasedMs),
    0.99,
  );
}

/** Opens a stream; again when the server had closed the idle connection that was used. */
async function streamOf(face: Pick<Face, 'stream'>, taskId: string): Promise<Response> {
  try {
    return await face.stream(taskId);
  } catch {
    return await face.stream(taskId);
  }
}

/** Reads a stream of events. */
class Reader {
  /** Resolves with the first event. */
  readonly begun: Promise<void>;
  /** Resolves with the time of the last event. */
  readonly ended: Promise<number>;

  constructor(response: Response, end: RegExp) {
    const { body } = response;
    if (!response.ok || !body) throw new Error(`the stream answered status ${response.status}`);
    let begin: () => void = () => undefined;
    this.begun = new Promise((resolve) => {
      begin = resolve;
    });
    this.ended = (async () => {
      let text = '';
      const decoder = new TextDecoder();
      for await (const chunk of body) {
        text += decoder.decode(chunk, { stream: true });
        if (text.includes('data:')) begin();
        if (end.test(text)) return performance.now();
      }
      throw new Error(`the stream ended with ${text.slice(-200)}`);
    })();
  }
}

async function call(url: string, method: string, params: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result?: Record<string, unknown>; error?: unknown };
  if (!result) throw new Error(`${method} answered ${JSON.stringify(error)}`);
  return result;
}

/** wa2ai's face of the NPC Engine: each task is stored, runs as a durable workflow, and is audited. */
export async function startNpcFace(ground: BenchGround): Promise<Face> {
  const cluster = await Cluster.start(ground, { names: ['n1'], accounts: 0 });
  const service = cluster.nodes.node('n1');
  let release: () => void = () => undefined;
  const npc = await StandInServer.start(async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return { body: { output: 'done' } };
  });
  const config = { adk: undefined, webhook: { timeoutMs: LIMIT_MS } };
  const { id: routeId } = await service.addRoute('5491100000000', npc.url, { config });
  await service.api('PUT', '/api/settings/npc', { enabled: true, name: 'Bench', routeId });
  const open = async (type: string, params: object) =>
    String((await call(`${service.url}/rpc`, 'task.open', { type, params })).taskId);
  const stream = (taskId: string) =>
    fetch(`${service.url}/stream/${taskId}`, { signal: AbortSignal.timeout(LIMIT_MS) });
  const opened: string[] = [];
  return {
    open: async () => {
      opened.push(await open('memory', { memoryType: 'event', content: { text: 'bench' }, importance: 1 }));
    },
    run: async () => {
      const arrived = npc.nextRequest();
      const taskId = await open('social', { action: 'greet', message: 'hello' });
      await arrived;
      return taskId;
    },
    stream,
    release: () => release(),
    end: /event: task\.completed/,
    settled: async () => {
      for (const taskId of opened.splice(0)) await (await streamOf({ stream }, taskId)).text();
    },
    close: async () => {
      await npc.close();
      await cluster.stop();
    },
  };
}

/** A bare server of Express and the official A2A SDK, which keeps its tasks in memory. */
export async function startBareServer(): Promise<Face> {
  const file = join(repositoryRoot, 'dist/tests/bench/bare-a2a-server.js');
  const child = spawn(process.execPath, [...END_WITH_PARENT, file], {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error('the bare server has no input or output');
  const [line] = (await once(createInterface({ input: stdout }), 'line')) as [string];
  const url = `${line.replace('url ', '')}/a2a`;
  const send = async (text: string) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
    const sent = await call(url, 'SendMessage', { message, configuration: { returnImmediately: true } });
    return String((sent.task as { id: unknown }).id);
  };
  return {
    open: async () => {
      await send('hello');
    },
    run: () => send('run'),
    stream: (id) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } }),
        signal: AbortSignal.timeout(LIMIT_MS),
      }),
    release: () => stdin.write('release\n'),
    end: /TASK_STATE_COMPLETED/,
    settled: async () => undefined,
    close: async () => {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}
