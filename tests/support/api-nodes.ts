import { onTestFinished } from 'vitest';
import type { Clock } from '../../router/src/core/clock.ts';
import { NodeBus } from '../../router/src/core/cluster/node-bus.ts';
import { previewRoutes } from '../../router/src/core/routing/explain-route.ts';
import { PostgresConsoleSessions, usersChanged } from '../../router/src/features/access/console-sessions.ts';
import { PostgresApiKeyStore } from '../../router/src/features/access/key-store.ts';
import { keysApi } from '../../router/src/features/access/keys-api.ts';
import { PostgresConsoleUsers } from '../../router/src/features/access/postgres-console-users.ts';
import { sessionApi, sessionsApi } from '../../router/src/features/access/session-api.ts';
import { Argon2Passwords, PostgresLoginAttempts, SignIn } from '../../router/src/features/access/sign-in.ts';
import { usersApi } from '../../router/src/features/access/users-api.ts';
import { auditApi } from '../../router/src/features/audit/feature.ts';
import { PostgresChatStore } from '../../router/src/features/chats/postgres-chat-store.ts';
import { PostgresMessageLog } from '../../router/src/features/chats/postgres-message-log.ts';
import { nodesApi } from '../../router/src/features/nodes/feature.ts';
import { PostgresRouteHistory } from '../../router/src/features/routes/postgres-route-history.ts';
import { routeHistoryApi } from '../../router/src/features/routes/route-history-api.ts';
import { routeSchemas } from '../../router/src/features/routes/route-schemas.ts';
import { routesApi } from '../../router/src/features/routes/routes-api.ts';
import { PostgresStats } from '../../router/src/features/stats/postgres-stats.ts';
import { agentKinds } from '../../router/src/infra/agents/agent-kinds.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { NodeConnection } from '../../router/src/infra/db/connections/node-connection.ts';
import { PostgresAuditLog } from '../../router/src/infra/db/stores/log-conditions.ts';
import { PostgresRateLimiter } from '../../router/src/infra/db/stores/postgres-rate-limiter.ts';
import { PostgresRepeatedCalls } from '../../router/src/infra/db/stores/postgres-repeated-calls.ts';
import { PostgresRouteStore } from '../../router/src/infra/db/stores/postgres-route-store.ts';
import { RegexMatcher } from '../../router/src/infra/matching/regex-matcher.ts';
import { TinyldLanguageDetector } from '../../router/src/infra/matching/tinyld-language-detector.ts';
import { Access, UserPresence } from '../../router/src/infra/operations/access.ts';
import { AuditRecorder } from '../../router/src/infra/operations/audit-recorder.ts';
import { RepeatedCalls } from '../../router/src/infra/operations/repeated-calls.ts';
import { createHttpServer } from '../../router/src/infra/operations/server.ts';
import { FakeAccounts } from '../doubles/fake-accounts.ts';
import { appWith } from './app-with.ts';
import type { TestDatabase } from './database.ts';
import { goodAgents } from './http-api.ts';
import { quietLog } from './quiet-log.ts';

export const ADMIN_KEY = 'the-admin-key-of-these-tests';

/** The API of one node, with its own connections to the database. Its clock does not advance, so that no cache ages. */
export interface ApiNode {
  connection: NodeConnection;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  call(method: string, path: string, key: string, body?: unknown): Promise<{ status: number; body: any }>;
  url: string;
  /** Status of a call that needs the scope `accounts:read`. */
  probe(key: string): Promise<number>;
}

/** Starts the API of a node for one test. @param databaseUrl of its node connection; default: the database's */
export async function startApiNode(
  nodeId: string,
  database: TestDatabase,
  databaseUrl = database.url,
): Promise<ApiNode> {
  const startedAtMs = Date.now();
  // No check of a key waits, however many wrong ones a test sends while it polls.
  const clock: Clock = { now: () => startedAtMs, monotonicMs: () => 0, sleep: async () => undefined };
  const bus = new NodeBus(
    nodeId,
    (events) => new NodeConnection({ databaseUrl, nodeId, log: quietLog, ...events }),
  );
  await bus.transport.start();
  onTestFinished(() => bus.transport.close());
  const keys = new PostgresApiKeyStore(database.open(), { bus, clock });
  const sessions = new PostgresConsoleSessions(database.open(), { bus, clock });
  const users = new PostgresConsoleUsers(database.open());
  const presence = new UserPresence({ users, clock, log: quietLog });
  await presence.refresh();
  bus.on(usersChanged, () => void presence.refresh());
  const access = new Access({ adminKey: ADMIN_KEY, keys, sessions, presence, clock, log: quietLog });
  const passwords = new Argon2Passwords();
  const attempts = new PostgresLoginAttempts(database.open());
  const of = { adminKey: ADMIN_KEY, access, users, sessions, attempts, passwords, log: quietLog };
  const signIn = new SignIn(of);
  const auditLog = new PostgresAuditLog(database.open());
  const recorder = new AuditRecorder({ auditLog, clock: systemClock, log: quietLog });
  onTestFinished(() => recorder.stop());
  const accounts = new FakeAccounts();
  accounts.set();
  const matcher = new RegexMatcher();
  onTestFinished(() => matcher.close());
  const previewDeps = {
    matcher,
    environment: 'lab' as const,
    chatStore: new PostgresChatStore(database.open()),
    languages: new TinyldLanguageDetector(),
    conversation: async () => ({}),
    clock: systemClock,
  };
  const app = appWith({
    ...{ keys, users, sessions, presence, passwords, signIn, auditLog, clock },
    nodes: { nodeId, view: () => ({ nodes: [], accounts: [] }) },
    routes: new PostgresRouteStore(database.open(), { bus, clock }),
    routeHistory: new PostgresRouteHistory(database.open()),
    accounts,
    config: { accountId: 'default', environment: 'lab', publicUrl: undefined },
    agentKinds,
    routeProbe: goodAgents,
    aliasesOf: async () => [],
    messageLog: new PostgresMessageLog(database.open()),
    stats: new PostgresStats(database.open()),
    previewRoutes: (tables, messages) => previewRoutes(previewDeps, tables, messages, 5_000),
    log: quietLog,
  });
  const schemas = routeSchemas(agentKinds);
  const server = await createHttpServer({
    config: { host: '127.0.0.1', port: 0, apiKey: ADMIN_KEY },
    access,
    limiter: new PostgresRateLimiter(database.open()),
    recorder,
    repeated: new RepeatedCalls(new PostgresRepeatedCalls(database.open())),
    tags: {},
    endpoints: [
      ...sessionApi(app),
      ...sessionsApi(app),
      ...usersApi(app),
      ...keysApi(app),
      ...auditApi(app),
      ...routeHistoryApi(app, schemas),
      ...routesApi(app, schemas),
      ...nodesApi(app),
    ],
    log: quietLog,
  });
  onTestFinished(() => server.close());
  const call: ApiNode['call'] = async (method, path, key, body) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  return {
    connection: bus.transport,
    url: server.url,
    call,
    probe: async (key) => (await call('GET', '/api/nodes', key)).status,
  };
}
