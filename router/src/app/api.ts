import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { retentionDaysOf } from '../config/live-settings.ts';
import type { AliasesOf } from '../core/access/caller.ts';
import { DEAD_FOR_MS } from '../core/cluster/chat-placement.ts';
import type { Logger } from '../core/logger.ts';
import { PLAYGROUND } from '../core/playground/playground-account.ts';
import {
  type ExplainDeps,
  explainPolicies,
  explainRoute,
  previewRoutes,
} from '../core/routing/explain-route.ts';
import { policyOfChat } from '../core/routing/route-message.ts';
import type { TaskFunctions, TaskStart } from '../core/tasks.ts';
import { answerLater } from '../core/turns/answer-of-turn.ts';
import type { Feature, Kernel, Service } from '../feature.ts';
import { PostgresTaskHooks } from '../features/a2a/task-hooks.ts';
import { usersChanged } from '../features/access/console-sessions.ts';
import { keysChanged } from '../features/access/key-store.ts';
import { PostgresConsoleUsers } from '../features/access/postgres-console-users.ts';
import { Argon2Passwords, PostgresLoginAttempts, SignIn } from '../features/access/sign-in.ts';
import { PostgresAccountProxies, PostgresAccountStore } from '../features/accounts/postgres-account-store.ts';
import { PostgresChatStore } from '../features/chats/postgres-chat-store.ts';
import { PostgresDeadLetters } from '../features/dead-letters/dead-letters.ts';
import { PostgresDrafts } from '../features/drafts/postgres-drafts.ts';
import { npcServices } from '../features/npc/feature.ts';
import { runScenario } from '../features/playground/run-scenario.ts';
import { PostgresPlaygroundScenarios } from '../features/playground/scenario-store.ts';
import { PostgresRouteHistory } from '../features/routes/postgres-route-history.ts';
import { taskServices } from '../features/tasks/feature.ts';
import { webhookServices } from '../features/webhooks/feature.ts';
import {
  durableFunctionsOf,
  features,
  liveEventTypes,
  operationsOf,
  pagesOf,
  retentionRules,
  serversOf,
  tagsOf,
} from '../features.ts';
import { inspectAgent } from '../infra/agents/agent-kind.ts';
import { agentKinds } from '../infra/agents/agent-kinds.ts';
import { previewCall, RouteProbe } from '../infra/agents/route-probe.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { aliasesOf } from '../infra/db/stores/chat-aliases.ts';
import { PostgresAuditLog } from '../infra/db/stores/log-conditions.ts';
import { PostgresRateLimiter } from '../infra/db/stores/postgres-rate-limiter.ts';
import { PostgresRepeatedCalls } from '../infra/db/stores/postgres-repeated-calls.ts';
import { PostgresRouteStore } from '../infra/db/stores/postgres-route-store.ts';
import { Retention } from '../infra/db/upkeep/retention.ts';
import { DbosTasks } from '../infra/engine/dbos-tasks.ts';
import type { LogRing } from '../infra/logging/log-ring.ts';
import { RegexMatcher } from '../infra/matching/regex-matcher.ts';
import { FilesToSend, HttpWebFiles } from '../infra/media/http-web-files.ts';
import { Access, UserPresence } from '../infra/operations/access.ts';
import { AuditRecorder } from '../infra/operations/audit-recorder.ts';
import type { HttpListener } from '../infra/operations/http-listener.ts';
import { KeyWatch } from '../infra/operations/key-watch.ts';
import { RepeatedCalls } from '../infra/operations/repeated-calls.ts';
import { createHttpApp, RestCalls } from '../infra/operations/server.ts';
import { PlaygroundChanges, writeMessage } from '../providers/playground/playground-provider.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts, Part } from './database.ts';
import type { HostedAgentsParts } from './hosting.ts';
import type { DeliveryParts, TurnParts } from './turns.ts';

/** Longest time that `POST /api/routes/preview` evaluates messages. */
const PREVIEW_LIMIT_MS = 5_000;

