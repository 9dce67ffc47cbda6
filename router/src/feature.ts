import type { Config } from './config/config.ts';
import type { ServiceDefaults } from './config/live-settings.ts';
import type { AliasesOf } from './core/access/caller.ts';
import type { AgentClients, TaskNow } from './core/agent-client.ts';
import type { ExchangeRecorder } from './core/agent-exchange.ts';
import type { Clock } from './core/clock.ts';
import type { ChatPlacement } from './core/cluster/chat-placement.ts';
import type { ClusterAccounts } from './core/cluster/cluster-view.ts';
import type { NodeBus } from './core/cluster/node-bus.ts';
import type { WantedFile } from './core/delivery/agent-file.ts';
import type { FileToSend, SendMessageInput } from './core/delivery/send-message.ts';
import type { AgentCalls } from './core/hosting/agents-of-nodes.ts';
import type { Change, LiveEventTypes } from './core/live/live-event.ts';
import type { Logger } from './core/logger.ts';
import type { AgentResponse, MediaKind } from './core/models.ts';
import type { Phrase, Said } from './core/phrases.ts';
import type { ConversationSettings } from './core/policies/conversation-fields.ts';
import type { ReplyShaping } from './core/policies/reply.ts';
import type { ConsoleSessions, ConsoleUsers, RateLimiter } from './core/ports/access.ts';
import type { AccountStore } from './core/ports/account-store.ts';
import type { ApiKeyStore } from './core/ports/api-key-store.ts';
import type { AuditLog } from './core/ports/audit-log.ts';
import type { ChatStore } from './core/ports/chat-store.ts';
import type { AccountControl, ClusterView } from './core/ports/cluster.ts';
import type { LinkedFile } from './core/ports/media.ts';
import type { MessageLog } from './core/ports/message-log.ts';
import type { OutboxRow } from './core/ports/outbox.ts';
import type { Drafts, Questions, ReplyTokens } from './core/ports/pending-answers.ts';
import type { Playground, PlaygroundChat } from './core/ports/playground.ts';
import type { RouteStore } from './core/ports/route-store.ts';
import type { SettingsStore } from './core/ports/settings-store.ts';
import type { StorageHealth } from './core/ports/storage-health.ts';
import type {
  ExplainInput,
  ExplainResult,
  RoutePreview,
  TablesToCompare,
} from './core/routing/explain-route.ts';
import type { PolicyOfChat } from './core/routing/route-message.ts';
import type { StoredMessageToRoute } from './core/routing/when.ts';
import type { DurableTasks, RemoteTasks, StartedTasks, TaskFunctions, TaskStart } from './core/tasks.ts';
import type { AnswerLaterResult } from './core/turns/answer-of-turn.ts';
import type { CircuitBreakers, FailureDefaults } from './core/turns/ask-agent.ts';
import type { ChatWorkers } from './core/turns/chat-workers.ts';
import type { PendingTurn, QueuedReply } from './core/turns/turn.ts';
import type { SigningKey } from './features/a2a/push-updates.ts';
import type { TaskHooks } from './features/a2a/task-hooks.ts';
import type { PasswordHasher, SignIn } from './features/access/sign-in.ts';
import type { DeadLetters } from './features/dead-letters/dead-letters.ts';
import type { EventStreamDeps } from './features/live/event-stream.ts';
import type { NpcEmotions, NpcMemories, NpcTrades } from './features/npc/memories.ts';
import type {
  NpcChain,
  NpcChainEvents,
  NpcServerSettings,
  NpcTransactions,
} from './features/npc/npc-chain.ts';
import type { NpcTaskFeed } from './features/npc/npc-task-feed.ts';
import type { NpcTasks } from './features/npc/npc-tasks.ts';
import type { ShortTasks } from './features/npc/short-tasks.ts';
import type { ScenarioResult } from './features/playground/run-scenario.ts';
import type { Scenario, ScenarioWorld } from './features/playground/scenario.ts';
import type { PlaygroundScenarios } from './features/playground/scenario-store.ts';
import type { RouteHistory } from './features/routes/postgres-route-history.ts';
import type { Metrics } from './features/stats/metrics.ts';
import type { Stats } from './features/stats/postgres-stats.ts';
import type { ServedTasks } from './features/tasks/served-tasks.ts';
import type { TaskFeed } from './features/tasks/task-feed.ts';
import type { EventToSend, sendEvent } from './features/webhooks/send-event.ts';
import type { WebhookDeliveries } from './features/webhooks/webhook-deliveries.ts';
import type { Webhooks } from './features/webhooks/webhooks.ts';
import type { AgentKind, NoAgent } from './infra/agents/agent-kind.ts';
import type { Inspection } from './infra/agents/agent-tools.ts';
import type { RouteProbe } from './infra/agents/route-probe.ts';
import type { AgentTransport } from './infra/agents/transport/agent-transport.ts';
import type { NodeConnection } from './infra/db/connections/node-connection.ts';
import type { SecretColumn } from './infra/db/encryption/secret-cipher.ts';
import type { Postgres } from './infra/db/postgres.ts';
import type { RetentionRules } from './infra/db/upkeep/retention.ts';
import type { LogRing } from './infra/logging/log-ring.ts';
import type { UserPresence } from './infra/operations/access.ts';
import type { AuditRecorder } from './infra/operations/audit-recorder.ts';
import type { Endpoint } from './infra/operations/endpoint.ts';
import type { KeyWatch } from './infra/operations/key-watch.ts';
import type { ProtocolServer } from './infra/operations/protocol-server.ts';
import type { RestCalls } from './infra/operations/server.ts';
import type { PlaygroundChanges, Writing, Written } from './providers/playground/playground-provider.ts';

