import type { Message, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client, RequestOptions } from '@a2a-js/sdk/client';
import { AgentProtocolError } from '../../../../core/errors.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { withLimit } from '../../../../core/time-limit.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import type { Redact } from '../../transport/redaction.ts';
import type { A2aServer } from '../card/a2a-server.ts';
import { a2aError } from './a2a-errors.ts';
import { type A2aFetch, a2aFetch } from './a2a-fetch.ts';

/** What calls to one agent need. */
export interface A2aPeer {
  server: A2aServer;
  transport: AgentTransport;
  clock: Clock;
  /** Limit of one request; of a stream, until its first event. */
  timeoutMs: number;
  redact: Redact;
}

/** The calls of the protocol that wa2ai makes, in the form of version 1.0 for both versions. */
export class A2aConnection {
  readonly peer: A2aPeer;

  constructor(peer: A2aPeer) {
    this.peer = peer;
  }

  /** Sends a message without waiting for the end of its task. */
  send(message: Message, signal: AbortSignal | undefined): Promise<Message | Task> {
    return this.#call(signal, (client, options) => client.sendMessage(requestOf(message), options));
  }

  task(id: string, signal: AbortSignal | undefined): Promise<Task> {
    return this.#call(signal, (client, options) => client.getTask({ tenant: '', id }, options));
  }

  /** Asks the agent to stop a task; it may go on nevertheless. */
  cancel(id: string, signal: AbortSignal | undefined): Promise<Task> {
    return this.#call(signal, (client, options) =>
      client.cancelTask({ tenant: '', id, metadata: undefined }, options),
    );
  }

  /** Asks the agent to send notifications of a task to an address. A repeat changes nothing. */
  async pushTo(taskId: string, url: string, signal: AbortSignal | undefined): Promise<void> {
    await this.#call(signal, (client, options) =>
      client.createTaskPushNotificationConfig(
        { tenant: '', id: 'wa2ai', taskId, url, token: '', authentication: undefined },
        options,
      ),
    );
  }

  /** The newest tasks of a conversation with the messages that opened them; undefined where the protocol has no list. */
  async tasksOf(contextId: string, signal: AbortSignal | undefined): Promise<Task[] | undefined> {
    if (this.peer.server.version === '0.3') return undefined;
    const list = await this.#call(signal, (client, options) =>
      client.listTasks(
        {
          tenant: '',
          contextId,
          status: 0,
          pageSize: 50,
          pageToken: '',
          historyLength: 50,
          statusTimestampAfter: undefined,
        },
        options,
      ),
    );
    return list.tasks;
  }

  /** Sends a message and reads the events of its task until the signal aborts or the stream ends. */
  stream(message: Message, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    return this.#stream(signal, (client, options) => client.sendMessageStream(requestOf(message), options));
  }

  /** Reads the further events of a task. */
  resubscribe(id: string, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    return this.#stream(signal, (client, options) => client.resubscribeTask({ tenant: '', id }, options));
  }

  async #call<T>(
    signal: AbortSignal | undefined,
    call: (client: Client, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const { transport, clock, timeoutMs, server } = this.peer;
    return await withLimit(clock, timeoutMs, signal, async (limited) => {
      const wire = a2aFetch(transport, server, limited);
      try {
        return await call(await clientOf(server, wire), { signal: limited });
      } catch (error) {
        signal?.throwIfAborted();
        throw this.#error(error, wire, limited.aborted);
      }
    });
  }

  async *#stream(
    signal: AbortSignal,
    open: (client: Client, options: RequestOptions) => AsyncGenerator<StreamResponse>,
  ): AsyncGenerator<StreamResponse> {
    const { transport, clock, timeoutMs, server } = this.peer;
    const stopped = new AbortController();
    const stop = () => stopped.abort();
    signal.addEventListener('abort', stop, { once: true });
    const wire = a2aFetch(transport, server, stopped.signal);
    let isLate = false;
    try {
      signal.throwIfAborted();
      const events = open(await clientOf(server, wire), { signal: stopped.signal });
      const first = await withLimit(clock, timeoutMs, signal, async (limited) => {
        const late = () => {
          isLate = !signal.aborted;
          stopped.abort();
        };
        limited.addEventListener('abort', late, { once: true });
        try {
          return await events.next();
        } finally {
          limited.removeEventListener('abort', late);
        }
      });
      if (first.done) throw new AgentProtocolError('The A2A agent answered with an empty stream.');
      yield first.value;
      for await (const event of events) yield event;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#error(error, wire, isLate);
    } finally {
      signal.removeEventListener('abort', stop);
      stopped.abort();
    }
  }

  #error(error: unknown, wire: A2aFetch, isTimeout: boolean) {
    const { clock, timeoutMs, redact } = this.peer;
    return a2aError(error, { failure: wire.failure(), isTimeout, timeoutMs, nowMs: clock.now(), redact });
  }
}

/** The package is loaded when the first A2A route is used: it is large, and most services have none. */
async function clientOf({ card }: A2aServer, wire: A2aFetch): Promise<Client> {
  const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await import('@a2a-js/sdk/client');
  const options = { fetchImpl: wire.fetch, legacyCompat: { enabled: true } };
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    clientConfig: { polling: true },
  });
  return await factory.createFromAgentCard(card);
}

function requestOf(message: Message) {
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}