/** The protocols spoken to wa2ai, on one HTTP server, which serves them when this resolves. */
export async function openApi(
  config: Config,
  parts: DatabaseParts &
    ClusterParts &
    TurnParts &
    HostedAgentsParts &
    DeliveryParts & { logRing: LogRing; listener: HttpListener },
  log: Logger,
): Promise<{ work: Part<undefined>; stop(): Promise<void> }> {
  const { postgres, nodeId, storage, bus, keys, sessions, accounts } = parts;
  const { routes, matcher, agents, transport, messageLog, replyTokens, mintId } = parts;
  const logOf = (part: string) => log.child({ mod: part });
  const httpLog = logOf('http');
  const kernel: Kernel = { ...parts, config, logOf, clock: systemClock, random: Math.random };
  const tasks = createTasks(
    kernel,
    durableFunctionsOf(() => service),
  );
  const served = taskServices(kernel);
  const taskHooks = new PostgresTaskHooks(postgres);
  const auditLog = new PostgresAuditLog(postgres);
  const recorder = new AuditRecorder({ auditLog, clock: systemClock, log: httpLog });
  const keyWatch = new KeyWatch({ keys, sessions, clock: systemClock, log: httpLog });
  // After the handler of the keys, which clears their copy.
  bus.on(keysChanged, () => void keyWatch.check());
  const users = new PostgresConsoleUsers(postgres);
  const presence = new UserPresence({ users, clock: systemClock, log: httpLog });
  await presence.refresh();
  bus.on(usersChanged, () => {
    void presence.refresh();
    void keyWatch.check();
  });
  const adminKey = config.apiKey;
  const access = new Access({ adminKey, keys, sessions, presence, clock: systemClock, log: httpLog });
  const passwords = new Argon2Passwords();
  const attempts = new PostgresLoginAttempts(postgres);
  const signIn = new SignIn({ adminKey, access, users, sessions, attempts, passwords, log: httpLog });
  const aliases: AliasesOf = (accountId, channelId) => aliasesOf(postgres, accountId, channelId);
  const chatStore = new PostgresChatStore(postgres);
  const { conversation } = parts.shaping;
  const explainDeps: ExplainDeps = {
    // Explains the table as it is, not the cache.
    routes: new PostgresRouteStore(postgres),
    matcher,
    namedRoute: parts.namedRoute,
    ...{ conversation, chatStore, languages: parts.languages, clock: systemClock },
    environment: config.environment,
    aliasesOf: aliases,
    explainPolicies: (route, message) =>
      explainPolicies(
        { policies: parts.policies, conversation, chatStore, clock: systemClock, log: httpLog },
        route,
        message,
      ),
    previewCall: (route, message) => previewCall(agents, systemClock, route, message),
  };
  // With its own threads: slow patterns of a preview do not delay messages.
  const previewMatcher = new RegexMatcher();
  const playgroundChanges = new PlaygroundChanges(bus, systemClock);
  const filesToSend = new FilesToSend({
    webFiles: new HttpWebFiles({ transport: parts.publicTransport, clock: systemClock }),
    voice: parts.voiceEncoder,
  });
  const stopping = new AbortController();
  let adding: Promise<unknown> | undefined;
  const limiter = new PostgresRateLimiter(postgres);
  const calls = new RestCalls(() => operations);
  const service: Service = {
    ...kernel,
    ...served,
    ...npcServices(kernel),
    ...webhookServices(kernel),
    stopping: stopping.signal,
    tasks,
    taskHooks,
    log: httpLog,
    ...{ users, sessions, presence, passwords, signIn },
    auditLog,
    routeHistory: new PostgresRouteHistory(postgres),
    agentKinds,
    aliasesOf: aliases,
    routeProbe: new RouteProbe({ clock: systemClock, transport }),
    inspectAgent: (url) => inspectAgent({ kinds: agentKinds, transport, clock: systemClock }, url),
    accountStore: new PostgresAccountStore(postgres),
    stats: parts.stats,
    chatStore,
    drafts: new PostgresDrafts(postgres),
    policyOfChat: (chat, text) =>
      policyOfChat(explainDeps, { ...chat, message: { text }, receivedAtMs: systemClock.now() }),
    nodes: { nodeId, view: () => accounts.view },
    conversation,
    egressRefusalOf: (url) => transport.refusalOf(url),
    liveEvents: { liveFeed: parts.liveFeed, clock: systemClock },
    liveEventTypes: liveEventTypes(),
    hostedAgents: parts.hostedAgents,
    keyWatch,
    nodeLog: { ring: parts.logRing, nodeId, clock: systemClock },
    playground: parts.playground,
    playgroundChanges,
    scenarios: new PostgresPlaygroundScenarios(postgres),
    runScenario: (world, scenario, signal) =>
      runScenario({ world, matcher, clock: systemClock }, scenario, signal),
    addPlayground: async () => {
      if (accounts.get(PLAYGROUND)?.provider) return true;
      // One at a time: the others would find the row before this node knows the account.
      adding ??= accounts.create(PLAYGROUND, { provider: 'playground' }).finally(() => {
        adding = undefined;
      });
      await adding;
      return accounts.get(PLAYGROUND)?.provider === 'playground';
    },
    writeMessage: (chat, writing) =>
      writeMessage(
        {
          playground: parts.playground,
          messageLog,
          changes: playgroundChanges,
          bus,
          mintId,
          clock: systemClock,
        },
        chat,
        writing,
      ),
    explain: (input) => explainRoute(explainDeps, input),
    previewRoutes: (tables, messages) =>
      previewRoutes(
        { ...explainDeps, matcher: previewMatcher, clock: systemClock },
        tables,
        messages,
        PREVIEW_LIMIT_MS,
      ),
    refuseUnknownNumber: parts.refuseUnknownNumber,
    loadLinked: (token, signal) => parts.media.loadLinked(token, signal),
    receivePush: (token) => parts.taskPushes.receive(token),
    loadReceived: (message, signal) => parts.media.load(message, signal),
    sentFile: parts.sentFile,
    prepareFile: (kind, wanted) => filesToSend.prepare(kind, wanted),
    replyTokens,
    answerLater: (token, answer) =>
      answerLater(
        {
          ...parts.shaping,
          tokens: replyTokens,
          routes,
          mintId,
          deliver: (reply) => parts.deliver([reply]),
          log: log.child({ mod: 'turns' }),
        },
        token,
        answer,
      ),
    storage,
    deadLetters: new PostgresDeadLetters(postgres),
    proxies: new PostgresAccountProxies(postgres),
    ...{ limiter, recorder, calls },
    // A new id: an account of this name may have been deleted before.
    deleteAccount: (accountId) =>
      tasks.start({
        kind: 'delete-account',
        id: `delete-account:${accountId}:${randomUUID()}`,
        input: { accountId },
      }),
  };
  for (const { noteChanges } of features) noteChanges?.(bus, (change) => parts.liveFeed.note(change));
  const operations = operationsOf(service);
  const http = createHttpApp({
    local: parts.listener.local,
    config,
    access,
    limiter,
    recorder,
    repeated: new RepeatedCalls(new PostgresRepeatedCalls(postgres)),
    log: httpLog,
    // Express looks for the endpoint of a request from the first to the last.
    endpoints: [...pagesOf(service), ...operations],
    tags: tagsOf(),
    servers: serversOf(service),
  });
  parts.listener.serve(http);
  const stop = async () => {
    stopping.abort();
    service.npcFeed.stop();
    parts.liveFeed.stop();
    parts.logRing.stop();
    keyWatch.stop();
    await parts.hostedAgents.close();
    await parts.listener.close();
    await previewMatcher.close();
    await recorder.stop();
  };
  const retention = new Retention({
    postgres,
    rules: retentionRules(),
    limits: () => retentionDaysOf(parts.live.current.retention, config),
    fileUpkeep: parts.fileUpkeep,
    clock: systemClock,
    log: logOf('retention'),
  });
  return { work: createWork(service, tasks, features, retention), stop };
}

