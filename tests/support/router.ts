import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { receiveMessage } from '../../router/src/core/cluster/account-events.ts';
import { ChatPlacement } from '../../router/src/core/cluster/chat-placement.ts';
import { AccountRegistry } from '../../router/src/core/cluster/cluster-view.ts';
import { ReplyDelivery } from '../../router/src/core/delivery/deliver-reply.ts';
import { mintWaMessageId } from '../../router/src/core/delivery/send-message.ts';
import { MediaError } from '../../router/src/core/errors.ts';
import type { Logger } from '../../router/src/core/logger.ts';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { Environment, OutgoingMessage, RouteConfig } from '../../router/src/core/models.ts';
import type { autoReplyLoopPolicy } from '../../router/src/core/policies/auto-reply-loop.ts';
import { chatPolicies } from '../../router/src/core/policies/policies.ts';
import type { ChatProvider } from '../../router/src/core/ports/chat-provider.ts';
import { CircuitBreakers } from '../../router/src/core/turns/ask-agent.ts';
import { ChatWorkers } from '../../router/src/core/turns/chat-workers.ts';
import { PostgresChatStore } from '../../router/src/features/chats/postgres-chat-store.ts';
import { PostgresMessageLog } from '../../router/src/features/chats/postgres-message-log.ts';
import { PostgresDeadLetters } from '../../router/src/features/dead-letters/dead-letters.ts';
import { replayDeadLetter } from '../../router/src/features/dead-letters/feature.ts';
import { createAgentClients } from '../../router/src/infra/agents/agent-clients.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { PostgresChatHistory } from '../../router/src/infra/db/stores/postgres-chat-history.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresOutbox } from '../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresReplyTokens } from '../../router/src/infra/db/stores/postgres-reply-tokens.ts';
import { PostgresRouteStore } from '../../router/src/infra/db/stores/postgres-route-store.ts';
import { RegexMatcher } from '../../router/src/infra/matching/regex-matcher.ts';
import { TinyldLanguageDetector } from '../../router/src/infra/matching/tinyld-language-detector.ts';
import { MemoryNodeHub } from '../doubles/memory-node-hub.ts';
import { appWith } from './app-with.ts';
import type { TestDatabase } from './database.ts';
import { quietLog } from './quiet-log.ts';
import { shaping } from './shaping.ts';

type AutoReplyLoopSettings = Parameters<typeof autoReplyLoopPolicy>[0]['autoReplyLoop'];

let order = 0n;

/** A message as WhatsApp would bring it; a fresh id and the next place in the order unless given. */
export function inbound(fields: Partial<InboundMessage> & { person: string; text: string }): InboundMessage {
  const { person, ...rest } = fields;
  order += 1n;
  return {
    accountId: 'default',
    waMessageId: `IN${order}`,
    chat: { kind: 'person', phone: person },
    sender: { phone: person },
    kind: 'text',
    sentAtMs: Date.now(),
    stanzaOrder: order,
    ...rest,
  };
}

/** The whole way of a message on a real database and real agents, with a provider that only records what it would send. */
export class TestRouter {
  readonly inbox: PostgresInbox;
  readonly outbox: PostgresOutbox;
  readonly routes: PostgresRouteStore;
  readonly log: PostgresMessageLog;
  readonly deadLetters: PostgresDeadLetters;
  readonly sent: OutgoingMessage[] = [];
  readonly #events = new EventEmitter();
  readonly #workers: ChatWorkers;
  readonly #delivery: ReplyDelivery;
  readonly #matcher = new RegexMatcher();
  readonly #log: Logger;

