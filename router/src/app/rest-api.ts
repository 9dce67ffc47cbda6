import type { Config } from '../config/config.ts';
import type { ConsoleSessions } from '../core/ports/console-sessions.ts';
import { type TaskPushesApiDeps, taskPushesApi } from '../features/a2a/task-pushes-api.ts';
import { type KeysApiDeps, keysApi } from '../features/access/keys-api.ts';
import { type SessionApiDeps, sessionApi, sessionsApi } from '../features/access/session-api.ts';
import { type UsersApiDeps, usersApi } from '../features/access/users-api.ts';
import { type AccountLimitsApiDeps, accountLimitsApi } from '../features/accounts/account-limits-api.ts';
import { type AccountsApiDeps, accountsApi } from '../features/accounts/accounts-api.ts';
import { type AuditApiDeps, auditApi } from '../features/audit/audit-api.ts';
import { type ChatsApiDeps, chatsApi } from '../features/chats/chats-api.ts';
import { type MediaApiDeps, mediaApi } from '../features/chats/media-api.ts';
import { type MessagesApiDeps, messagesApi } from '../features/chats/messages-api.ts';
import { type RepliesApiDeps, repliesApi } from '../features/chats/replies-api.ts';
import { type DeadLettersApiDeps, deadLettersApi } from '../features/dead-letters/dead-letters-api.ts';
import { type DraftsApiDeps, draftsApi } from '../features/drafts/drafts-api.ts';
import { type AgentsApiDeps, agentsApi } from '../features/hosting/agents-api.ts';
import { type EventsApiDeps, eventsApi } from '../features/live/events-api.ts';
import { type HealthApiDeps, healthApi } from '../features/nodes/health-api.ts';
import { type LogsApiDeps, logsApi } from '../features/nodes/logs-api.ts';
import { type NodesApiDeps, nodesApi } from '../features/nodes/nodes-api.ts';
import { type NpcChainApiDeps, npcChainApi } from '../features/npc/npc-chain-api.ts';
import { type NpcSettingsApiDeps, npcSettingsApi } from '../features/npc/npc-settings-api.ts';
import { type NpcTradesApiDeps, npcTradesApi } from '../features/npc/npc-trades-api.ts';
import { type PlaygroundApiDeps, playgroundApi } from '../features/playground/playground-api.ts';
import { type ScenariosApiDeps, scenariosApi } from '../features/playground/scenarios-api.ts';
import { type ExplainApiDeps, explainApi } from '../features/routes/explain-api.ts';
import {
  agentKindsApi,
  type InspectAgentApiDeps,
  inspectAgentApi,
} from '../features/routes/inspect-agent-api.ts';
import { type RouteFilesApiDeps, routeFilesApi } from '../features/routes/route-files-api.ts';
import { type RouteHistoryApiDeps, routeHistoryApi } from '../features/routes/route-history-api.ts';
import { type RouteOrderApiDeps, routeOrderApi } from '../features/routes/route-order-api.ts';
import { type RoutesApiDeps, routesApi } from '../features/routes/routes-api.ts';
import {
  type ConversationSettingsApiDeps,
  conversationSettingsApi,
} from '../features/settings/conversation-settings-api.ts';
import {
  type GovernorSettingsApiDeps,
  governorSettingsApi,
} from '../features/settings/governor-settings-api.ts';
import { type SettingsApiDeps, settingsApi } from '../features/settings/settings-api.ts';
import { type Metrics, metricsApi } from '../features/stats/metrics.ts';
import { type StatsApiDeps, statsApi } from '../features/stats/stats-api.ts';
import { type TasksApiDeps, tasksApi } from '../features/tasks/tasks-api.ts';
import { type WebhooksApiDeps, webhooksApi } from '../features/webhooks/webhooks-api.ts';
import type { Endpoint } from '../infra/operations/endpoint.ts';
import { RestCalls } from '../infra/operations/rest-calls.ts';

export interface RestApiDeps
  extends AccountsApiDeps,
    AccountLimitsApiDeps,
    AgentsApiDeps,
    ChatsApiDeps,
    MessagesApiDeps,
    MediaApiDeps,
    ConversationSettingsApiDeps,
    DeadLettersApiDeps,
    GovernorSettingsApiDeps,
    DraftsApiDeps,
    EventsApiDeps,
    HealthApiDeps,
    InspectAgentApiDeps,
    ExplainApiDeps,
    KeysApiDeps,
    AuditApiDeps,
    LogsApiDeps,
    NodesApiDeps,
    NpcChainApiDeps,
    NpcSettingsApiDeps,
    NpcTradesApiDeps,
    PlaygroundApiDeps,
    RepliesApiDeps,
    RouteFilesApiDeps,
    RouteHistoryApiDeps,
    RouteOrderApiDeps,
    RoutesApiDeps,
    Omit<ScenariosApiDeps, 'calls'>,
    Omit<SessionApiDeps, 'users' | 'sessions' | 'passwords'>,
    SettingsApiDeps,
    Omit<UsersApiDeps, 'sessions'>,
    StatsApiDeps,
    TasksApiDeps,
    TaskPushesApiDeps,
    WebhooksApiDeps {
  config: Pick<Config, 'accountId' | 'environment' | 'host' | 'publicUrl' | 'settings'>;
  metrics: Metrics;
  sessions: ConsoleSessions;
}

/** The resources of the REST API, in the order in which their paths are matched. */
export function restApi(deps: RestApiDeps): Endpoint[] {
  const own: Endpoint[] = [
    // Before `/api/routes/{id}`, which would match `explain` as an id.
    ...explainApi(deps),
    ...inspectAgentApi(deps),
    ...routeHistoryApi(deps),
    ...routeFilesApi(deps),
    ...routeOrderApi(deps),
    ...routesApi(deps),
    ...agentKindsApi(deps),
    ...accountsApi(deps),
    ...accountLimitsApi(deps),
    ...nodesApi(deps),
    ...logsApi(deps),
    ...eventsApi(deps),
    ...statsApi(deps),
    ...messagesApi(deps),
    ...mediaApi(deps),
    ...chatsApi(deps),
    ...draftsApi(deps),
    ...playgroundApi(deps),
    ...repliesApi(deps),
    ...deadLettersApi(deps),
    ...tasksApi(deps),
    ...taskPushesApi(deps),
    ...webhooksApi(deps),
    ...agentsApi(deps),
    ...keysApi(deps),
    ...sessionApi(deps),
    ...sessionsApi(deps),
    ...usersApi(deps),
    ...npcSettingsApi(deps),
    ...npcTradesApi(deps),
    ...npcChainApi(deps),
    ...auditApi(deps),
    ...conversationSettingsApi(deps),
    ...governorSettingsApi(deps),
    ...settingsApi(deps),
    ...healthApi(deps),
    ...metricsApi(deps),
  ];
  // Its scenarios call the others.
  return [...own, ...scenariosApi({ ...deps, calls: new RestCalls(own) })];
}