/** How often one node searches for unfinished tasks of dead nodes, and for tasks that nobody started; also when a node dies. */
const RESUME_EVERY_MS = 60_000;
/** A task that waits for longer has lost its start to a crash. */
const FORGOTTEN_AFTER_MS = 30_000;

/** Tasks of a kind that one sweep starts; the next one continues. */
const MAX_SWEPT = 1_000;
/** Open tasks of which this process knows that they are started. */
const MAX_KNOWN = 10_000;

/** Long work that survives a crash. */
export function createTasks(
  { databaseUrl, postgres, nodeId, bus, logOf }: Kernel,
  functions: Partial<TaskFunctions>,
): DbosTasks {
  return new DbosTasks({
    databaseUrl,
    postgres,
    nodeId,
    functions,
    exclusively: (work) => bus.transport.exclusively(work),
    log: logOf('tasks'),
  });
}

/** The work of features in the background. Started, it continues unfinished durable tasks and removes old rows. */
export function createWork(
  service: Service,
  tasks: DbosTasks,
  features: readonly Feature[],
  retention: Pick<Retention, 'start' | 'stop'>,
): Part<undefined> {
  const { placement, clock, logOf } = service;
  const log = logOf('tasks');
  const stopping = new AbortController();
  /** Ids of open tasks that this process has started: they need no statement every minute. */
  const started = new Set<string>();
  const startOnce = async (task: TaskStart) => {
    if (started.has(task.id)) return;
    await tasks.start(task);
    if (started.size >= MAX_KNOWN) started.clear();
    started.add(task.id);
  };
  /** Every start is idempotent. @param waitedMs 0: a process has died just now */
  const resume = async (waitedMs: number) => {
    await tasks.resume((node) => placement.isCoordinator && placement.isExpired(node));
    if (!placement.isCoordinator) return;
    for (const feature of features) {
      try {
        for (const task of (await feature.openTasks?.(service, waitedMs, MAX_SWEPT)) ?? [])
          await startOnce(task);
      } catch (error) {
        log.warn({ err: error, feature: feature.name }, 'cannot start open tasks, retrying');
      }
    }
  };
  const keepResuming = async () => {
    let death = new AbortController();
    placement.listen(() => death.abort());
    // The first time: this node's earlier process.
    for (let waitedMs = 0; !stopping.signal.aborted; ) {
      await resume(waitedMs);
      const signal = AbortSignal.any([stopping.signal, death.signal]);
      await clock.sleep(RESUME_EVERY_MS, signal).catch(() => undefined);
      waitedMs = death.signal.aborted ? 0 : FORGOTTEN_AFTER_MS;
      if (!death.signal.aborted) continue;
      death = new AbortController();
      await clock.sleep(2 * DEAD_FOR_MS, stopping.signal).catch(() => undefined);
    }
  };
  const stops: Array<() => Promise<void>> = [];
  let resuming: Promise<void> | undefined;
  return {
    parts: undefined,
    start: async () => {
      resuming = keepResuming();
      retention.start();
      for (const feature of features) {
        const stop = feature.start?.(service);
        if (stop) stops.push(stop);
      }
    },
    stop: async () => {
      stopping.abort();
      for (const stop of stops.reverse()) await stop();
      await retention.stop();
      await resuming;
      await tasks.stop();
    },
  };
}
