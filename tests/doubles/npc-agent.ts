import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { unusedPort } from '../support/unused-port.ts';

/** A task of the double, as `task.status` shows it. */
export interface NpcDoubleTask {
  taskId: string;
  type: string;
  params: Record<string, unknown>;
  status: string;
  progress?: number;
  result?: unknown;
  error?: unknown;
  createdAt: number;
  idempotencyKey?: string;
}

interface RpcRequest {
  method: string;
  params: Record<string, unknown>;
  id: unknown;
}

export interface NpcDoubleOptions {
  capabilities?: string[];
  apiKey?: string;
  port?: number;
  /** Whether a repeated `Idempotency-Key` returns the first task. Default true. */
  isIdempotent?: boolean;
  /** Whether tasks show their parameters. Default false, as the specification. */
  showsParams?: boolean;
  /** `GET /stream/{taskId}`. Default true. */
  hasEvents?: boolean;
  /** Changes of the card, or null for a server without one. */
  card?: Record<string, unknown> | null;
  /** What a task does when it is opened. Default: a social task ends at once with an echo, the others run. */
  onOpen?(task: NpcDoubleTask, agent: NpcDouble): void;
  /** Answers a request instead of the double when it returns true: for misbehaviour. */
  misbehave?(request: IncomingMessage & { rpc?: RpcRequest }, response: ServerResponse): boolean;
}

const ENDED = new Set(['completed', 'failed', 'canceled']);

/** An agent to the agent card specification of the NPC Engine, over HTTP on loopback. */
export class NpcDouble {
  readonly tasks = new Map<string, NpcDoubleTask>();
  /** Calls of JSON-RPC, in order: `task.open` and so on. */
  readonly calls: Array<{
    method: string;
    params: Record<string, unknown>;
    headers: IncomingMessage['headers'];
  }> = [];
  options: NpcDoubleOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #streams = new Map<string, Set<ServerResponse>>();
  readonly #events = new Map<string, Array<{ event: string; data: string }>>();
  #lastId = 0;
  #url = '';

  private constructor(options: NpcDoubleOptions) {
    this.options = options;
  }

