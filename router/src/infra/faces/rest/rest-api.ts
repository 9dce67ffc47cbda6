import type { Config } from '../../../config/config.ts';
import type { ConsoleSessions } from '../../../core/ports/console-sessions.ts';
import type { Endpoint } from './endpoint.ts';
import type { Metrics } from './metrics/metrics.ts';
import { metricsApi } from './metrics/metrics-api.ts';
import { type AccountLimitsApiDeps, accountLimitsApi } from './resources/account-limits-api.ts';
import { type AccountsApiDeps, accountsApi } from './resources/accounts-api.ts';
import { agentKindsApi } from './resources/agent-kinds-api.ts';
import { type AgentsApiDeps, agentsApi } from './resources/agents-api.ts';
import { type AuditApiDeps, auditApi } from './resources/audit-api.ts';
import { type ChatsApiDeps, chatsApi } from './resources/chats-api.ts';
import {
  type ConversationSettingsApiDeps,
  conversationSettingsApi,
} from './resources/conversation-settings-api.ts';
import { type DeadLettersApiDeps, deadLettersApi } from './resources/dead-letters-api.ts';
import { type DraftsApiDeps, draftsApi } from './resources/drafts-api.ts';
import { type EventsApiDeps, eventsApi } from './resources/events-api.ts';
import { type ExplainApiDeps, explainApi } from './resources/explain-api.ts';
import { type GovernorSettingsApiDeps, governorSettingsApi } from './resources/governor-settings-api.ts';
import { type HealthApiDeps, healthApi } from './resources/health-api.ts';
import { type InspectAgentApiDeps, inspectAgentApi } from './resources/inspect-agent-api.ts';
import { type KeysApiDeps, keysApi } from './resources/keys-api.ts';
import { type LogsApiDeps, logsApi } from './resources/logs-api.ts';
import { type MediaApiDeps, mediaApi } from './resources/media-api.ts';
import { type MessagesApiDeps, messagesApi } from './resources/messages-api.ts';
import { type NodesApiDeps, nodesApi } from './resources/nodes-api.ts';
import { type NpcChainApiDeps, npcChainApi } from './resources/npc-chain-api.ts';
import { type NpcSettingsApiDeps, npcSettingsApi } from './resources/npc-settings-api.ts';
import { type NpcTradesApiDeps, npcTradesApi } from './resources/npc-trades-api.ts';
import { type PlaygroundApiDeps, playgroundApi } from './resources/playground-api.ts';
import { type RepliesApiDeps, repliesApi } from './resources/replies-api.ts';
import { type RouteFilesApiDeps, routeFilesApi } from './resources/route-files-api.ts';
import { type RouteHistoryApiDeps, routeHistoryApi } from './resources/route-history-api.ts';
import { type RouteOrderApiDeps, routeOrderApi } from './resources/route-order-api.ts';
import { type RoutesApiDeps, routesApi } from './resources/routes-api.ts';
import { type ScenariosApiDeps, scenariosApi } from './resources/scenarios-api.ts';
import { type SessionApiDeps, sessionApi } from './resources/session-api.ts';
import { sessionsApi } from './resources/sessions-api.ts';
import { type SettingsApiDeps, settingsApi } from './resources/settings-api.ts';
import { type StatsApiDeps, statsApi } from './resources/stats-api.ts';
import { type TaskPushesApiDeps, taskPushesApi } from './resources/task-pushes-api.ts';
import { type TasksApiDeps, tasksApi } from './resources/tasks-api.ts';
import { type UsersApiDeps, usersApi } from './resources/users-api.ts';
import { type WebhooksApiDeps, webhooksApi } from './resources/webhooks-api.ts';
import { RestCalls } from './rest-calls.ts';

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
