import { onTestFinished } from 'vitest';
import { NodeBus } from '../../router/src/core/cluster/node-bus.ts';
import type { Clock } from '../../router/src/core/ports/clock.ts';
import { previewRoutes } from '../../router/src/core/routing/preview-routes.ts';
import { agentKinds } from '../../router/src/infra/agents/agent-kinds.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { Access } from '../../router/src/infra/faces/access/access.ts';
import { Argon2Passwords } from '../../router/src/infra/faces/access/argon2-passwords.ts';
import { AuditRecorder } from '../../router/src/infra/faces/access/audit-recorder.ts';
import { SignIn } from '../../router/src/infra/faces/access/sign-in.ts';
import { UserPresence } from '../../router/src/infra/faces/access/user-presence.ts';
import { auditApi } from '../../router/src/infra/faces/rest/resources/audit-api.ts';
import { keysApi } from '../../router/src/infra/faces/rest/resources/keys-api.ts';
import { nodesApi } from '../../router/src/infra/faces/rest/resources/nodes-api.ts';
import {
  type RouteHistoryApiDeps,
  routeHistoryApi,
} from '../../router/src/infra/faces/rest/resources/route-history-api.ts';
import { type RoutesApiDeps, routesApi } from '../../router/src/infra/faces/rest/resources/routes-api.ts';
import { sessionApi } from '../../router/src/infra/faces/rest/resources/session-api.ts';
import { sessionsApi } from '../../router/src/infra/faces/rest/resources/sessions-api.ts';
import { usersApi } from '../../router/src/infra/faces/rest/resources/users-api.ts';
import { createHttpServer } from '../../router/src/infra/faces/rest/server.ts';
import { RegexMatcher } from '../../router/src/infra/matching/regex-matcher.ts';
import { TinyldLanguageDetector } from '../../router/src/infra/matching/tinyld-language-detector.ts';
import { NodeConnection } from '../../router/src/infra/storage/connections/node-connection.ts';
import { CachedApiKeyStore } from '../../router/src/infra/storage/stores/cached-api-key-store.ts';
import { CachedConsoleSessions } from '../../router/src/infra/storage/stores/cached-console-sessions.ts';
import { CachedRouteStore } from '../../router/src/infra/storage/stores/cached-route-store.ts';
import { PostgresApiKeyStore } from '../../router/src/infra/storage/stores/postgres-api-key-store.ts';
import { PostgresAuditLog } from '../../router/src/infra/storage/stores/postgres-audit-log.ts';
import { PostgresChatStore } from '../../router/src/infra/storage/stores/postgres-chat-store.ts';
import { PostgresConsoleSessions } from '../../router/src/infra/storage/stores/postgres-console-sessions.ts';
import { PostgresConsoleUsers } from '../../router/src/infra/storage/stores/postgres-console-users.ts';
import { PostgresLoginAttempts } from '../../router/src/infra/storage/stores/postgres-login-attempts.ts';
import { PostgresMessageLog } from '../../router/src/infra/storage/stores/postgres-message-log.ts';
import { PostgresRateLimiter } from '../../router/src/infra/storage/stores/postgres-rate-limiter.ts';
import { PostgresRouteHistory } from '../../router/src/infra/storage/stores/postgres-route-history.ts';
import { PostgresRouteStore } from '../../router/src/infra/storage/stores/postgres-route-store.ts';
import { FakeAccounts } from '../doubles/fake-accounts.ts';
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
  const keys = new CachedApiKeyStore(new PostgresApiKeyStore(database.open()), bus, clock);
  const sessions = new CachedConsoleSessions(new PostgresConsoleSessions(database.open()), bus, clock);
  const users = new PostgresConsoleUsers(database.open());
  const presence = new UserPresence({ users, clock, log: quietLog });
  await presence.refresh();
  bus.on('users-changed', () => void presence.refresh());
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
  const routesDeps: RoutesApiDeps & RouteHistoryApiDeps = {
    routes: new CachedRouteStore(new PostgresRouteStore(database.open()), bus, clock),
    routeHistory: new PostgresRouteHistory(database.open()),
    accounts,
    config: { accountId: 'default', environment: 'lab' as const },
    agentKinds,
    routeProbe: goodAgents,
    aliasesOf: async () => [],
    messageLog: new PostgresMessageLog(database.open()),
    previewRoutes: (tables, messages) => previewRoutes(previewDeps, tables, messages, 5_000),
    log: quietLog,
  };
  const server = await createHttpServer({
    config: { host: '127.0.0.1', port: 0, apiKey: ADMIN_KEY },
    access,
    limiter: new PostgresRateLimiter(database.open()),
    recorder,
    endpoints: [
      ...sessionApi({ config: { publicUrl: undefined }, signIn, sessions, users, passwords }),
      ...sessionsApi({ sessions }),
      ...usersApi({ users, sessions, presence, passwords, log: quietLog }),
      ...keysApi({ keys, now: () => clock.now(), log: quietLog }),
      ...auditApi({ auditLog }),
      ...routeHistoryApi(routesDeps),
      ...routesApi(routesDeps),
      ...nodesApi({ nodes: { nodeId, view: () => ({ nodes: [], accounts: [] }) } }),
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
