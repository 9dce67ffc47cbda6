import { z } from 'zod';
import type { NodeId } from '../chat-id.ts';
import type { NodeCalls } from '../cluster/node-bus.ts';
import { Wa2aiError } from '../errors.ts';
import { type Said, say } from '../phrases.ts';
import type { AgentMessage, AgentQuery } from '../ports/agent-registry.ts';
import type { AgentFileInfo, LogLine } from '../ports/agent-runtime.ts';
import type { HostedAgent } from './agent-life.ts';
import type { AgentExchange, HostedAgents, HostedAgentView } from './hosted-agents.ts';
import { AgentElsewhereError } from './hosting-errors.ts';

/** What programs can do with hosted agents. */
export type AgentCalls = Pick<HostedAgents, keyof HostedAgents>;

const agentId = z.string();
const request = z.discriminatedUnion('action', [
  z.object({ action: z.enum(['start', 'stop', 'restart']), agentId }),
  z.object({ action: z.literal('files'), agentId }),
  z.object({ action: z.literal('deleteFile'), agentId, path: z.string() }),
  z.object({
    action: z.literal('send'),
    agentId,
    message: z.object({ messageId: z.string(), text: z.string() }),
    waitMs: z.number(),
  }),
  z.object({ action: z.literal('messages'), agentId, count: z.number() }),
  z.object({ action: z.literal('openExchanges'), agentId }),
  z.object({ action: z.literal('logs'), agentId, tail: z.number() }),
]);
type Request = z.infer<typeof request>;

/** A start may pull an image. */
const START_WAIT_MS = 10 * 60_000;
/** An agent that has to be woken gives its history after this long at the latest. */
const HISTORY_WAIT_MS = 2 * 60_000;
/** What another node needs at most for anything else, and beyond a wait for an answer. */
const ANSWER_WAIT_MS = 15_000;

/**
 * Hosted agents of all nodes: a call about an agent of another node is made there.
 * @throws {AgentElsewhereError} what cannot be called from here: new settings, the content of files, a log that is followed
 */
export class AgentsOfNodes implements AgentCalls {
  readonly #own: AgentCalls;
  readonly #calls: NodeCalls;

  /** @param own the agents of this node */
  constructor(own: AgentCalls, calls: NodeCalls) {
    this.#own = own;
    this.#calls = calls;
    calls.serve('agent', (args) => this.#serve(request.parse(args)));
  }

  list(query: AgentQuery): Promise<HostedAgentView[]> {
    return this.#own.list(query);
  }

  get(agentId: string): Promise<HostedAgentView | undefined> {
    return this.#own.get(agentId);
  }

  put(agent: HostedAgent): Promise<{ view: HostedAgentView; isNew: boolean }> {
    return this.#own.put(agent);
  }

  remove(agentId: string): Promise<'deleted' | 'deleting' | undefined> {
    return this.#own.remove(agentId);
  }

  start(agentId: string): Promise<HostedAgentView | undefined> {
    return this.#change({ action: 'start', agentId }, () => this.#own.start(agentId));
  }

  stop(agentId: string): Promise<HostedAgentView | undefined> {
    return this.#change({ action: 'stop', agentId }, () => this.#own.stop(agentId));
  }

  restart(agentId: string): Promise<HostedAgentView | undefined> {
    return this.#change({ action: 'restart', agentId }, () => this.#own.restart(agentId));
  }

  async logs(
    agentId: string,
    options: { tail: number; follow: boolean; signal: AbortSignal },
  ): Promise<AsyncIterable<LogLine> | undefined> {
    const { tail, follow } = options;
    return await here(
      () => this.#own.logs(agentId, options),
      async (node, elsewhere) => {
        if (follow) throw elsewhere;
        const lines = await this.#there<LogLine[]>(node, { action: 'logs', agentId, tail });
        return (
          lines &&
          (async function* () {
            yield* lines;
          })()
        );
      },
    );
  }

  files(agentId: string): Promise<{ bytes: number; files: AgentFileInfo[] } | undefined> {
    return here(
      () => this.#own.files(agentId),
      (node) => this.#there(node, { action: 'files', agentId }),
    );
  }

  readFile(agentId: string, path: string): Promise<Uint8Array | undefined> {
    return this.#own.readFile(agentId, path);
  }

  writeFile(agentId: string, path: string, bytes: Uint8Array): Promise<boolean | undefined> {
    return this.#own.writeFile(agentId, path, bytes);
  }

  archive(agentId: string): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#own.archive(agentId);
  }

