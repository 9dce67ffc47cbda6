import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns';
import type { Config } from '../config/config.ts';
import type { AgentClients } from '../core/agent-client.ts';
import type { ExchangeRecorder } from '../core/agent-exchange.ts';
import { backoffMs } from '../core/clock.ts';
import { deliverReplies } from '../core/delivery/deliver-reply.ts';
import {
  mintWaMessageId,
  refuseUnknownNumber,
  type SendMessageInput,
  sendMessage,
} from '../core/delivery/send-message.ts';
import type { Logger } from '../core/logger.ts';
import { namedRoute } from '../core/playground/playground-account.ts';
import { chatPolicies } from '../core/policies/policies.ts';
import type { ChatPolicy } from '../core/policies/policy.ts';
import type { ReplyShaping } from '../core/policies/reply.ts';
import { storedConversation } from '../core/policies/settings.ts';
import type { AgentTalk } from '../core/ports/agent-registry.ts';
import type { LanguageDetector, TextMatcher, VoiceEncoder } from '../core/ports/converters.ts';
import type { MessageLog } from '../core/ports/message-log.ts';
import type { Questions, ReplyTokens } from '../core/ports/pending-answers.ts';
import type { Playground } from '../core/ports/playground.ts';
import type { RouteStore } from '../core/ports/route-store.ts';
import type { RouteDeps } from '../core/routing/route-message.ts';
import type { CurrentWork } from '../core/suspects.ts';
import { type RemoteTasks, StartedTasks } from '../core/tasks.ts';
import { CircuitBreakers, type FailureDefaults } from '../core/turns/ask-agent.ts';
import { ChatWorkers } from '../core/turns/chat-workers.ts';
import { StoredMedia } from '../core/turns/load-media.ts';
import type { QueuedReply } from '../core/turns/turn.ts';
import { type SigningKey, signingKey } from '../features/a2a/push-updates.ts';
import { PostgresAccountStore } from '../features/accounts/postgres-account-store.ts';
import { PostgresChatStore } from '../features/chats/postgres-chat-store.ts';
import { PostgresMessageLog } from '../features/chats/postgres-message-log.ts';
import { PostgresPlayground } from '../features/playground/postgres-playground.ts';
import { createMetrics, diskSpace, type Metrics } from '../features/stats/metrics.ts';
import { PostgresStats, type Stats } from '../features/stats/postgres-stats.ts';
import { StatsRecorder } from '../features/stats/stats-recorder.ts';
import { PostgresRemoteTasks } from '../features/tasks/postgres-remote-tasks.ts';
import { agentTaskChanged, SignedTaskPushes } from '../infra/agents/a2a/signed-task-pushes.ts';
import { createAgentClients } from '../infra/agents/agent-clients.ts';
import { HostedTalk } from '../infra/agents/hosted/hosted-talk.ts';
import { AgentTransport } from '../infra/agents/transport/agent-transport.ts';
import { Egress, type EgressPolicy, type OwnAddress } from '../infra/agents/transport/egress.ts';
import { TransportRecorder } from '../infra/agents/transport/exchange-mask.ts';
import { allowManyWaits, systemClock } from '../infra/clock/system-clock.ts';
import { PostgresAuditLog } from '../infra/db/stores/log-conditions.ts';
import { PostgresChatHistory } from '../infra/db/stores/postgres-chat-history.ts';
import { PostgresInbox } from '../infra/db/stores/postgres-inbox.ts';
import { PostgresMessageFiles } from '../infra/db/stores/postgres-message-files.ts';
import { PostgresOutbox } from '../infra/db/stores/postgres-outbox.ts';
import { PostgresQuestions } from '../infra/db/stores/postgres-questions.ts';
import { PostgresReplyTokens } from '../infra/db/stores/postgres-reply-tokens.ts';
import { PostgresRouteStore } from '../infra/db/stores/postgres-route-store.ts';
import { markdownPictures } from '../infra/formatting/markdown-lexer.ts';
import { markdownToWhatsApp } from '../infra/formatting/markdown-to-whatsapp.ts';
import { RegexMatcher } from '../infra/matching/regex-matcher.ts';
import { TinyldLanguageDetector } from '../infra/matching/tinyld-language-detector.ts';
import { FfmpegVoiceEncoder } from '../infra/media/ffmpeg-voice-encoder.ts';
import { HttpWebFiles } from '../infra/media/http-web-files.ts';
import { SealedMediaLinks } from '../infra/media/sealed-media-links.ts';
import { HttpTranscripts } from '../infra/speech/audio-server.ts';
import { HttpSpeech } from '../infra/speech/http-speech.ts';
import type { AccountProxies } from '../providers/baileys/connection/account-proxies.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts, Part } from './database.ts';
import type { HostingParts } from './hosting.ts';
import { type FaultPoints, loadFile } from './provider.ts';

