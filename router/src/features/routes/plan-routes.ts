import type { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import type { Route } from '../../core/models.ts';
import { type Said, say } from '../../core/phrases.ts';
import { PLAYGROUND } from '../../core/playground/playground-account.ts';
import type { NewRoute, RouteChanges } from '../../core/ports/route-store.ts';
import type { App } from '../../feature.ts';
import { routeConfigOf } from '../../infra/agents/route-config.ts';
import { unmasked } from '../../infra/agents/route-secrets.ts';
import { HttpProblem, mistakeAt } from '../../infra/operations/problem.ts';
import { invalid } from '../../infra/operations/validate.ts';
import { refuseUnknownAccount } from '../accounts/account-view.ts';
import type { RouteChecks } from './route-checks.ts';
import { type RouteChangeView, routeChangeOf } from './route-history-api.ts';
import type { routeSchemas, Warning } from './route-schemas.ts';

/** A route of a file. */
export type RouteOfFile = z.output<ReturnType<typeof routeSchemas>['ofFile']>;

/** What a file would change. */
export interface RoutesPlan {
  /** Absent: nothing. */
  changes?: RouteChanges;
  shown: RouteChangeView[];
  unchanged: number;
  warnings: Warning[];
}

/**
 * Compares the routes of a file with the table. A route is found by its id, else by its name among those of its account and
 * environment; one that is not found is created. Routes that do not change are not checked.
 * @param prune deletes routes of the accounts and environments of the file that the file does not have
 * @throws {HttpProblem} 400, fields begin with `routes.0`; 403 the caller may not store one of the routes
 */
export async function planRoutes(
  app: App,
  checks: RouteChecks,
  caller: Caller,
  table: readonly Route[],
  file: readonly RouteOfFile[],
  prune: boolean,
): Promise<RoutesPlan> {
  const plan: RoutesPlan = { shown: [], unchanged: 0, warnings: [] };
  const changes: RouteChanges = { create: [], update: [], delete: [] };
  const found = new Set<string>();
  const scopes = new Set<string>();
  for (const [index, written] of file.entries()) {
    await inField(index, async () => {
      const before = storedRoute(app, table, written);
      const id = before?.id ?? written.id;
      if (id !== undefined && found.has(id)) throw mistake('id', say('field.twice-in-file'));
      if (id !== undefined) found.add(id);
      const { config: ofFile, ...fields } = fieldsOf(app, written, before);
      const { agentEndpoint, environment, accountId } = fields;
      scopes.add(JSON.stringify([accountId, environment]));
      const config = ofFile
        ? unmasked(app.agentKinds, { agentEndpoint, config: ofFile }, before).config
        : before?.config;
      if (!config) throw mistake('config', say('field.missing'));
      const shown = routeChangeOf(app.agentKinds, { before, after: { ...fields, config, id } });
      if (!shown) {
        plan.unchanged += 1;
        return;
      }
      if (before?.accountId !== accountId) {
        refuseUnknownAccount(app.accounts, accountId, app.config.accountId, PLAYGROUND);
      }
      checks.refuseOtherPrograms(caller, before?.config ?? {});
      checks.refuseOtherPrograms(caller, config);
      checks.refuseEverybody({ channelId: fields.channelId, config });
      const usable = ofFile && (await checks.usableConfig({ agentEndpoint, config: ofFile }, before));
      for (const warning of usable?.warnings ?? []) {
        plan.warnings.push({ ...warning, field: `routes.${index}.${warning.field}` });
      }
      plan.shown.push(shown);
      if (before) changes.update.push({ id: before.id, change: { ...fields, ...usable?.stored } });
      else changes.create.push({ ...fields, config, ...usable?.stored, ...(id !== undefined && { id }) });
    });
  }
  const isPruned = (route: Route) =>
    prune && !found.has(route.id) && scopes.has(JSON.stringify([route.accountId, route.environment]));
  for (const route of table.filter(isPruned)) {
    checks.refuseOtherPrograms(caller, route.config);
    const shown = routeChangeOf(app.agentKinds, { before: route });
    if (shown) plan.shown.push(shown);
    changes.delete.push(route.id);
  }
  return plan.shown.length > 0 ? { ...plan, changes } : plan;
}

function storedRoute(
  { config }: App,
  table: readonly Route[],
  { id, name, accountId = config.accountId, environment = config.environment }: RouteOfFile,
): Route | undefined {
  if (id !== undefined) return table.find((route) => route.id === id);
  const [found, ...others] = table.filter(
    (route) => route.name === name && route.accountId === accountId && route.environment === environment,
  );
  if (others.length > 0) throw mistake('name', say('field.several-routes', { count: others.length + 1 }));
  return found;
}

/** The whole route: what the file does not say is as in a new route. `config` is absent if the file has none. */
function fieldsOf(
  { agentKinds, config: defaults }: App,
  written: RouteOfFile,
  before: Route | undefined,
): Omit<NewRoute, 'config'> & Partial<Pick<NewRoute, 'config'>> {
  const { accountId, environment } = before ?? defaults;
  return {
    accountId: written.accountId ?? accountId,
    channelId: written.channelId,
    agentEndpoint: written.agentEndpoint ?? '',
    environment: written.environment ?? environment,
    regexFilter: written.regexFilter ?? undefined,
    priority: written.priority ?? 0,
    enabled: written.enabled ?? true,
    name: written.name ?? undefined,
    ...(written.config && { config: routeConfigOf(agentKinds, written.config) }),
  };
}

function mistake(field: string, said: Said): HttpProblem {
  return invalid('body', [mistakeAt(field, said)]);
}

/** Runs the check of a route of the file; the fields of its mistakes begin with the place of the route. */
async function inField(index: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof HttpProblem) || error.status !== 400 || !error.details) throw error;
    const details = error.details.map(({ field, message }) => ({
      field: `routes.${index}.${field}`,
      message,
    }));
    throw invalid('body', details);
  }
}