  static async start(options: NpcDoubleOptions = {}): Promise<NpcDouble> {
    const agent = new NpcDouble(options);
    const port = options.port ?? (await unusedPort());
    await new Promise<void>((resolve) => agent.#server.listen(port, '127.0.0.1', resolve));
    agent.#url = `http://127.0.0.1:${(agent.#server.address() as AddressInfo).port}`;
    return agent;
  }

  get url(): string {
    return this.#url;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** How many tasks of this type were opened. */
  opened(type: string): NpcDoubleTask[] {
    return [...this.tasks.values()].filter((task) => task.type === type);
  }

  /** Streams of events that are open now. */
  get openStreams(): number {
    return [...this.#streams.values()].reduce((count, streams) => count + streams.size, 0);
  }

  update(taskId: string, change: Partial<NpcDoubleTask>): void {
    const task = this.tasks.get(taskId);
    if (!task) throw new Error(`the double has no task ${taskId}`);
    Object.assign(task, change);
    const event = task.status === 'completed' ? 'task.completed' : 'task.update';
    const events = this.#events.get(taskId) ?? [];
    this.#events.set(taskId, [...events, { event, data: JSON.stringify(this.#shown(task)) }]);
    for (const stream of this.#streams.get(taskId) ?? []) this.#write(taskId, stream, events.length);
  }

  complete(taskId: string, result: unknown): void {
    this.update(taskId, { status: 'completed', result });
  }

  /** Ends every stream of events without a last event, as a lost connection does. */
  cutStreams(): void {
    for (const streams of this.#streams.values()) for (const stream of streams) stream.destroy();
  }

  #shown(task: NpcDoubleTask): Partial<NpcDoubleTask> {
    const { idempotencyKey: _, params, ...rest } = task;
    return this.options.showsParams ? { ...rest, params } : rest;
  }

  #write(taskId: string, stream: ServerResponse, from: number): void {
    const events = this.#events.get(taskId) ?? [];
    for (const [index, { event, data }] of events.entries()) {
      if (index < from) continue;
      stream.write(`id: ${index + 1}\nevent: ${event}\ndata: ${data}\n\n`);
    }
    if (ENDED.has(this.tasks.get(taskId)?.status ?? '')) stream.end();
  }

  async #serve(request: IncomingMessage & { rpc?: RpcRequest }, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    if (path === '/rpc') {
      try {
        request.rpc = JSON.parse(body);
      } catch {
        send(response, 200, failure(null, -32600, 'Invalid Request'));
        return;
      }
    }
    if (this.options.misbehave?.(request, response)) return;
    if (path === '/.well-known/agent-card' && this.options.card !== null) send(response, 200, this.#card());
    else if (path === '/rpc' && request.rpc) send(response, 200, this.#answer(request, request.rpc));
    else if (path.startsWith('/stream/') && this.options.hasEvents !== false)
      this.#stream(request, response, path);
    else send(response, 404, { error: 'not found' });
  }

  #card(): Record<string, unknown> {
    return {
      version: '1.0.0',
      id: 'npc-engine-agent',
      name: 'NPC Engine Agent',
      description: 'A stand-in for tests',
      capabilities: this.options.capabilities ?? ['duel', 'quest', 'trade', 'social', 'emotion', 'memory'],
      transports: [
        { type: 'http', url: `${this.#url}/rpc`, methods: ['POST'] },
        { type: 'sse', url: `${this.#url}/stream/{taskId}`, methods: ['GET'] },
      ],
      authentication: { type: 'api-key', header: 'X-API-Key' },
      ...this.options.card,
    };
  }

  #stream(request: IncomingMessage, response: ServerResponse, path: string): void {
    const taskId = decodeURIComponent(path.slice('/stream/'.length));
    if (!this.tasks.has(taskId)) {
      send(response, 404, { error: 'no such task' });
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(': connected\n\n');
    const streams = this.#streams.get(taskId) ?? new Set();
    this.#streams.set(taskId, streams.add(response));
    response.on('close', () => streams.delete(response));
    this.#write(taskId, response, Number(request.headers['last-event-id'] ?? 0));
  }

  #answer({ headers }: IncomingMessage, { method, params = {}, id }: RpcRequest): object {
    this.calls.push({ method, params, headers });
    const { apiKey } = this.options;
    if (apiKey !== undefined && headers['x-api-key'] !== apiKey) {
      return failure(id, -32001, 'Authentication failed');
    }
    switch (method) {
      case 'task.open':
        return this.#open(id, params, headers['idempotency-key']);
      case 'task.status': {
        const task = this.tasks.get(String(params.taskId));
        return task
          ? { jsonrpc: '2.0', id, result: this.#shown(task) }
          : failure(id, -32602, 'Invalid params', { field: 'taskId', reason: 'No such task' });
      }
      case 'task.list': {
        const tasks = [...this.tasks.values()].map((task) => this.#shown(task));
        return { jsonrpc: '2.0', id, result: { tasks, totalTasks: tasks.length } };
      }
      default:
        return failure(id, -32601, 'Method not found');
    }
  }

  #open(
    id: unknown,
    { type, params }: Record<string, unknown>,
    header: string | string[] | undefined,
  ): object {
    const given = (params ?? {}) as Record<string, unknown>;
    if (type === 'duel' && !/^0x[0-9a-fA-F]{40}$/.test(String(given.opponent))) {
      const data = { field: 'opponent', reason: 'Invalid Ethereum address format' };
      return failure(id, -32602, 'Invalid params', data);
    }
    const idempotencyKey = typeof header === 'string' ? header : undefined;
    const known =
      idempotencyKey !== undefined && this.options.isIdempotent !== false
        ? [...this.tasks.values()].find((task) => task.idempotencyKey === idempotencyKey)
        : undefined;
    this.#lastId += known ? 0 : 1;
    const task: NpcDoubleTask = known ?? {
      taskId: `task_${1_000_000 + this.#lastId}`,
      type: String(type),
      params: given,
      status: 'pending',
      createdAt: Date.now(),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    this.tasks.set(task.taskId, task);
    if (!known) (this.options.onOpen ?? echoSocial)(task, this);
    const { taskId, status, result } = task;
    return { jsonrpc: '2.0', id, result: { taskId, status, estimatedDuration: 30_000, result } };
  }
}

function echoSocial({ taskId, type, params }: NpcDoubleTask, agent: NpcDouble): void {
  if (type === 'social') agent.complete(taskId, { message: `echo: ${params.message}` });
}

function failure(id: unknown, code: number, message: string, data?: unknown): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } };
}

function send(response: ServerResponse, status: number, json: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(json));
}
