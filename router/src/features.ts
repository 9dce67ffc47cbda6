import type { LiveEventTypes } from './core/live/live-event.ts';
import type { TaskFunctions } from './core/tasks.ts';
import type { App, Feature, Service } from './feature.ts';
import { a2a } from './features/a2a/feature.ts';
import { access } from './features/access/feature.ts';
import { accounts } from './features/accounts/feature.ts';
import { audit } from './features/audit/feature.ts';
import { chats } from './features/chats/feature.ts';
import { deadLetters } from './features/dead-letters/feature.ts';
import { drafts } from './features/drafts/feature.ts';
import { hosting } from './features/hosting/feature.ts';
import { live } from './features/live/feature.ts';
import { mcp } from './features/mcp/feature.ts';
import { nodes } from './features/nodes/feature.ts';
import { npc } from './features/npc/feature.ts';
import { pages } from './features/pages/feature.ts';
import { playground } from './features/playground/feature.ts';
import { routes } from './features/routes/feature.ts';
import { settings } from './features/settings/feature.ts';
import { stats } from './features/stats/feature.ts';
import { tasks } from './features/tasks/feature.ts';
import { webhooks } from './features/webhooks/feature.ts';
import { coreSecrets, type SecretColumn } from './infra/db/encryption/secret-cipher.ts';
import { coreRetention, type RetentionRules } from './infra/db/upkeep/retention.ts';
import type { Endpoint } from './infra/operations/endpoint.ts';
import type { ProtocolServer } from './infra/operations/protocol-server.ts';

/** The features of the service, in the order in which paths are matched and the description of the API shows their tags. */
export const features: readonly Feature[] = [
  accounts,
  routes,
  chats,
  drafts,
  playground,
  deadLetters,
  tasks,
  a2a,
  webhooks,
  live,
  nodes,
  stats,
  hosting,
  access,
  npc,
  audit,
  settings,
  mcp,
  pages,
];

/** All operations of the REST API. */
export function operationsOf(app: App): Endpoint[] {
  return features.flatMap((feature) => feature.operations?.(app) ?? []);
}

/** All pages, and protocols that are endpoints without being operations. */
export function pagesOf(app: App): Endpoint[] {
  return features.flatMap((feature) => feature.pages?.(app) ?? []);
}

/** What the tags of all operations mean, in the order of the features. */
export function tagsOf(): Record<string, string> {
  return Object.assign({}, ...features.map(({ tags }) => tags));
}

/** All types of live events, each with who gets them. */
export function liveEventTypes(): LiveEventTypes {
  return Object.assign({}, ...features.map(({ liveEvents }) => liveEvents));
}

/** All columns whose values are encrypted: of the core, then of each feature. */
export function secretColumns(): SecretColumn[] {
  return [...coreSecrets, ...features.flatMap(({ secrets }) => secrets ?? [])];
}

/** What is deleted when: of the core, then of each feature. */
export function retentionRules(): RetentionRules[] {
  return [coreRetention, ...features.flatMap(({ retention }) => retention ?? [])];
}

/** All servers. */
export function serversOf(service: Service): ProtocolServer[] {
  return features.flatMap((feature) => feature.servers?.(service) ?? []);
}

/** All durable functions. @param serviceOf called when one runs */
export function durableFunctionsOf(serviceOf: () => Service): Partial<TaskFunctions> {
  const all = Object.assign({}, ...features.map(({ durable }) => durable)) as Required<
    NonNullable<Feature['durable']>
  >;
  return Object.fromEntries(
    Object.entries(all).map(([name, run]) => [
      name,
      (...given: unknown[]) => (run as (...all: unknown[]) => unknown)(serviceOf(), ...given),
    ]),
  );
}
