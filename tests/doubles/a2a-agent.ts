import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AgentCard, Message, Part, Task } from '@a2a-js/sdk';
import { duplicateInterfacesForLegacy } from '@a2a-js/sdk/compat/v0_3';
import { legacyAgentCardRouter } from '@a2a-js/sdk/compat/v0_3/server/express';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express, { type Request, type Response } from 'express';
import { unusedPort } from '../support/unused-port.ts';

/** States of a task, in the enumeration of the protocol. */
const STATE = {
  working: 2,
  completed: 3,
  failed: 4,
  canceled: 5,
  'input-required': 6,
  rejected: 7,
  'auth-required': 8,
} as const;
type State = keyof typeof STATE;

export interface A2aDoubleOptions {
  version?: '1.0' | '0.3';
  binding?: 'JSONRPC' | 'HTTP+JSON';
  streaming?: boolean;
  apiKey?: string;
  port?: number;
  /** Changes of the card, or null for a server without one. */
  card?: Partial<AgentCard> | null;
  /** Answers a request instead of the server when it returns true: for misbehaviour. */
  misbehave?(request: Request, response: Response): boolean;
}

/** A task of the double, while it runs. */
interface Running {
  context: RequestContext;
  bus: ExecutionEventBus;
  end(): void;
  hasWritten?: boolean;
}

export function textPart(value: string, metadata?: Record<string, unknown>): Part {
  return { content: { $case: 'text', value }, metadata, filename: '', mediaType: 'text/plain' };
}

function dataPart(value: unknown, metadata?: Record<string, unknown>): Part {
  return { content: { $case: 'data', value }, metadata, filename: '', mediaType: 'application/json' };
}

/** One pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/**
 * A real server of the official SDK, version 1.0 or 0.3, whose agent does what the message says: `ask me` asks for input,
 * `fail`, `reject` and `login` end so, `run` runs until the test ends it, `picture` and `link` answer with a file, `tools`
 * with thoughts and tool calls, `plain` with a message instead of a task. Everything else is echoed.
 */
export class A2aDouble {
  readonly url: string;
  /** Messages that reached the agent, in order. */
  readonly messages: Message[] = [];
  /** Requests with their headers, in order. */
  readonly requests: Array<{ path: string; headers: Request['headers'] }> = [];
  options: A2aDoubleOptions;
  readonly #server: Server;
  readonly #running = new Map<string, Running>();

  private constructor(server: Server, options: A2aDoubleOptions) {
    this.#server = server;
    this.options = options;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(options: A2aDoubleOptions = {}): Promise<A2aDouble> {
    const app = express();
    const server = app.listen(options.port ?? (await unusedPort()), '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const agent = new A2aDouble(server, options);
    agent.#mount(app);
    return agent;
  }

  /** Ids of the tasks that run now. */
  get running(): string[] {
    return [...this.#running.keys()];
  }

  /** Says something about a running task. */
  say(taskId: string, text: string): void {
    const { context, bus } = this.#runningTask(taskId);
    bus.publish(statusOf(context, 'working', text));
  }

  /** Writes a piece of the answer of a running task. */
  write(taskId: string, text: string): void {
    const running = this.#runningTask(taskId);
    running.bus.publish(artifactOf(running.context, 'result', [textPart(text)], running.hasWritten));
    running.hasWritten = true;
  }

  /** Ends a running task: with an artifact of this text, or in another state with this text. */
  end(taskId: string, text: string, state: State = 'completed'): void {
    const { context, bus, end } = this.#runningTask(taskId);
    if (state === 'completed') bus.publish(artifactOf(context, 'result', [textPart(text)]));
    bus.publish(statusOf(context, state, state === 'completed' ? undefined : text));
    end();
  }

  async stop(): Promise<void> {
    for (const { end } of this.#running.values()) end();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #runningTask(taskId: string): Running {
    const running = this.#running.get(taskId);
    if (!running) throw new Error(`no task ${taskId} runs`);
    return running;
  }

  #mount(app: express.Express): void {
    const { version = '1.0', binding = 'JSONRPC', card: changes } = this.options;
    const isLegacy = version === '0.3';
    const card = this.#card(binding, isLegacy);
    const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), this.#executor());
    app.use((request, response, next) => {
      this.requests.push({ path: request.path, headers: request.headers });
      if (this.options.misbehave?.(request, response)) return;
      const { apiKey } = this.options;
      if (
        apiKey !== undefined &&
        !request.path.includes('well-known') &&
        request.headers['x-api-key'] !== apiKey
      ) {
        response.status(401).json({ error: 'wrong key' });
        return;
      }
      next();
    });
    const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
    if (changes !== null) {
      const cards = isLegacy
        ? legacyAgentCardRouter({ agentCardProvider: requestHandler })
        : agentCardHandler({ agentCardProvider: requestHandler });
      app.use('/.well-known/agent-card.json', cards);
    }
    const legacyCompat = { enabled: isLegacy };
    if (binding === 'JSONRPC') app.use('/a2a', jsonRpcHandler({ ...options, legacyCompat }));
    else app.use('/rest', restHandler({ ...options, legacyCompat }));
  }

  #card(binding: 'JSONRPC' | 'HTTP+JSON', isLegacy: boolean): AgentCard {
    const url = `${this.url}${binding === 'JSONRPC' ? '/a2a' : '/rest'}`;
    const own = [{ url, protocolBinding: binding, tenant: '', protocolVersion: '1.0' }];
    const { apiKey, streaming = true } = this.options;
    const scheme = {
      $case: 'apiKeySecurityScheme' as const,
      value: { description: '', location: 'header', name: 'X-API-Key' },
    };
    return {
      name: 'A2A stand-in',
      description: 'An agent for tests',
      version: '1.2.3',
      provider: undefined,
      capabilities: { streaming, extensions: [] },
      securitySchemes: apiKey === undefined ? {} : { key: { scheme } },
      securityRequirements: [],
      defaultInputModes: ['text/plain', 'image/png'],
      defaultOutputModes: ['text/plain', 'image/png'],
      skills: [
        {
          id: 'echo',
          name: 'Echo',
          description: 'Says it again',
          tags: [],
          examples: [],
          inputModes: [],
          outputModes: [],
          securityRequirements: [],
        },
      ],
      signatures: [],
      supportedInterfaces: isLegacy
        ? duplicateInterfacesForLegacy(own, [binding]).filter(
            ({ protocolVersion }) => protocolVersion === '0.3',
          )
        : own,
      ...this.options.card,
    };
  }

  #executor(): AgentExecutor {
    return {
      execute: (context, bus) => this.#execute(context, bus),
      cancelTask: async (taskId, bus) => {
        const running = this.#running.get(taskId);
        if (running) bus.publish(statusOf(running.context, 'canceled'));
        running?.end();
        bus.finished();
      },
    };
  }

