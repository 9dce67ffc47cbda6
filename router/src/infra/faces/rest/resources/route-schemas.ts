import { z } from 'zod';
import type { NewRoute } from '../../../../core/ports/route-store.ts';
import { MAX_PATTERN_CHARS, regexProblem } from '../../../../core/routing/regex-problem.ts';
import { abiConfig } from '../../../agents/abi/abi-config-schema.ts';
import { headersField, httpUrlField, notBlank, timeoutField } from '../agent-fields.ts';
import { accountIdField, channelIdField, timeView } from '../fields.ts';
import { PROBLEM_CODE } from '../validate.ts';

const regexField = z
  .string()
  .superRefine((pattern, context) => {
    const problem = regexProblem(pattern);
    if (problem === undefined) return;
    context.addIssue({
      code: 'custom',
      message: problem.replace(/^regexFilter /, '').replace(/\.$/, ''),
      params: { [PROBLEM_CODE]: 'INVALID_REGEX_PATTERN' },
    });
  })
  .describe('An ECMAScript pattern, without flags; the route takes only texts that hold a match of it.')
  .meta({ minLength: 1, maxLength: MAX_PATTERN_CHARS });

const noticeField = z.string().max(4096).refine(notBlank, 'must not be blank');

const adkConfig = z.strictObject({
  appName: z
    .string()
    .max(200)
    .refine(notBlank, 'must not be blank')
    .describe("The agent's name at the ADK server: its folder."),
  baseUrl: httpUrlField.optional().describe('URL of the ADK server. Default: agentEndpoint.'),
  dialect: z
    .enum(['auto', 'snake', 'camel'])
    .optional()
    .describe('Spelling of the body; `auto`, the default, learns it per server.'),
  media: z
    .boolean()
    .optional()
    .describe(
      "People's files of at most 10 MB go along as `inlineData`, and the agent's `inlineData` to the chat. Default: words only.",
    ),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
});

const waitField = z.int().min(0).max(3_600_000);

const failureField = z
  .strictObject({
    attempts: z.int().min(1).max(20).optional().describe('Asks of one message in all.'),
    patienceMs: waitField
      .optional()
      .describe(
        'An agent that is away (no connection, 429, 502, 503) is asked again for so long, in milliseconds, though the asks are used up. Default: 0 beside attempts or a fallback, else WA2AI_AGENT_PATIENCE_MS.',
      ),
    backoffMs: waitField
      .optional()
      .describe('Ceiling of the first wait between asks, in milliseconds. Default: 500.'),
    maxBackoffMs: waitField
      .optional()
      .describe('Ceiling of every such wait, in milliseconds. Default: 10000.'),
    maxRetryAfterMs: waitField
      .optional()
      .describe('Longest `Retry-After` that is waited out in full, in milliseconds. Default: 120000.'),
    circuit: z
      .strictObject({
        failures: z.int().min(1).max(1_000).describe('Failed asks in a row that open the circuit.'),
        openMs: z
          .int()
          .min(100)
          .max(3_600_000)
          .describe('How long the endpoint is then left alone, in milliseconds.'),
      })
      .optional()
      .describe('Leaves an endpoint that keeps failing alone. Default: it is asked every time.'),
    fallbackRouteId: z
      .uuid({ error: 'must be the id of a route' })
      .optional()
      .describe("Asked once when this route's agent failed for good. Its own fallback is not followed."),
    fallbackText: noticeField
      .optional()
      .describe('Sent as the answer when the agent failed for good; the message then counts as answered.'),
  })
  .superRefine((failure, context) => {
    const { backoffMs, maxBackoffMs, fallbackRouteId, fallbackText } = failure;
    if (backoffMs !== undefined && maxBackoffMs !== undefined && backoffMs > maxBackoffMs) {
      context.addIssue({ code: 'custom', path: ['maxBackoffMs'], message: 'must not be below backoffMs' });
    }
    if (fallbackRouteId !== undefined && fallbackText !== undefined) {
      const message = 'must not stand beside fallbackRouteId; choose one';
      context.addIssue({ code: 'custom', path: ['fallbackText'], message });
    }
  })
  .describe('What happens when the agent does not answer.');

/** One entry an agent kind: adding a kind is adding its settings here. */
const agentKinds = {
  adk: adkConfig.optional().describe('A Google ADK server.'),
  abi: abiConfig.optional().describe('An agent that takes ABI calldata (agent container specification).'),
};

const kindNames = Object.keys(agentKinds);

const configField = z
  .strictObject({
    ...agentKinds,
    unsupportedNotice: noticeField
      .optional()
      .describe('Sent for kinds of messages without text. Default: nothing.'),
    failureNotice: noticeField.optional().describe('Sent when a turn fails for good. Default: nothing.'),
    failure: failureField.optional(),
  })
  .refine((config) => kindNames.filter((kind) => kind in config).length === 1, {
    error: `must hold exactly one agent kind: ${kindNames.join(', ')}`,
    when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
  });

const routeFields = {
  accountId: accountIdField.optional(),
  channelId: channelIdField,
  agentEndpoint: httpUrlField.describe('URL of the agent.'),
  environment: z
    .enum(['lab', 'prod'])
    .describe('Only routes of the environment that the service runs in match.'),
  regexFilter: regexField.nullish(),
  priority: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .optional()
    .describe('Within one channelId higher comes first, then the older route. Default: 0.'),
  enabled: z.boolean().optional().describe('Default: true.'),
  name: z.string().max(200).nullish(),
  config: configField,
};

/** Body of POST /api/routes. */
export const routeBody = z.strictObject(routeFields).meta({ id: 'NewRoute' });

/** Body of PUT: a whole route; without channelId the chat stays. */
export const routeReplacement = z
  .strictObject({ ...routeFields, channelId: channelIdField.optional() })
  .meta({ id: 'RouteReplacement' });

/** Body of PATCH: the fields to change. `config` is merged by RFC 7396 (null removes) and validated as a whole after. */
export const routePatch = z
  .strictObject({
    ...z.strictObject(routeFields).omit({ config: true }).partial().shape,
    config: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Merged into the stored config (JSON Merge Patch, RFC 7396): null removes a field.'),
  })
  .meta({ id: 'RoutePatch' });

/** The config of a merged PATCH, whole again. */
export const patchedConfig = z.strictObject({ config: configField });

export type RouteBody = z.output<typeof routeBody>;

/** A route as answers show it. */
export const routeView = z
  .object({
    id: z.uuid(),
    accountId: z.string(),
    channelId: z.string(),
    agentEndpoint: z.string(),
    environment: z.enum(['lab', 'prod']),
    regexFilter: z.string().optional(),
    priority: z.int(),
    enabled: z.boolean(),
    name: z.string().optional(),
    config: z.record(z.string(), z.unknown()).describe('As it was written, header values masked.'),
    damage: z
      .string()
      .optional()
      .describe('Why what is stored as its config cannot be used; `config` is empty then. Write it anew.'),
    createdAt: timeView,
    updatedAt: timeView,
  })
  .meta({ id: 'Route' });

/** A validated body with the defaults filled in. */
export function newRouteOf(body: RouteBody, defaultAccountId: string): NewRoute {
  return {
    accountId: body.accountId ?? defaultAccountId,
    channelId: body.channelId,
    agentEndpoint: body.agentEndpoint,
    environment: body.environment,
    regexFilter: body.regexFilter ?? undefined,
    priority: body.priority ?? 0,
    enabled: body.enabled ?? true,
    name: body.name ?? undefined,
    config: body.config,
  };
}
