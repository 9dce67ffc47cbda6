import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import { loadConfig } from '../../router/src/config/config.ts';
import type { Role } from '../../router/src/core/access/caller.ts';
import type { AgentClient } from '../../router/src/core/agent-client.ts';
import { refuseUnknownNumber, sendMessage } from '../../router/src/core/delivery/send-message.ts';
import { MediaError } from '../../router/src/core/errors.ts';
import { Changes } from '../../router/src/core/live/live-event.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import { groupPolicy, pausedChatPolicy, quotaPolicy } from '../../router/src/core/policies/access.ts';
import { storedConversation } from '../../router/src/core/policies/settings.ts';
import type { NewApiKey } from '../../router/src/core/ports/api-key-store.ts';
import type { ClusterView } from '../../router/src/core/ports/cluster.ts';
import type { ChatClaim } from '../../router/src/core/ports/inbox.ts';
import type { RouteStore } from '../../router/src/core/ports/route-store.ts';
import {
  type ExplainDeps,
  type ExplainInput,
  explainPolicies,
  explainRoute,
  previewRoutes,
} from '../../router/src/core/routing/explain-route.ts';
import { policyOfChat } from '../../router/src/core/routing/route-message.ts';
import { answerLater } from '../../router/src/core/turns/answer-of-turn.ts';
import type { QueuedReply } from '../../router/src/core/turns/turn.ts';
import type { App } from '../../router/src/feature.ts';
import { Argon2Passwords, SignIn } from '../../router/src/features/access/sign-in.ts';
import { LiveFeed } from '../../router/src/features/live/live-feed.ts';
import {
  defaultNpcSettings,
  type NpcChain,
  type NpcServerSettings,
} from '../../router/src/features/npc/npc-chain.ts';
import { NpcTaskFeed } from '../../router/src/features/npc/npc-task-feed.ts';
import { hasEnded } from '../../router/src/features/npc/npc-tasks.ts';
import { runNpcTask } from '../../router/src/features/npc/run-npc-task.ts';
import { ShortTasks } from '../../router/src/features/npc/short-tasks.ts';
import { runScenario } from '../../router/src/features/playground/run-scenario.ts';
import { createMetrics, type Metrics } from '../../router/src/features/stats/metrics.ts';
import { askAboutTask, cancelTask } from '../../router/src/features/tasks/follow-task.ts';
import { liveEventTypes, operationsOf, pagesOf, tagsOf } from '../../router/src/features.ts';
import type { AgentKind } from '../../router/src/infra/agents/agent-kind.ts';
import { agentKinds } from '../../router/src/infra/agents/agent-kinds.ts';
import { Egress } from '../../router/src/infra/agents/transport/egress.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { LogRing } from '../../router/src/infra/logging/log-ring.ts';
import { TinyldLanguageDetector } from '../../router/src/infra/matching/tinyld-language-detector.ts';
import { FfmpegVoiceEncoder } from '../../router/src/infra/media/ffmpeg-voice-encoder.ts';
import { FilesToSend } from '../../router/src/infra/media/http-web-files.ts';
import { Access, newKey, UserPresence } from '../../router/src/infra/operations/access.ts';
import { AuditRecorder } from '../../router/src/infra/operations/audit-recorder.ts';
import type { Endpoint } from '../../router/src/infra/operations/endpoint.ts';
import { KeyWatch } from '../../router/src/infra/operations/key-watch.ts';
import { problemSchema, rateLimitSchema } from '../../router/src/infra/operations/problem.ts';
import { RepeatedCalls } from '../../router/src/infra/operations/repeated-calls.ts';
import {
  createHttpServer,
  type HttpServerOptions,
  RestCalls,
} from '../../router/src/infra/operations/server.ts';
import {
  adminKeyMac,
  newSessionToken,
  sessionTokenHash,
} from '../../router/src/infra/operations/session-cookie.ts';
import { writeMessage } from '../../router/src/providers/playground/playground-provider.ts';
import { FakeAccounts } from '../doubles/fake-accounts.ts';
import { FakeMessageLog } from '../doubles/fake-message-log.ts';
import { MemoryAccountStore } from '../doubles/memory-account-store.ts';
import { MemoryApiKeyStore } from '../doubles/memory-api-key-store.ts';
import { MemoryAuditLog } from '../doubles/memory-audit-log.ts';
import { MemoryChatStore } from '../doubles/memory-chat-store.ts';
import { MemoryConsoleSessions } from '../doubles/memory-console-sessions.ts';
import { MemoryConsoleUsers } from '../doubles/memory-console-users.ts';
import { MemoryDeadLetters } from '../doubles/memory-dead-letters.ts';
import { MemoryDrafts } from '../doubles/memory-drafts.ts';
import { MemoryDurableTasks } from '../doubles/memory-durable-tasks.ts';
import { MemoryLoginAttempts } from '../doubles/memory-login-attempts.ts';
import { MemoryNodeHub } from '../doubles/memory-node-hub.ts';
import { MemoryNpcChainEvents } from '../doubles/memory-npc-chain-events.ts';
import { MemoryNpcEmotions } from '../doubles/memory-npc-emotions.ts';
import { MemoryNpcMemories } from '../doubles/memory-npc-memories.ts';
import { MemoryNpcTasks } from '../doubles/memory-npc-tasks.ts';
import { MemoryNpcTrades } from '../doubles/memory-npc-trades.ts';
import { MemoryNpcTransactions } from '../doubles/memory-npc-transactions.ts';
import { MemoryOutbox } from '../doubles/memory-outbox.ts';
import { MemoryPlayground } from '../doubles/memory-playground.ts';
import { MemoryPlaygroundScenarios } from '../doubles/memory-playground-scenarios.ts';
import { MemoryRateLimiter } from '../doubles/memory-rate-limiter.ts';
import { MemoryRemoteTasks } from '../doubles/memory-remote-tasks.ts';
import { MemoryRepeatedCalls } from '../doubles/memory-repeated-calls.ts';
import { MemoryReplyTokens } from '../doubles/memory-reply-tokens.ts';
import { MemoryRouteStore } from '../doubles/memory-route-store.ts';
import { MemorySettings } from '../doubles/memory-settings.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { MemoryStats } from '../doubles/memory-stats.ts';
import { MemoryWebFiles } from '../doubles/memory-web-files.ts';
import { MemoryWebhooks } from '../doubles/memory-webhooks.ts';
import { serviceWith } from './app-with.ts';
import { FakeClock } from './fake-clock.ts';
import { HostedAgentsOnDouble } from './hosted-agents.ts';
import { recordingLog } from './quiet-log.ts';
import { shaping } from './shaping.ts';

