import type { z } from 'zod';
import type { Route, RouteConfig } from '../../../../core/models.ts';
import { MASK } from '../agent-fields.ts';
import { HttpProblem } from '../problem.ts';
import type { routeView } from './route-schemas.ts';

/** A route as answers show it: times as text, the values of secret headers masked. */
export function viewOf(route: Route): z.input<typeof routeView> {
  const { createdAt, updatedAt, config, ...rest } = route;
  return {
    ...rest,
    config: mapHeaders(config, () => MASK) as Record<string, unknown>,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

/**
 * The config with each masked header value put back to what was stored, so that an answer can be sent back as it came.
 * @throws {HttpProblem} 400 when a masked header was not stored before
 */
export function unmasked(config: RouteConfig, stored: RouteConfig | undefined): RouteConfig {
  return mapHeaders(config, (kind, name, value) => {
    if (value !== MASK) return value;
    const before = headersOf(stored?.[kind])?.[name];
    if (before !== undefined) return before;
    const field = `config.${kind}.headers.${name}`;
    const message = `is masked (${MASK}) and was not stored before; send its value`;
    throw new HttpProblem(400, 'INVALID_BODY', `${field} ${message}.`, [{ field, message }]);
  });
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

type Kind = keyof RouteConfig;

function mapHeaders(
  config: RouteConfig,
  change: (kind: Kind, name: string, value: string) => string,
): RouteConfig {
  const entries = Object.entries(config).map(([kind, settings]) => {
    const headers = headersOf(settings);
    if (!headers) return [kind, settings];
    const changed = Object.entries(headers).map(([name, value]) => [name, change(kind as Kind, name, value)]);
    return [kind, { ...settings, headers: Object.fromEntries(changed) }];
  });
  return Object.fromEntries(entries);
}

function headersOf(settings: unknown): Record<string, string> | undefined {
  if (!isObject(settings) || !isObject(settings.headers)) return undefined;
  return settings.headers as Record<string, string>;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