  async #execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const { userMessage, task } = context;
    this.messages.push(userMessage);
    const said = userMessage.parts
      .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
      .join('');
    if (said === 'plain') {
      bus.publish(AgentEvent.message(messageOf(context, [textPart('a plain message')])));
      bus.finished();
      return;
    }
    bus.publish(AgentEvent.task(task ?? newTask(context, userMessage)));
    bus.publish(statusOf(context, 'working', 'working on it'));
    if (task) {
      bus.publish(artifactOf(context, 'result', [textPart(`you said: ${said}`)]));
      bus.publish(statusOf(context, 'completed'));
    } else await this.#answer(said, context, bus);
    bus.finished();
  }

  async #answer(said: string, context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const results = (...artifacts: Part[][]) => {
      for (const [index, parts] of artifacts.entries()) bus.publish(artifactOf(context, `a${index}`, parts));
      bus.publish(statusOf(context, 'completed'));
    };
    switch (said) {
      case 'ask me':
        bus.publish(statusOf(context, 'input-required', 'Which city?'));
        return;
      case 'fail':
        bus.publish(statusOf(context, 'failed', 'a secret reason'));
        return;
      case 'reject':
        bus.publish(statusOf(context, 'rejected', 'not for you'));
        return;
      case 'login':
        bus.publish(statusOf(context, 'auth-required', 'please log in'));
        return;
      case 'picture':
        results([
          textPart('Here it is'),
          {
            content: { $case: 'raw', value: PIXEL },
            metadata: undefined,
            filename: 'dot.png',
            mediaType: 'image/png',
          },
        ]);
        return;
      case 'data':
        results([dataPart({ totalPrice: 5 })]);
        return;
      case 'tools':
        results(
          [textPart('Let me look. '), dataPart({ name: 'weather' }, { adk_type: 'function_call' })],
          [dataPart({ celsius: 25 }, { adk_type: 'function_response' })],
          [textPart('I think it is ', { adk_thought: true }), textPart('25 '), textPart('degrees')],
        );
        return;
      case 'run':
        await new Promise<void>((end) => this.#running.set(context.taskId, { context, bus, end }));
        this.#running.delete(context.taskId);
        return;
      default: {
        const files = context.userMessage.parts.flatMap(({ content }) =>
          content?.$case === 'raw' ? [` (${content.value.length} bytes)`] : [],
        );
        results([textPart(`echo: ${said}${files.join('')}`)]);
      }
    }
  }
}

function newTask({ taskId, contextId }: RequestContext, message: Message): Task {
  const status = { state: 1, message: undefined, timestamp: new Date().toISOString() };
  return { id: taskId, contextId, status, artifacts: [], history: [message], metadata: undefined };
}

function messageOf({ taskId, contextId, task }: RequestContext, parts: Part[]): Message {
  return {
    messageId: crypto.randomUUID(),
    contextId,
    taskId: task ? taskId : '',
    role: 2,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function statusOf(context: RequestContext, state: State, text?: string) {
  const { taskId, contextId } = context;
  const message = text === undefined ? undefined : messageOf(context, [textPart(text)]);
  const status = { state: STATE[state], message, timestamp: new Date().toISOString() };
  return AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined });
}

function artifactOf(
  { taskId, contextId }: RequestContext,
  artifactId: string,
  parts: Part[],
  append = false,
) {
  const artifact = { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] };
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    artifact,
    append,
    lastChunk: true,
    metadata: undefined,
  });
}