type ShortTaskDeps = ConstructorParameters<typeof ShortTasks>[0];

type RunNpcTaskDeps = Parameters<typeof runNpcTask>[0];

export const ADMIN_KEY = 'a-key-of-32-characters-for-tests';

/** A probe that finds no problem of any agent. */
export const goodAgents: App['routeProbe'] = {
  refusedAddresses: () => [],
  findings: async () => [],
  test: async ({ config }) => ({
    ...(config.agent && { kind: config.agent.kind }),
    ...{ isProbed: true, findings: [], milliseconds: 3 },
  }),
  card: async ({ config }) => ({
    ...(config.agent && { kind: config.agent.kind }),
    problem: 'The agent sends no card.',
  }),
};

/** The REST API on a free port over in-memory doubles. */
export interface HttpApi {
  url: string;
  accounts: FakeAccounts;
  accountStore: MemoryAccountStore;
  messageLog: FakeMessageLog;
  /** The proxies of accounts, by id. */
  proxyUrls: Map<string, string>;
  metrics: Metrics;
  routes: RouteStore;
  /** What went on its way to WhatsApp. */
  sent: OutgoingMessage[];
  /** Where files of addresses are loaded from. */
  webFiles: MemoryWebFiles;
  /** Claims of chats that a call asked to serve. */
  served: ChatClaim[];
  /** Contents of the in-memory inbox, outbox and dead letters. */
  state: MemoryState;
  /** Tasks of agents for the messages in the inbox. */
  remoteTasks: MemoryRemoteTasks;
  /** Reply tokens of the messages in the inbox. */
  replyTokens: MemoryReplyTokens;
  log: ReturnType<typeof recordingLog>;
  /** Every endpoint of the API and the pages, beside /openapi.json. */
  endpoints: Endpoint[];
  /** What the operations get. */
  app: App;
  /** What the server was started with. */
  options: HttpServerOptions;
  /** Nodes and accounts as this node sees them, to be filled by the test. */
  view: ClusterView;
  /** Wall time of the server, set by the test. */
  clock: { nowMs: number };
  keys: MemoryApiKeyStore;
  auditLog: MemoryAuditLog;
  /** Calls with an `Idempotency-Key`. */
  repeatedCalls: MemoryRepeatedCalls;
  recorder: AuditRecorder;
  users: MemoryConsoleUsers;
  sessions: MemoryConsoleSessions;
  /** Signs in as a new user with this role, or without one with the admin key. @returns headers of a page */
  openSession(role?: Role): Promise<Record<string, string>>;
  /** Creates a key. @returns its text */
  addKey(given: Partial<NewApiKey> & Pick<NewApiKey, 'scopes'>): Promise<string>;
  /** The log lines of `GET /api/logs`. */
  logRing: LogRing;
  /** The other channelIds of a person, by channelId. */
  aliases: Map<string, string[]>;
  /** The NPC server. */
  npc: {
    tasks: MemoryNpcTasks;
    trades: MemoryNpcTrades;
    /** The wallet and the contracts, when there are chain settings. */
    chain: { current: NpcChain | undefined };
    transactions: MemoryNpcTransactions;
    chainEvents: MemoryNpcChainEvents;
    feed: NpcTaskFeed;
    /** Nobody calls its `check` when a key changes, as the notification of PostgreSQL does. */
    keyWatch: KeyWatch;
    /** Moves heartbeats only. */
    feedClock: FakeClock;
    /** Resolves when the task has ended. */
    ended(taskId: string): Promise<void>;
    /** The agent behind its route. */
    agent: { client: AgentClient };
  };
  stats: MemoryStats;
  /** Live events: what stores report, and the clock of their streams. */
  live: { changes: Changes; clock: FakeClock };
  /** Webhooks and their events. */
  webhooks: MemoryWebhooks;
  /** Test events of webhooks, and what their receiver answers. */
  testEvents: { sent: unknown[]; answer: Awaited<ReturnType<App['sendTestEvent']>> };
  /** Agents of `/api/agents`. */
  hosted: HostedAgentsOnDouble;
  /** How long the checks of keys waited, in milliseconds. No time passes. */
  waits: number[];
  /** Set: the database does not answer. */
  database: { failure: Error | undefined };
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>;
  close(): Promise<void>;
}

