import type { z } from 'zod';
import type { Route } from '../../core/models.ts';
import type { NewRoute } from '../../core/ports/route-store.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { routeConfigOf } from '../../infra/agents/route-config.ts';
import { maskedConfig } from '../../infra/agents/route-secrets.ts';
import type { RoutePatch, routeView } from './route-schemas.ts';

/** A route as responses show it: times as text, secrets masked. */
export function viewOf(kinds: readonly AgentKind[], route: Route): z.input<typeof routeView> {
  const { createdAt, updatedAt, config, agentEndpoint, ...rest } = route;
  return {
    ...rest,
    ...(agentEndpoint !== '' && { agentEndpoint }),
    config: maskedConfig(kinds, config),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/** The changes of a PATCH. A field that is present with undefined is cleared in the store; an absent one stays. */
export function changesOf(kinds: readonly AgentKind[], before: Route, patch: RoutePatch): Partial<NewRoute> {
  const { config: configPatch, regexFilter, name, ...fields } = patch;
  const changes: Partial<NewRoute> = Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  );
  if (regexFilter !== undefined) changes.regexFilter = regexFilter ?? undefined;
  if (name !== undefined) changes.name = name ?? undefined;
  // Masked, so that a secret that the patch does not name counts as not sent again.
  const shown = maskedConfig(kinds, before.config);
  if (configPatch !== undefined) {
    changes.config = routeConfigOf(kinds, mergePatch(shown, configPatch) as typeof shown);
  } else if (changes.agentEndpoint !== undefined && before.config.agent) {
    changes.config = routeConfigOf(kinds, shown);
  }
  return changes;
}

/** JSON Merge Patch (RFC 7396). Builds with fromEntries, so that a key `__proto__` stays a plain key. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