/**
 * One feature of the service, in `features/<name>/feature.ts`: what it adds to the service. A folder that only the command line
 * uses, such as `backup`, has none.
 */
export interface Feature {
  readonly name: string;
  /** What the tags of its operations mean, by name. A feature may use the tag of another one. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Its operations of the REST API, in the order in which their paths are matched. */
  operations?(app: App): Endpoint[];
  /** Pages for people, and protocols that are endpoints without being operations; matched before all operations. */
  pages?(app: App): Endpoint[];
  /** Protocols that write their own responses; matched before all pages. */
  servers?(service: Service): ProtocolServer[];
  /** Its durable functions, by the names that are stored: a name never changes. */
  readonly durable?: DurableFunctions;
  /**
   * The durable tasks that a crash may have kept from starting, at most `limit` of a kind; they are started. Called on one node at a
   * time, at its start, every minute and when a node has died.
   * @param waitedMs 0: a process has died just now; else tasks that wait for less are being started
   */
  openTasks?(service: Service, waitedMs: number, limit: number): Promise<readonly TaskStart[]>;
  /** Types of live events that it is about. */
  readonly liveEvents?: LiveEventTypes;
  /** Reports as live events what every node learns by itself, over the bus. */
  noteChanges?(bus: Pick<NodeBus, 'on'>, note: (change: Change) => void): void;
  /** The columns of its tables whose values are encrypted. */
  readonly secrets?: readonly SecretColumn[];
  /** What of its tables is deleted when. */
  readonly retention?: RetentionRules;
  /** Starts its work in the background, when requests are answered. @returns stops it, and resolves when it has ended */
  start?(service: Service): () => Promise<void>;
}

/** As `TaskFunctions`, with the service first. */
type DurableFunctions = {
  readonly [Kind in keyof TaskFunctions]?: (
    service: Service,
    ...given: Parameters<TaskFunctions[Kind]>
  ) => ReturnType<TaskFunctions[Kind]>;
};

/**
 * What the operations of all features get of the running service, made once at its start. An operation takes all of it and uses
 * what it needs.
 */
export interface App {
  config: Pick<Config, 'accountId' | 'apiKey' | 'environment' | 'host' | 'publicUrl' | 'settings'> &
    ServiceDefaults;
  /** Of operations. */
  log: Logger;
  /** The log of another part of the service, with its name. */
  logOf(part: string): Logger;
  clock: Clock;
  /** Uniform in [0, 1). */
  random(): number;

  /** This node and its last view of all nodes and accounts. */
  nodes: { nodeId: string; view(): ClusterView };
  /** The newest log lines of this node. */
  nodeLog: { ring: LogRing; nodeId: string; clock: Pick<Clock, 'sleep'> };
  storage: Pick<StorageHealth, 'check'>;
  metrics: Metrics;
  stats: Pick<Stats, 'read' | 'ofRoutes'>;
  /** The live events of all nodes, and their types. */
  liveEvents: EventStreamDeps;
  liveEventTypes: LiveEventTypes;

  // Callers.
  keys: Pick<ApiKeyStore, 'create' | 'all' | 'delete'>;
  /** Ends what a caller has open when its key or its session ends. */
  keyWatch: Pick<KeyWatch, 'watch'>;
  users: ConsoleUsers;
  sessions: Pick<ConsoleSessions, 'all' | 'end' | 'endAllOf'>;
  presence: Pick<UserPresence, 'refresh' | 'hasUsers'>;
  passwords: Pick<PasswordHasher, 'hash'>;
  signIn: Pick<SignIn, 'withAdminKey' | 'withPassword' | 'checkPassword'>;
  limiter: RateLimiter;
  recorder: Pick<AuditRecorder, 'recordChange' | 'recordRead'>;
  auditLog: Pick<AuditLog, 'entries' | 'chain'>;
  /** Operations called from inside, with the rights of a caller. */
  calls: Pick<RestCalls, 'call'>;