  deleteFile(agentId: string, path: string): Promise<HostedAgentView | undefined> {
    return this.#change({ action: 'deleteFile', agentId, path }, () => this.#own.deleteFile(agentId, path));
  }

  send(
    agentId: string,
    message: { messageId: string; text: string },
    waitMs: number,
  ): Promise<AgentExchange | undefined> {
    return here(
      () => this.#own.send(agentId, message, waitMs),
      async (node) => {
        const sent = { action: 'send', agentId, message, waitMs } as const;
        const exchange = await this.#there<SentExchange>(node, sent, waitMs + ANSWER_WAIT_MS);
        return exchange && exchangeOf(exchange);
      },
    );
  }

  messages(agentId: string, count: number, signal: AbortSignal): Promise<AgentMessage[] | undefined> {
    return here(
      () => this.#own.messages(agentId, count, signal),
      (node) => this.#there(node, { action: 'messages', agentId, count }, HISTORY_WAIT_MS),
    );
  }

  openExchanges(agentId: string): Promise<AgentExchange[]> {
    return here(
      () => this.#own.openExchanges(agentId),
      async (node) => {
        const open = await this.#there<SentExchange[]>(node, { action: 'openExchanges', agentId });
        return (open ?? []).map(exchangeOf);
      },
    );
  }

  close(): Promise<void> {
    return this.#own.close();
  }

  /** The view comes from the registry: the settings of an agent, which may have secrets, do not travel. */
  async #change(
    asked: Request,
    work: () => Promise<HostedAgentView | undefined>,
  ): Promise<HostedAgentView | undefined> {
    return await here(work, async (node) => {
      await this.#there(node, asked, START_WAIT_MS);
      return await this.get(asked.agentId);
    });
  }

  /** @throws {Wa2aiError} what the other node says, or that it does not answer */
  async #there<T>(node: NodeId, asked: Request, waitMs = ANSWER_WAIT_MS): Promise<T | undefined> {
    const result = await this.#calls.call(node, 'agent', asked, waitMs);
    if (result) return (result.value ?? undefined) as T | undefined;
    throw new Wa2aiError('NODE_SILENT', 'retry', say('node.agent-silent', { node, agent: asked.agentId }));
  }

  async #serve(asked: Request): Promise<unknown> {
    const own = this.#own;
    const { agentId } = asked;
    switch (asked.action) {
      case 'start':
      case 'stop':
      case 'restart':
        return (await own[asked.action](agentId)) && true;
      case 'deleteFile':
        return (await own.deleteFile(agentId, asked.path)) && true;
      case 'files':
        return own.files(agentId);
      case 'send': {
        const exchange = await own.send(agentId, asked.message, asked.waitMs);
        return exchange && sentOf(exchange);
      }
      case 'messages':
        return own.messages(agentId, asked.count, AbortSignal.timeout(HISTORY_WAIT_MS));
      case 'openExchanges':
        return (await own.openExchanges(agentId)).map(sentOf);
      case 'logs': {
        const signal = AbortSignal.timeout(ANSWER_WAIT_MS);
        const lines = await own.logs(agentId, { tail: asked.tail, follow: false, signal });
        if (!lines) return undefined;
        const all: LogLine[] = [];
        for await (const line of lines) all.push(line);
        return all;
      }
    }
  }
}

/** Does the work here, or has it done at the node of the agent. */
async function here<T>(
  work: () => Promise<T>,
  there: (node: NodeId, elsewhere: AgentElsewhereError) => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AgentElsewhereError)) throw error;
    return await there(error.nodeId, error);
  }
}

/** An exchange on its way between nodes. */
type SentExchange =
  | Exclude<AgentExchange, { state: 'failed' }>
  | {
      messageId: string;
      state: 'failed';
      error: Pick<Wa2aiError, 'code' | 'disposition' | 'message'> & Pick<Said, 'phrase'>;
    };

function sentOf(exchange: AgentExchange): SentExchange {
  if (exchange.state !== 'failed') return exchange;
  const { code, disposition, said } = exchange.error;
  const { sentence: message, phrase } = said;
  return { ...exchange, error: { code, disposition, message, ...(phrase && { phrase }) } };
}

function exchangeOf(sent: SentExchange): AgentExchange {
  if (sent.state !== 'failed') return sent;
  const { code, disposition, message: sentence, phrase } = sent.error;
  return { ...sent, error: new Wa2aiError(code, disposition, { sentence, ...(phrase && { phrase }) }) };
}