interface ApiAnswer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  body: any;
}

/** Starts the API. `apiKey`: the one that the service asks for; `call` sends none by itself. */
export async function startHttpApi(
  options: {
    apiKey?: string;
    agentKinds?: readonly AgentKind[];
    publicUrl?: string;
    routeProbe?: App['routeProbe'];
    inspectAgent?: App['inspectAgent'];
    hasWalletKey?: boolean;
    limits?: HttpServerOptions['limits'];
  } = {},
): Promise<HttpApi> {
  const accounts = new FakeAccounts();
  const accountStore = new MemoryAccountStore(() => clock.nowMs);
  accounts.set();
  const hosted = new HostedAgentsOnDouble();
  const messageLog = new FakeMessageLog();
  const proxyUrls = new Map<string, string>();
  const proxies = {
    urlOf: async (accountId: string) => proxyUrls.get(accountId),
    set: async (accountId: string, url: string | undefined) => {
      if (url === undefined) proxyUrls.delete(accountId);
      else proxyUrls.set(accountId, url);
      return accounts.get(accountId) !== undefined;
    },
  };
  const clock = { nowMs: Date.parse('2026-01-02T03:04:05.000Z') };
  const metrics = createMetrics({
    messageLog,
    agentPhases: () => hosted.host.phases(),
    diskSpace: async () => ({ freeBytes: 25, sizeBytes: 100 }),
    monotonicMs: () => clock.nowMs,
  });
  const routes = new MemoryRouteStore(() => clock.nowMs);
  const state = new MemoryState(() => clock.nowMs);
  const keys = new MemoryApiKeyStore(() => clock.nowMs);
  const aliases = new Map<string, string[]>();
  const aliasesOf = async (_accountId: string, channelId: string) => aliases.get(channelId) ?? [];
  const waits: number[] = [];
  const outbox = new MemoryOutbox(state);
  const sent: OutgoingMessage[] = [];
  const served: ChatClaim[] = [];
  const log = recordingLog();
  const database: HttpApi['database'] = { failure: undefined };
  const matcher = {
    test: async (pattern: string, text: string) =>
      new RegExp(pattern).test(text) ? ('match' as const) : ('no-match' as const),
  };
  const workers = { nodeForNextChat: () => 'n1', serve: (claim: ChatClaim) => void served.push(claim) };
  const deliver = (replies: readonly QueuedReply[]) =>
    void sent.push(...replies.map(({ message }) => message));
  const replyTokens = new MemoryReplyTokens(state);
  const view: ClusterView = { nodes: [], accounts: [] };
  const config = {
    ...loadConfig({}, false),
    ...{ port: 0, apiKey: options.apiKey, publicUrl: options.publicUrl, socket: undefined },
  };
  const npcTasks = new MemoryNpcTasks(() => clock.nowMs);
  const feedClock = new FakeClock();
  const feed = new NpcTaskFeed({ npcTasks, clock: feedClock, log });
  const users = new MemoryConsoleUsers(() => clock.nowMs);
  const sessions = new MemoryConsoleSessions(users, () => clock.nowMs);
  const presence = new UserPresence({ users, clock: { monotonicMs: () => clock.nowMs }, log });
  await presence.refresh();
  const keyWatch = new KeyWatch({ keys, sessions, clock: feedClock, log });
  const logRing = new LogRing('run1');
  const changes = new Changes();
  const stats = new MemoryStats();
  const liveClock = new FakeClock();
  let runs = 0;
  const liveFeed = new LiveFeed({
    bus: new MemoryNodeHub().connect('n1'),
    changes,
    otherNodes: () => [],
    newRun: () => `r${++runs}`,
    clock: liveClock,
  });
  npcTasks.onChanged = (taskId) => feed.changed(taskId);
  const settingsStore = new MemorySettings();
  const replyShaping = {
    ...shaping(),
    conversation: async () => storedConversation(await settingsStore.get('conversation')),
  };
  const npcSettings = async () =>
    ((await settingsStore.get('npc')) as NpcServerSettings | undefined) ?? defaultNpcSettings(true);
  const agent: HttpApi['npc']['agent'] = {
    client: { sendMessage: async (_endpoint, { text }) => ({ success: true, response: `heard: ${text}` }) },
  };
  const chain: HttpApi['npc']['chain'] = { current: undefined };
  const transactions = new MemoryNpcTransactions(() => clock.nowMs);
  const chainEvents = new MemoryNpcChainEvents();
  const webhooks = new MemoryWebhooks(() => clock.nowMs);
  const testEvents: HttpApi['testEvents'] = { sent: [], answer: { status: 200 } };
  const trades = new MemoryNpcTrades(() => clock.nowMs);
  const apiClock = { now: () => clock.nowMs, monotonicMs: () => clock.nowMs, sleep: async () => undefined };
  const webFiles = new MemoryWebFiles();
  const voice = new FfmpegVoiceEncoder({ program: '/nowhere/ffmpeg', clock: systemClock });
  const sendToChat: App['sendMessage'] = (input) => {
    const deliver = (reply: QueuedReply) => sent.push(reply.message);
    return sendMessage({ outbox, mintId: () => `3EB0${sent.length}`, deliver }, input);
  };
  const emotions = new MemoryNpcEmotions(() => clock.nowMs);
  const memories = new MemoryNpcMemories(() => clock.nowMs);
  const npcDeps: RunNpcTaskDeps & ShortTaskDeps = {
    npcTasks,
    emotions,
    memories,
    trades,
    settings: npcSettings,
    chain: async () => chain.current,
    transactions,
    chainEvents,
    routes,
    agents: { clientFor: () => agent.client, endpointOf: (route) => route.agentEndpoint },
    sendMessage: sendToChat,
    clock: apiClock,
    random: () => 0,
    log,
  };
  const remoteTasks = new MemoryRemoteTasks(state);
  const taskDeps = serviceWith({ ...{ remoteTasks, routes, clock: systemClock }, agents: npcDeps.agents });
  const durable = new MemoryDurableTasks({
    'npc-task': (steps, input) => runNpcTask(npcDeps, steps, input),
  });
  const auditLog = new MemoryAuditLog();
  const recorder = new AuditRecorder({ auditLog, clock: systemClock, log });
  const access = new Access({
    adminKey: options.apiKey,
    keys,
    sessions,
    presence,
    clock: {
      now: () => clock.nowMs,
      monotonicMs: () => clock.nowMs,
      sleep: async (ms) => void waits.push(ms),
    },
    log,
  });
  const passwords = new Argon2Passwords();
  const attempts = new MemoryLoginAttempts(() => clock.nowMs);
  const signIn = new SignIn({ adminKey: options.apiKey, access, users, sessions, attempts, passwords, log });
  const chatStore = new MemoryChatStore(state);
  const explainDeps: ExplainDeps = {
    routes,
    matcher,
    ...{ chatStore, languages: new TinyldLanguageDetector(), clock: apiClock },
    conversation: replyShaping.conversation,
    environment: 'lab',
    explainPolicies: (route, message) => {
      const policies = [groupPolicy({ matcher }), pausedChatPolicy(), quotaPolicy()];
      const { conversation } = replyShaping;
      return explainPolicies({ policies, conversation, chatStore, clock: apiClock, log }, route, message);
    },
  };
  const playground = new MemoryPlayground();
  const limiter = new MemoryRateLimiter(() => clock.nowMs);
  let opened = 0;
  const app: App = {
    config,
    ...{ users, sessions, presence, passwords, signIn },
    keys,
    auditLog,
    aliasesOf,
    agentKinds: options.agentKinds ?? agentKinds,
    agents: npcDeps.agents,
    routeProbe: options.routeProbe ?? goodAgents,
    accounts,
    accountStore,
    nodes: { nodeId: 'n1', view: () => view },
    messageLog,
    chatStore,
    drafts: new MemoryDrafts(state),
    workers,
    deliver,
    logOf: () => log,
    ...{ limiter, recorder, npcTasks, npcFeed: feed },
    calls: new RestCalls(() => operations),
    tasks: durable,
    shortTasks: new ShortTasks(npcDeps),
    mintTaskId: () => {
      opened += 1;
      return `task_${opened}`;
    },
    metrics,
    routes,
    routeHistory: routes,
    log,
    policyOfChat: (chat, text) =>
      policyOfChat(explainDeps, { ...chat, message: { text }, receivedAtMs: clock.nowMs }),
    explain: (input: ExplainInput) => explainRoute(explainDeps, input),
    previewRoutes: (tables, messages) =>
      previewRoutes({ ...explainDeps, clock: apiClock }, tables, messages, 5_000),
    sendMessage: sendToChat,
    refuseUnknownNumber: (message) => refuseUnknownNumber({ outbox, accounts }, message),
    playground,
    playgroundChanges: { until: async (_chatId, _limitMs, read) => read() },
    scenarios: new MemoryPlaygroundScenarios(),
    runScenario: (world, scenario, signal) =>
      runScenario({ world, matcher, clock: systemClock }, scenario, signal),
    inspectAgent:
      options.inspectAgent ?? (async (url) => (url.includes(':8001') ? 'unknown-protocol' : 'no-answer')),
    addPlayground: async () => accounts.get('playground') === undefined,
    writeMessage: (chat, writing) =>
      writeMessage(
        {
          ...{ playground, messageLog, clock: apiClock, bus: { broadcast: () => undefined } },
          changes: { until: async (_chatId, _limitMs, read) => read() },
          mintId: () => '3EB0IN',
        },
        chat,
        writing,
      ),
    random: Math.random,
    loadLinked: async () => 'unknown',
    receivePush: async (token) => token === 'known',
    stats,
    loadReceived: async () => {
      throw new MediaError('MEDIA_GONE', { sentence: 'It is gone.' });
    },
    sentFile: async (messageId) => (await outbox.fileOf(messageId))?.bytes,
    liveEvents: { liveFeed, clock: liveClock },
    liveEventTypes: liveEventTypes(),
    prepareFile: (kind, wanted) => new FilesToSend({ webFiles, voice }).prepare(kind, wanted),
    conversation: replyShaping.conversation,
    npcSettings,
    settingsStore,
    putNpcSettings: (settings, check) =>
      settingsStore.put(
        'npc',
        settings,
        check && ((stored) => check((stored as NpcServerSettings | undefined) ?? defaultNpcSettings(true))),
      ),
    webhooks,
    webhookDeliveries: webhooks,
    sendTestEvent: async (event) => {
      testEvents.sent.push(event);
      return testEvents.answer;
    },
    hasWalletKey: options.hasWalletKey ?? false,
    egressRefusalOf: (url) => new Egress('private').refusalOfUrl(url),
    chain: async () => chain.current,
    chainEvents,
    transactions,
    trades,
    hostedAgents: hosted.agents,
    keyWatch,
    nodeLog: { ring: logRing, nodeId: 'n1', clock: feedClock },
    remoteTasks,
    askAboutTask: (taskId, signal) => askAboutTask(taskDeps, taskId, signal),
    cancelTask: (taskId, signal) => cancelTask(taskDeps, taskId, signal),
    clock: apiClock,
    deadLetters: new MemoryDeadLetters(state),
    replyTokens,
    answerLater: (token, answer) =>
      answerLater(
        {
          ...{ ...replyShaping, tokens: replyTokens, routes, log },
          mintId: () => `3EB0${sent.length}`,
          deliver: (reply) => deliver([reply]),
        },
        token,
        answer,
      ),
    proxies,
    deleteAccount: (accountId) => accounts.delete(accountId),
    storage: {
      check: async () => {
        if (database.failure) throw database.failure;
      },
    },
  };
  const operations = operationsOf(app);
  const repeatedCalls = new MemoryRepeatedCalls();
  const endpoints = [...pagesOf(app), ...operations];
  const serverOptions: HttpServerOptions = {
    config,
    access,
    limiter,
    recorder,
    repeated: new RepeatedCalls(repeatedCalls),
    ...(options.limits && { limits: options.limits }),
    log,
    now: () => clock.nowMs,
    endpoints,
    tags: tagsOf(),
  };
  const server = await createHttpServer(serverOptions);
  return {
    url: server.url,
    accounts,
    accountStore,
    messageLog,
    proxyUrls,
    metrics,
    routes,
    sent,
    webFiles,
    served,
    state,
    replyTokens,
    log,
    endpoints,
    app,
    options: serverOptions,
    view,
    clock,
    keys,
    users,
    sessions,
    auditLog,
    recorder,
    repeatedCalls,
    remoteTasks,
    aliases,
    logRing,
    waits,
    stats,
    live: { changes, clock: liveClock },
    webhooks,
    testEvents,
    hosted,
    npc: {
      tasks: npcTasks,
      trades,
      chain,
      transactions,
      chainEvents,
      feed,
      keyWatch,
      feedClock,
      ended: async (taskId) => {
        for (
          let task = await npcTasks.find(taskId);
          task && !hasEnded(task);
          task = await npcTasks.find(taskId)
        )
          await setImmediate();
      },
      agent,
    },
    openSession: async (role) => {
      const { id, token } = newSessionToken();
      const name = role && `${role}-${users.byKey.size}`;
      if (name && users.byKey.size === 0) {
        await users.create({ name: 'first', role: 'owner', passwordHash: 'none' });
      }
      if (name) await users.create({ name, role, passwordHash: 'none' });
      await presence.refresh();
      await sessions.create({
        id,
        tokenHash: sessionTokenHash(token),
        ...(name ? { userName: name } : { adminKeyMac: adminKeyMac(options.apiKey ?? '', token) }),
      });
      return { cookie: `wa2ai_session=${token}`, origin: server.url, 'x-wa2ai-csrf': '1' };
    },
    addKey: async (given) => {
      const { id, text, secretHash } = newKey();
      const limits = { perMinute: 100_000, perSecond: 100_000 };
      await keys.create({ name: 'test', limits, ...given, id, secretHash });
      return text;
    },
    database,
    close: async () => {
      feed.stop();
      liveFeed.stop();
      logRing.stop();
      keyWatch.stop();
      await hosted.close();
      await server.close();
      await recorder.stop();
    },
    call: async (method, path, body, headers = {}) => {
      const response = await fetch(server.url + path, {
        method,
        redirect: 'manual',
        headers: {
          ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
          ...headers,
        },
        body:
          body === undefined || typeof body === 'string' || body instanceof FormData
            ? (body as string | FormData | undefined)
            : JSON.stringify(body),
      });
      const text = await response.text();
      const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '');
      const answer = isJson ? JSON.parse(text) : undefined;
      if (isJson) expectAsDescribed(endpoints, { method, path, status: response.status, body: answer });
      return { status: response.status, headers: response.headers, text, body: answer };
    },
  };
}

