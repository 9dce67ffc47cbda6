import { z } from 'zod';
import type { Environment, Route, RouteConfig } from '../../../core/models.ts';
import type { Route as RouteRow } from '../generated/client.ts';

const text = z.string().min(1);
const ms = z.number().min(0);

/**
 * A stored config as far as the service relies on it. Loose, unlike the API's: what a newer version added passes. Each
 * agent kind that the API takes is here too.
 */
const storedConfig = z.looseObject({
  adk: z
    .looseObject({
      appName: text,
      baseUrl: text.optional(),
      headers: z.record(z.string(), z.string()).optional(),
      timeoutMs: ms.optional(),
    })
    .optional(),
  abi: z
    .looseObject({
      functions: z.union([text, z.array(z.union([text, z.looseObject({})])).min(1)]),
      headers: z.record(z.string(), z.string()).optional(),
      timeoutMs: ms.optional(),
    })
    .optional(),
  unsupportedNotice: z.string().optional(),
  failureNotice: z.string().optional(),
  failure: z
    .looseObject({
      attempts: z.number().min(1).optional(),
      backoffMs: ms.optional(),
      maxBackoffMs: ms.optional(),
      maxRetryAfterMs: ms.optional(),
      circuit: z.looseObject({ failures: z.number().min(1), openMs: ms }).optional(),
      fallbackRouteId: text.optional(),
      fallbackText: z.string().optional(),
    })
    .optional(),
});

/** A route as it is stored; one whose config nobody could have written through the API says so in `damage`. */
export function storedRoute(row: RouteRow): Route {
  const parsed = storedConfig.safeParse(row.config);
  return {
    ...columnsOf(row),
    ...(parsed.success
      ? { config: row.config as RouteConfig }
      : { config: {}, damage: damageOf(parsed.error) }),
  };
}

/** A route whose config the database cannot read. */
export function unreadableRoute(row: Omit<RouteRow, 'config'>): Route {
  return { ...columnsOf(row), config: {}, damage: 'the database cannot read its config' };
}

function columnsOf(row: Omit<RouteRow, 'config'>): Omit<Route, 'config'> {
  return {
    id: row.id,
    accountId: row.accountId,
    channelId: row.channelId,
    agentEndpoint: row.agentEndpoint,
    environment: row.environment as Environment,
    regexFilter: row.regexFilter ?? undefined,
    priority: row.priority,
    enabled: row.enabled,
    name: row.name ?? undefined,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}

/** The first of its mistakes. Names the field and never its value, which may be a secret. */
function damageOf(error: z.ZodError): string {
  const path = error.issues[0]?.path.map(String).join('.') ?? '';
  return path === '' ? 'its config is no object of settings' : `config.${path} is not what it must be`;
}