  // Accounts and chats.
  accounts: AccountControl;
  accountStore: Pick<AccountStore, 'limits' | 'stateChanges'>;
  /** The URLs of proxies; throws StorageUnavailableError. */
  proxies: {
    /** Undefined: the account has none. */
    urlOf(accountId: string): Promise<string | undefined>;
    /** @param url undefined: none @returns whether there is such a WhatsApp account */
    set(accountId: string, url: string | undefined): Promise<boolean>;
  };
  /**
   * Deletes an account with everything stored for it. Resolves when the deletion is stored, so that it also continues after
   * a crash; the account then disappears from `accounts`.
   */
  deleteAccount(accountId: string): Promise<void>;
  chatStore: ChatStore;
  /** The other channelIds of a person. */
  aliasesOf: AliasesOf;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve'>;

  // Messages.
  messageLog: MessageLog;
  /** Stores a message to send, and starts its delivery; the same idempotencyKey returns the first row. */
  sendMessage(input: SendMessageInput): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }>;
  /** @throws {NotOnWhatsAppError} the message would go to a number without an account */
  refuseUnknownNumber(message: Pick<SendMessageInput, 'accountId' | 'to' | 'idempotencyKey'>): Promise<void>;
  /** Starts the delivery of stored replies. */
  deliver(replies: readonly QueuedReply[]): void;
  /** Makes a file ready to be sent, as WhatsApp's apps send it; nothing is loaded before its `load`. */
  prepareFile(kind: MediaKind, wanted: WantedFile): FileToSend;
  /** The file that a link leads to. @throws {MediaError} */
  loadLinked(
    token: string,
    signal: AbortSignal,
  ): Promise<{ file: LinkedFile; bytes: Uint8Array } | 'expired' | 'unknown'>;
  /** The bytes of the file of a message received. @throws {MediaError} */
  loadReceived(
    message: Pick<PendingTurn, 'messageId' | 'accountId'>,
    signal: AbortSignal,
  ): Promise<Uint8Array>;
  /** The bytes of the file of a message sent; undefined: they are not stored. */
  sentFile(messageId: string): Promise<Uint8Array | undefined>;
  replyTokens: Pick<ReplyTokens, 'stateOf'>;
  /** Stores a late answer, once for each message. */
  answerLater(
    token: string,
    answer: Pick<AgentResponse, 'response' | 'files' | 'fileLinks'>,
  ): Promise<AnswerLaterResult>;
  drafts: Drafts;
  deadLetters: DeadLetters;

  // Routes and agents.
  routes: RouteStore;
  routeHistory: RouteHistory;
  agentKinds: readonly AgentKind[];
  agents: Pick<AgentClients, 'clientFor'>;
  routeProbe: Pick<RouteProbe, 'refusedAddresses' | 'findings' | 'test' | 'card'>;
  inspectAgent(url: string): Promise<Inspection | NoAgent>;
  /** Why the egress policy refuses a URL, as part of a sentence; undefined: it does not. */
  egressRefusalOf(url: string): Said | undefined;
  /** Explains the route of a hypothetical message; stores and sends nothing. */
  explain(input: ExplainInput): Promise<ExplainResult>;
  /** The settings that apply to a message with this text in a chat. */
  policyOfChat(chat: { accountId: string; channelIds: string[] }, text: string): Promise<PolicyOfChat>;
  /** Evaluates messages with two tables, for a few seconds at most; stores and sends nothing. */
  previewRoutes(tables: TablesToCompare, messages: readonly StoredMessageToRoute[]): Promise<RoutePreview>;
  hostedAgents: AgentCalls;

  // Settings that admins change while wa2ai runs.
  settingsStore: SettingsStore;
  /** The stored defaults of all routes. */
  conversation(): Promise<ConversationSettings>;

  // Tasks.
  /** Long work that survives a crash. */
  tasks: Pick<DurableTasks, 'start'>;
  remoteTasks: Pick<RemoteTasks, 'list' | 'get'>;
  /** Undefined: the task has ended, or its agent cannot be asked. @throws {Wa2aiError} the agent does not answer */
  askAboutTask(taskId: string, signal: AbortSignal): Promise<TaskNow | undefined>;
  /** @throws {Wa2aiError} the agent does not answer */
  cancelTask(taskId: string, signal: AbortSignal): Promise<'asked' | 'refused' | 'ended'>;
  /** An agent reports about its task. @returns false: there is no such address */
  receivePush(token: string): Promise<boolean>;

  webhooks: Webhooks;
  webhookDeliveries: Pick<WebhookDeliveries, 'list' | 'retry'>;
  /** Sends a test event of a webhook now. @throws the signal's reason */
  sendTestEvent(
    event: { eventId: string; url: string; secret: string; accountId: string },
    signal: AbortSignal,
  ): Promise<{ status: number } | { status?: number; error: string; phrase?: Phrase }>;

  playground: Playground;
  playgroundChanges: Pick<PlaygroundChanges, 'until'>;
  /** Makes the account of the playground unless it exists. @returns false: a WhatsApp account has its id */
  addPlayground(): Promise<boolean>;
  writeMessage(chat: PlaygroundChat, writing: Writing): Promise<Written>;
  scenarios: PlaygroundScenarios;
  runScenario(world: ScenarioWorld, scenario: Scenario, signal: AbortSignal): Promise<ScenarioResult>;

  // The NPC server.
  npcTasks: NpcTasks;
  npcFeed: NpcTaskFeed;
  shortTasks: Pick<ShortTasks, 'add'>;
  /** A new id: `task_` and random letters and digits. */
  mintTaskId(): string;
  /** The settings in use: the stored ones, else the default; without the chain on a node that has no key of the wallet. */
  npcSettings(): Promise<NpcServerSettings>;
  /** @param check called with the settings in use, in the transaction of the change; what it throws prevents the change */
  putNpcSettings(settings: NpcServerSettings, check?: (inUse: NpcServerSettings) => void): Promise<void>;
  /** Whether this node has the key of the wallet. */
  hasWalletKey: boolean;
  /** The wallet and the contracts; undefined: there are no chain settings, or this node has no key of the wallet. */
  chain(): Promise<NpcChain | undefined>;
  chainEvents: NpcChainEvents;
  transactions: Pick<NpcTransactions, 'unsettled'>;
  trades: NpcTrades;
}