  private constructor(database: TestDatabase, options: RouterOptions) {
    this.#log = options.log ?? quietLog;
    const postgres = database.open({ poolSize: 10 });
    this.inbox = new PostgresInbox(postgres);
    this.outbox = new PostgresOutbox(postgres);
    this.routes = new PostgresRouteStore(postgres);
    this.log = new PostgresMessageLog(postgres);
    this.deadLetters = new PostgresDeadLetters(postgres);
    const provider: Pick<
      ChatProvider,
      'accountId' | 'status' | 'untilLimitsKnown' | 'send' | 'upload' | 'setTyping' | 'markRead' | 'react'
    > = {
      accountId: 'default',
      untilLimitsKnown: () => undefined,
      status: () => ({ accountId: 'default', state: 'open', nextAction: '', sinceMs: 0 }),
      send: async (message) => {
        this.sent.push(message);
        this.#events.emit('sent', message);
      },
      upload: async (_message, bytes) => bytes,
      setTyping: async () => undefined,
      markRead: async () => undefined,
      react: async () => true,
    };
    this.#delivery = new ReplyDelivery({
      outbox: this.outbox,
      log: this.#log,
      clock: systemClock,
      provider,
    });
    const accounts = new AccountRegistry();
    accounts.add({ provider: provider as ChatProvider, delivery: this.#delivery });
    const bus = new MemoryNodeHub().connect('test-node');
    const stopping = new AbortController();
    const chatStore = new PostgresChatStore(postgres);
    const languages = new TinyldLanguageDetector();
    this.#workers = new ChatWorkers({
      nodeId: 'test-node',
      placement: new ChatPlacement('test-node', systemClock),
      bus,
      clock: systemClock,
      stopping,
      answer: {
        inbox: this.inbox,
        routes: this.routes,
        matcher: this.#matcher,
        agents: createAgentClients({
          matcher: this.#matcher,
          defaultTimeoutMs: () => options.agentTimeoutMs ?? 5_000,
          log: this.#log,
          clock: systemClock,
          transport: new AgentTransport(),
        }),
        environment: options.environment ?? 'lab',
        media: {
          urlOf: async () => undefined,
          load: async () => {
            throw new MediaError('MEDIA_GONE', { sentence: 'There are no files here.' });
          },
        },
        history: new PostgresChatHistory(postgres),
        replyTokens: new PostgresReplyTokens(postgres),
        ...shaping(),
        chatStore,
        languages,
        accountStore: { load: async () => ({ state: 'open', generation: 1 }) },
        policies: chatPolicies({
          ...{ chatStore, languages, conversation: shaping().conversation },
          matcher: this.#matcher,
          inbox: this.inbox,
          routes: this.routes,
          environment: options.environment ?? 'lab',
          say: async () => undefined,
          noticeLog: quietLog,
          history: new PostgresChatHistory(postgres),
          autoReplyLoop: options.loop ?? { turns: 0, replyMs: 0 },
          accounts,
          bus,
          clock: systemClock,
        }),
        policy: { tryForMs: 60_000, backoffMs: () => 20 },
        circuits: new CircuitBreakers(),
        accounts,
        bus,
        clock: systemClock,
        log: this.#log,
        mintId: () => mintWaMessageId(randomBytes(9)),
        observeTurn: (result) => this.#events.emit('turn', result),
        stopping: stopping.signal,
      },
    });
  }

  static async start(database: TestDatabase, options: RouterOptions = {}): Promise<TestRouter> {
    const router = new TestRouter(database, options);
    router.#events.setMaxListeners(0);
    await router.#workers.start();
    return router;
  }

  /** An agent that is not available gets two attempts, unless `more` says otherwise. */
  async addRoute(channelId: string, agentUrl: string, more: RouteFields = {}) {
    const { config, ...fields } = more;
    const failure = { circuit: { failures: 2, openMs: 60_000 } };
    return this.routes.create({
      accountId: 'default',
      channelId,
      agentEndpoint: agentUrl,
      environment: 'lab',
      priority: 0,
      enabled: true,
      config: { agent: { kind: 'adk', settings: { appName: 'test_agent' } }, failure, ...config },
      ...fields,
    });
  }

  /** Receives a message and resolves when its turn ended (or at once when it needs none). */
  async receive(message: InboundMessage): Promise<void> {
    const ended = message.ignoredReason === undefined ? once(this.#events, 'turn') : undefined;
    await this.receiveOnly(message);
    await ended;
    await this.#delivery.idle();
  }

  /** Receives a message without waiting for its turn. */
  async receiveOnly(message: InboundMessage): Promise<void> {
    await receiveMessage({ inbox: this.inbox, workers: this.#workers, log: this.#log }, message);
  }

  /** Replays a dead letter and resolves when its turn has ended. */
  async replay(deadLetterId: string): Promise<string> {
    const ended = once(this.#events, 'turn');
    const outcome = await replayDeadLetter(
      appWith({
        deadLetters: this.deadLetters,
        workers: this.#workers,
        deliver: (replies) => this.#delivery.deliver(replies),
      }),
      deadLetterId,
    );
    if (outcome === 'replayed') await ended;
    await this.#delivery.idle();
    return outcome;
  }

  /** Resolves when so many messages went out. */
  async untilSent(count: number): Promise<OutgoingMessage[]> {
    while (this.sent.length < count) await once(this.#events, 'sent');
    return this.sent;
  }

  /** What was sent to a JID, in order. */
  textsTo(jid: string): string[] {
    return this.sent.filter((message) => message.to === jid).map((message) => message.text);
  }

  async stop(): Promise<void> {
    await this.#workers.stop(2_000);
    await this.#delivery.idle();
    await this.#matcher.close();
  }
}

interface RouterOptions {
  /** Absent: every message is answered. */
  loop?: AutoReplyLoopSettings;
  /** Default: nothing is logged. */
  log?: Logger;
  agentTimeoutMs?: number;
  environment?: Environment;
}

interface RouteFields {
  regexFilter?: string;
  priority?: number;
  enabled?: boolean;
  environment?: Environment;
  config?: Partial<RouteConfig>;
}
