import type { z } from 'zod';
import type { Route } from '../../../../core/models.ts';
import type { AgentKind } from '../../../agents/agent-kind.ts';
import { maskedConfig } from '../../../agents/route-secrets.ts';
import type { routeView } from './route-schemas.ts';

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