/** The API of each test of a file: another one for every test. */
export function httpApi(options: Parameters<typeof startHttpApi>[0] = {}): HttpApi {
  let api: HttpApi;
  beforeEach(async () => {
    api = await startHttpApi(options);
  });
  afterEach(() => api.close());
  return new Proxy({} as HttpApi, { get: (_, name) => Reflect.get(api, name) });
}

/** Whether a path is one of the template's: `/api/routes/{id}` matches `/api/routes/7`. */
export function pathMatches(template: string, path: string): boolean {
  const wanted = template.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length && wanted.every((part, i) => part.startsWith('{') || part === given[i])
  );
}

/** Every response of every test must match /openapi.json, without unknown fields. */
function expectAsDescribed(
  endpoints: readonly Endpoint[],
  answer: { method: string; path: string; status: number; body: unknown },
): void {
  const path = answer.path.split('?')[0] ?? '';
  if (path === '/openapi.json') return;
  const operation = endpoints.find(
    (each) => each.method === answer.method.toLowerCase() && pathMatches(each.path, path),
  );
  const refusal = answer.status === 429 ? rateLimitSchema : problemSchema;
  const schema = operation?.responses[answer.status]?.schema ?? refusal;
  expect(schema.parse(answer.body), `${answer.method} ${path} ${answer.status}`).toEqual(answer.body);
}
