import { once } from 'node:events';
import { WebSocket } from 'ws';
import { until } from './until.ts';
import type { Wa2aiProcess } from './wa2ai-process.ts';

/** Switch for Node that `LiveMemory` needs. */
export const WITH_INSPECTOR = '--inspect=127.0.0.1:0';

/**
 * Memory that a service keeps, read over Node's inspector. Resident memory is not a measure of that: V8 collects garbage
 * late while there is memory.
 */
export class LiveMemory {
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Connects to a service that was started with `WITH_INSPECTOR`. */
  static async of(service: Wa2aiProcess): Promise<LiveMemory> {
    const url = await until('the inspector', async () => /ws:\/\/127\.0\.0\.1:\S+/.exec(service.output)?.[0]);
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new LiveMemory(socket);
  }

  /** Collects garbage. @returns MiB of the objects and buffers that remain */
  async afterGc(): Promise<number> {
    // The second collection frees what finalizers of the first released.
    for (const _ of [1, 2]) await this.#call('HeapProfiler.collectGarbage');
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())';
    const { result } = (await this.#call('Runtime.evaluate', { expression })) as {
      result: { value: number };
    };
    return result.value / 1024 ** 2;
  }

  close(): void {
    this.#socket.close();
  }

  /** One call at a time. */
  async #call(method: string, params: object = {}): Promise<unknown> {
    this.#socket.send(JSON.stringify({ id: 1, method, params }));
    const [data] = await once(this.#socket, 'message', { signal: AbortSignal.timeout(60_000) });
    const { result, error } = JSON.parse(String(data));
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}