/** What the service has opened before its features, of which they make what they add. */
export interface Kernel {
  config: Config;
  logOf(part: string): Logger;
  clock: Clock;
  random(): number;
  /** Contains a password: never log it. */
  databaseUrl: string;
  postgres: Postgres;
  nodeId: string;
  /** Messages between nodes. */
  bus: NodeBus<NodeConnection>;
  /** The other nodes, as this one sees them. */
  placement: ChatPlacement;
  /** The accounts of all nodes. */
  accounts: ClusterAccounts;
  keys: ApiKeyStore;
  settingsStore: SettingsStore;
  workers: ChatWorkers;
  routes: RouteStore;
  agents: AgentClients;
  /** Sends every request to an agent. */
  transport: AgentTransport;
  /** To addresses that programs name: private ones are refused unless the operator allows every address. */
  publicTransport: AgentTransport;
  /** Records requests of `transport`; absent: exchanges are not stored. */
  exchangeRecorder?: ExchangeRecorder;
  /** Signs push notifications. */
  pushKey(): Promise<SigningKey>;
  messageLog: MessageLog;
  metrics: Metrics;
  /** Questions to people, asked for programs. */
  questions: Questions;
  /** What happens when an agent fails. */
  failureDefaults: FailureDefaults;
  circuits: CircuitBreakers;
  /** Tasks of agents that outlive their turns. */
  remoteTasks: RemoteTasks;
  startedTasks: StartedTasks;
  /** How the answers of agents are shaped. */
  shaping: ReplyShaping;
  /** A new WhatsApp id for a message to send. */
  mintId(): string;
  deliver(replies: readonly QueuedReply[]): void;
  sendMessage: App['sendMessage'];
}

/** What background work, durable functions and servers get: the handle of the operations, the kernel, and what features share. */
export interface Service extends Omit<App, keyof Kernel>, Kernel {
  /** Aborts when the server stops: streams and calls that wait end. */
  stopping: AbortSignal;
  /** Operations called from inside, with the rights of a caller. */
  calls: RestCalls;

  // Tasks that wa2ai does for programs.
  servedTasks: ServedTasks;
  taskFeed: TaskFeed;
  taskHooks: TaskHooks;
  /** Starts durable tasks, each once. */

  webhookDeliveries: WebhookDeliveries;
  /** Sends one event outside the queue; see sendEvent. */
  sendEvent(
    event: EventToSend & { url: string; secret?: string },
    signal: AbortSignal,
  ): ReturnType<typeof sendEvent>;

  // What the NPC did and felt.
  emotions: NpcEmotions;
  memories: NpcMemories;
  transactions: NpcTransactions;
  shortTasks: ShortTasks;
}
