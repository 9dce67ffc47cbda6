import { z } from 'zod';
import type { Environment, Route } from '../../core/models.ts';
import { PHRASES } from '../../core/phrases.ts';
import type { NewRoute } from '../../core/ports/route-store.ts';
import { MAX_PATTERN_CHARS, regexProblem } from '../../core/routing/regex-problem.ts';
import type { AgentKind } from '../../infra/agents/agent-kind.ts';
import { routeConfigField, routeConfigOf, withNewConfigNames } from '../../infra/agents/route-config.ts';
import { maskedConfig } from '../../infra/agents/route-secrets.ts';
import { httpUrlField } from '../../infra/agents/setting-fields.ts';
import {
  accountIdField,
  changedResponse,
  channelIdField,
  shown,
  timeView,
  type warningView,
} from '../../infra/operations/fields.ts';
import { PROBLEM_CODE, type RenamedBody } from '../../infra/operations/form.ts';

/** A route of the agent contract. */
export const ROUTE_EXAMPLE = {
  channelId: '*',
  agentEndpoint: 'http://localhost:8000',
  environment: 'lab',
  config: { adk: { appName: 'my_agent' } },
};

const regexField = z
  .string()
  .superRefine((pattern, context) => {
    const problem = regexProblem(pattern);
    if (problem === undefined) return;
    context.addIssue({
      code: 'custom',
      message: problem.sentence,
      params: { [PROBLEM_CODE]: 'INVALID_REGEX_PATTERN', phrase: problem.phrase },
    });
  })
  .describe(
    'ECMAScript pattern, without flags. The route matches when the text contains a match. A pattern that takes too long counts as not matching and does not delay other chats.',
  )
  .meta({ minLength: 1, maxLength: MAX_PATTERN_CHARS });

const routeFields = {
  accountId: accountIdField.optional(),
  channelId: channelIdField,
  agentEndpoint: httpUrlField
    .optional()
    .describe(
      'Base URL of the agent. A path is kept. Required, except for agents that wa2ai runs (`config.hosted`, `config.shell` with an image).',
    ),
  environment: z
    .enum(['lab', 'prod'])
    .optional()
    .describe(
      "The route matches only in a service whose WA2AI_ENVIRONMENT is the same. Default: the service's own.",
    ),
  regexFilter: regexField.nullish(),
  priority: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .optional()
    .describe('Within one chat the higher number comes first, then the older route. Default: 0.'),
  enabled: z.boolean().optional().describe('`false`: the route is kept and not used. Default: `true`.'),
  name: z.string().max(200).nullish().describe('A name for people.'),
};

/** The bodies of the route resources for these agent kinds. */
export function routeSchemas(kinds: readonly AgentKind[]) {
  const config = routeConfigField(kinds);
  const fields = { ...routeFields, config };
  return {
    /** POST /api/routes. */
    body: withEndpoint(kinds, z.strictObject(fields)).meta({ id: 'NewRoute', examples: [ROUTE_EXAMPLE] }),
    /** PUT: a whole route; an absent channelId or environment keeps its value. */
    replacement: withEndpoint(
      kinds,
      z.strictObject({ ...fields, channelId: channelIdField.optional() }),
    ).meta({ id: 'RouteReplacement', examples: [ROUTE_EXAMPLE] }),
    /** PATCH: the fields to change. `config` is merged by RFC 7396 (null removes) and then validated as a whole. */
    patch: z
      .strictObject({
        ...z.strictObject(routeFields).partial().shape,
        config: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('Merged into the stored config (JSON Merge Patch, RFC 7396): null removes a field.'),
      })
      .meta({ id: 'RoutePatch', examples: [{ enabled: false }] }),
    /** A route of a file. */
    ofFile: z
      .strictObject({
        id: z
          .uuid()
          .transform((id) => id.toLowerCase())
          .optional()
          .describe('Absent: the route is found by its name.'),
        ...fields,
        config: config.optional().describe('Absent: the stored config is kept.'),
        damage: z
          .string()
          .optional()
          .describe('In an export: why the stored config cannot be used. Ignored.'),
      })
      .refine(({ id, name }) => id !== undefined || typeof name === 'string', {
        path: ['name'],
        error: PHRASES['field.missing-id-or-name'],
      })
      .meta({ id: 'RouteOfFile' }),
    /** The config of a changed route, whole again. */
    changedConfig: z.strictObject({ config }),
  };
}