/** Longest wait between two attempts, in milliseconds; `Retry-After` is limited by how long an agent is tried. */
const AGENT_WAITS = { maxMs: 10_000, maxRetryAfterMs: 3_600_000 };

export interface TurnParts {
  workers: ChatWorkers;
  /** What this process works on. */
  current: CurrentWork;
  agents: AgentClients;
  /** Talks to agents that wa2ai runs. */
  agentTalk: AgentTalk;
  /** Sends every request to an agent. */
  transport: AgentTransport;
  /** Records requests of `transport`; absent: exchanges are not stored. */
  exchangeRecorder?: ExchangeRecorder;
  media: StoredMedia;
  /** Notifications of agents about their tasks. */
  taskPushes: SignedTaskPushes;
  /** Signs push notifications; other keys are derived from it. */
  pushKey(): Promise<SigningKey>;
  /** To addresses that programs name: private ones are refused unless the operator allows every address. */
  publicTransport: AgentTransport;
  /** From now on, no request goes to this address. */
  refuseOwnAddress(address: OwnAddress): void;
  routes: RouteStore;
  matcher: TextMatcher;
  languages: LanguageDetector;
  messageLog: MessageLog;
  metrics: Metrics;
  /** Counts of all nodes. */
  stats: Stats;
  /** Counts one message that was stored. */
  observeReceived(accountId: string): void;
  replyTokens: ReplyTokens;
  /** Questions to people, asked for programs. */
  questions: Questions;
  /** What happens when an agent fails. */
  failureDefaults: FailureDefaults;
  circuits: CircuitBreakers;
  /** Tasks of agents that outlive their turns. */
  remoteTasks: RemoteTasks;
  startedTasks: StartedTasks;
  /** Evaluated for every turn. */
  policies: readonly ChatPolicy[];
  /** How the answers of agents are shaped. */
  shaping: ReplyShaping;
  /** Makes voice notes; few at a time. */
  voiceEncoder: VoiceEncoder;
  /** Sends a text to a chat outside of a turn; once for each key. */
  sendNotice(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  playground: Playground;
  /** The route that a chat of the playground names. */
  namedRoute: NonNullable<RouteDeps['namedRoute']>;
  /** A new WhatsApp id for a message to send. */
  mintId(): string;
}

/**
 * The parts that answer messages: chat workers, routes, policies, agents. The accounts stop the workers, in their own
 * order.
 */
export function createTurns(
  config: Config,
  {
    postgres,
    nodeId,
    bus,
    placement,
    registry,
    settingsStore,
    live,
    hosting,
    proxies,
    current,
  }: DatabaseParts & ClusterParts & HostingParts & { proxies: AccountProxies; current: CurrentWork },
  faults: FaultPoints,
  log: Logger,
): Part<TurnParts> {
  const clock = systemClock;
  const inbox = faults.inbox(new PostgresInbox(postgres));
  const routes = new PostgresRouteStore(postgres, { bus, clock });
  const matcher = new RegexMatcher();
  const messageLog = new PostgresMessageLog(postgres, { ackTimeoutMs: config.ackTimeoutMs });
  const remoteTasks = new PostgresRemoteTasks(postgres);
  const startedTasks = new StartedTasks();
  const metrics = createMetrics({
    messageLog,
    agentPhases: () => hosting.phases(),
    diskSpace: () => diskSpace(config.dataDir),
  });
  const stats = new PostgresStats(postgres);
  const recorder = new StatsRecorder(stats, clock, log.child({ mod: 'stats' }));
  const exchanges = new TransportRecorder(clock, () => live.current.exchanges === 'on');
  let ownAddress: OwnAddress | undefined;
  const egressOf = (policy: EgressPolicy) => new Egress(policy, lookup, () => ownAddress);
  const transport = new AgentTransport(egressOf(config.egress), exchanges);
  const publicTransport = new AgentTransport(egressOf(config.egress === 'any' ? 'any' : 'public'));
  let loadingKey: Promise<SigningKey> | undefined;
  const pushKey = () => {
    loadingKey ??= signingKey(settingsStore, postgres.secrets).catch((error: unknown) => {
      loadingKey = undefined;
      throw error;
    });
    return loadingKey;
  };
  const taskPushes = new SignedTaskPushes({
    publicUrl: config.publicUrl,
    key: async () => (await pushKey()).derive('notifications of tasks'),
    publish: (task) => bus.broadcast(agentTaskChanged({ task })),
  });
  bus.on(agentTaskChanged, ({ task }) => taskPushes.changed(task));
  const agentDeps = {
    matcher,
    defaultTimeoutMs: () => live.current.agentTimeoutMs,
    log: log.child({ mod: 'agent' }),
    clock,
    transport,
    audit: new PostgresAuditLog(postgres),
    taskPushes,
  };
  const agents = createAgentClients({ ...agentDeps, hosting });
  const links = new SealedMediaLinks({
    publicUrl: config.publicUrl,
    key: async () => (await pushKey()).derive('links to files'),
    clock,
  });
  const playground = new PostgresPlayground(postgres);
  const media = new StoredMedia({
    inbox,
    links,
    download: (file, signal) => loadFile({ config, playground, proxies }, file, signal),
    // Only the node with the account's connection can ask the phone for a file that WhatsApp deleted.
    reload: async (accountId, reference) => registry.provider(accountId)?.reloadMedia(reference),
    ...(config.media.storesReceived && { files: new PostgresMessageFiles(postgres) }),
    log: log.child({ mod: 'media' }),
  });
  const history = new PostgresChatHistory(postgres);
  const replyTokens = new PostgresReplyTokens(postgres);
  const outbox = new PostgresOutbox(postgres);
  const questions = new PostgresQuestions(postgres, { bus, clock });
  const failureDefaults: FailureDefaults = {
    tryForMs: config.agentTryForMs,
    backoffMs: (attempt, retryAfterMs) =>
      backoffMs({ ...AGENT_WAITS, attempt, retryAfterMs, random: Math.random }),
  };
  const circuits = new CircuitBreakers((endpoint) => {
    metrics.observeCircuitOpened();
    log.warn({ endpoint }, 'circuit of an agent endpoint opened');
  });
  const voiceEncoder = new FfmpegVoiceEncoder({ program: config.ffmpeg, clock });
  const shaping: ReplyShaping = {
    conversation: async () => storedConversation(await settingsStore.get('conversation')),
    formatReply: markdownToWhatsApp,
    pollSecret: () => randomBytes(32).toString('base64'),
    pictures: { find: markdownPictures, files: new HttpWebFiles({ transport, clock }) },
    speech: new HttpSpeech({ transport, clock, encoder: voiceEncoder }),
  };
  const chatStore = new PostgresChatStore(postgres);
  const languages = new TinyldLanguageDetector();
  const stopping = new AbortController();
  allowManyWaits(stopping.signal);
  const mintId = () => mintWaMessageId(randomBytes(9));
  const sendNotice = async ({
    idempotencyKey,
    ...notice
  }: {
    accountId: string;
    to: string;
    text: string;
    idempotencyKey: string;
  }) => {
    const deliver = (reply: QueuedReply) => deliverReplies({ accounts: registry, bus }, [reply]);
    await sendMessage({ outbox, mintId, deliver }, { ...notice, idempotencyKey });
  };
  const named: TurnParts['namedRoute'] = (chat) => namedRoute({ playground, routes }, chat);
  const policies = chatPolicies({
    history,
    inbox,
    routes,
    namedRoute: named,
    matcher,
    environment: config.environment,
    ...{ conversation: shaping.conversation, chatStore, languages },
    say: ({ accountId, to }, text, key) => sendNotice({ accountId, to, text, idempotencyKey: key }),
    noticeLog: log.child({ mod: 'turns' }),
    autoReplyLoop: { turns: config.loopTurns, replyMs: config.loopReplyMs },
    accounts: registry,
    bus,
    clock,
  });
  const workers = new ChatWorkers({
    nodeId,
    placement,
    bus,
    clock,
    stopping,
    answer: {
      inbox,
      routes,
      namedRoute: named,
      matcher,
      environment: config.environment,
      agents: faults.agents(agents),
      recorder: exchanges,
      media,
      transcripts: new HttpTranscripts({ media, transport, clock }),
      history,
      replyTokens,
      questions,
      ...shaping,
      sendNotice,
      chatStore,
      languages,
      accountStore: new PostgresAccountStore(postgres),
      policies,
      policy: failureDefaults,
      circuits,
      remoteTasks,
      startedTasks,
      current,
      accounts: registry,
      bus,
      mintId,
      observeTurn: (result, of) => {
        metrics.observeTurn(result, of?.accountId);
        if (of) recorder.ended(result, of.accountId, of.receivedAtMs);
      },
      stopping: stopping.signal,
      clock,
      log: log.child({ mod: 'turns' }),
    },
  });
  return {
    parts: {
      workers,
      current,
      agents,
      agentTalk: new HostedTalk({ ...agentDeps, clientOf: agents.clientOf }),
      transport,
      exchangeRecorder: exchanges,
      publicTransport,
      refuseOwnAddress: (address) => {
        ownAddress = address;
      },
      media,
      taskPushes,
      pushKey,
      routes,
      matcher,
      languages,
      messageLog,
      metrics,
      stats,
      observeReceived: (accountId) => {
        metrics.observeReceived(accountId);
        recorder.received(accountId);
      },
      replyTokens,
      questions,
      failureDefaults,
      circuits,
      remoteTasks,
      startedTasks,
      policies,
      shaping,
      voiceEncoder,
      sendNotice,
      playground,
      namedRoute: named,
      mintId,
    },
    start: async () => recorder.start(),
    stop: async () => {
      await recorder.stop();
      await matcher.close();
    },
  };
}

export interface DeliveryParts {
  /** Starts the delivery of stored replies. */
  deliver(replies: readonly QueuedReply[]): void;
  /** Stores a message to a chat, and starts its delivery. */
  sendMessage(input: SendMessageInput): ReturnType<typeof sendMessage>;
  /** As core's function of this name. */
  refuseUnknownNumber(message: Parameters<typeof refuseUnknownNumber>[1]): Promise<void>;
  /** The bytes of the file of a message sent; undefined: they are not stored. */
  sentFile(messageId: string): Promise<Uint8Array | undefined>;
}

/** What is sent without a turn: by programs, tasks and admins. */
export function createDelivery({
  postgres,
  accounts,
  registry,
  bus,
  mintId,
}: DatabaseParts & ClusterParts & TurnParts): DeliveryParts {
  const outbox = new PostgresOutbox(postgres);
  const deliver: DeliveryParts['deliver'] = (replies) => deliverReplies({ accounts: registry, bus }, replies);
  return {
    deliver,
    sendMessage: (input) => sendMessage({ outbox, mintId, deliver: (reply) => deliver([reply]) }, input),
    refuseUnknownNumber: (message) => refuseUnknownNumber({ outbox, accounts }, message),
    sentFile: async (messageId) => (await outbox.fileOf(messageId))?.bytes,
  };
}