/** Requires `agentEndpoint`, except for the kinds whose agents wa2ai runs. */
function withEndpoint<Body extends z.ZodType<{ agentEndpoint?: string }>>(
  kinds: readonly AgentKind[],
  schema: Body,
): Body {
  return schema.refine(
    (body) => {
      const { agentEndpoint, config } = body as { agentEndpoint?: unknown; config?: unknown };
      const settings =
        typeof config === 'object' && config !== null ? (config as Record<string, unknown>) : {};
      const isHosted = kinds.some(
        ({ name, hasNoEndpoint }) => name in settings && hasNoEndpoint?.(settings[name]),
      );
      return agentEndpoint !== undefined || isHosted;
    },
    {
      ...{ path: ['agentEndpoint'], error: PHRASES['field.missing'] },
      when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
    },
  );
}

/** Made once for all operations: the settings of every agent kind are in it. */
export type RouteSchemas = ReturnType<typeof routeSchemas>;

/** The body of a PATCH. */
type RoutePatch = z.output<RouteSchemas['patch']>;

type RouteBody = z.output<RouteSchemas['body']>;

/** A route as responses show it. */
export const routeView = z
  .object({
    id: z.uuid(),
    accountId: z.string(),
    channelId: z.string(),
    agentEndpoint: z.string().optional().describe('Absent: wa2ai runs the agent.'),
    environment: z.enum(['lab', 'prod']),
    regexFilter: z.string().optional(),
    priority: z.int(),
    enabled: z.boolean(),
    name: z.string().optional(),
    config: z.record(z.string(), z.unknown()).describe('As it was written, secrets masked.'),
    damage: z
      .string()
      .optional()
      .describe('Why the stored config cannot be used; `config` is empty then. Write it again.'),
    createdAt: timeView,
    updatedAt: timeView,
  })
  .meta({ id: 'Route' });

export type Warning = z.output<typeof warningView>;

/** The response of a call that stored a route. */
export const storedRouteResponse = changedResponse(routeView);

/** Configs are that deep in bodies: `create.config`, `change.patch.config`, `routes.0.config`. */
const MAX_DEPTH = 3;

/** A body with routes, their configs with the names of now. */
export function withNewRouteNames(body: unknown, depth = MAX_DEPTH): RenamedBody {
  if (typeof body !== 'object' || body === null || depth === 0) return { value: body, renamed: [] };
  const fields = Object.entries(body).map(([name, field]) => ({
    name,
    ...(name === 'config' ? withNewConfigNames(field) : withNewRouteNames(field, depth - 1)),
  }));
  const renamed = fields.flatMap(({ name, renamed }) =>
    renamed.map(({ from, to }) => ({ from: `${name}.${from}`, to })),
  );
  if (Array.isArray(body)) return { value: fields.map(({ value }) => value), renamed };
  return { value: Object.fromEntries(fields.map(({ name, value }) => [name, value])), renamed };
}

/** A validated body with the defaults filled in. */
export function newRouteOf(
  kinds: readonly AgentKind[],
  body: RouteBody,
  defaults: { accountId: string; environment: Environment },
): NewRoute {
  return {
    accountId: body.accountId ?? defaults.accountId,
    channelId: body.channelId,
    agentEndpoint: body.agentEndpoint ?? '',
    environment: body.environment ?? defaults.environment,
    regexFilter: body.regexFilter ?? undefined,
    priority: body.priority ?? 0,
    enabled: body.enabled ?? true,
    name: body.name ?? undefined,
    config: routeConfigOf(kinds, body.config),
  };
}

/** A route as responses show it: secrets masked. */
export function viewOf(kinds: readonly AgentKind[], route: Route): z.output<typeof routeView> {
  const { agentEndpoint, config } = route;
  return shown(routeView, {
    ...route,
    agentEndpoint: agentEndpoint || undefined,
    config: maskedConfig(kinds, config),
  });
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
