import { z } from 'zod';
import { oldTryForMs } from '../../config/config-fields.ts';
import type { RouteConfig } from '../../core/models.ts';
import { issueOf, PHRASES, say } from '../../core/phrases.ts';
import { conversationFields, mediaField } from '../../core/policies/conversation-fields.ts';
import type { AgentKind } from './agent-kind.ts';
import { notBlank } from './setting-fields.ts';

/** A route's config as the API and the database write it: the settings are under the name of their kind. */
export type WireConfig = Record<string, unknown>;

const ownTextField = z.string().max(4096).refine(notBlank, PHRASES['field.not-blank']);
const MAX_TRY_FOR_MS = 3_600_000;

const failureField = z
  .strictObject({
    tryForMs: z
      .int()
      .min(0)
      .max(MAX_TRY_FOR_MS)
      .optional()
      .describe(
        'How long to try an agent that is not available (no connection, 429, 502, 503), in milliseconds; other failures that a repeat may end get three attempts. The chat waits. 0: one attempt. Default: WA2AI_AGENT_TRY_FOR, beside a fallback at most 5000.',
      ),
    uncertain: z
      .enum(['retry', 'dead-letter'])
      .optional()
      .describe(
        "When a run may have happened and the agent's session cannot be read: `retry` calls the agent again, which may run it twice; `dead-letter` does not, and the person gets no answer until a replay. Default: `retry` after a crash of wa2ai or a lost connection, `dead-letter` after a time-out.",
      ),
    circuit: z
      .strictObject({
        failures: z.int().min(1).max(1_000).describe('Consecutive failed attempts that open the circuit.'),
        openMs: z
          .int()
          .min(100)
          .max(3_600_000)
          .describe('How long the circuit then stays open, in milliseconds.'),
      })
      .optional()
      .describe(
        'Stops calling an endpoint that keeps failing; each agent that wa2ai runs counts for itself. Default: every message is an attempt.',
      ),
    fallbackRouteId: z
      .uuid({ error: PHRASES['field.route-id'] })
      .optional()
      .describe(
        "Route whose agent gets one attempt when this route's agent has failed. Its own fallback is not used.",
      ),
    fallbackText: ownTextField
      .optional()
      .describe('Sent as the reply when the agent has failed; the message then counts as answered.'),
  })
  .superRefine((failure, context) => {
    const { fallbackRouteId, fallbackText } = failure;
    if (fallbackRouteId !== undefined && fallbackText !== undefined) {
      const message = PHRASES['field.not-with-fallback-route'];
      context.addIssue({ code: 'custom', path: ['fallbackText'], message });
    }
  })
  .describe('What happens when the agent does not answer.');

const commonFields = {
  failure: failureField.optional(),
  ...conversationFields,
  media: mediaField.optional(),
  shared: z
    .boolean()
    .optional()
    .describe('Offers the agent to programs as the A2A skill `talk-to-<name of the route>`. Default: false.'),
};

/** The fields of a route's `config` that all kinds share. */
export const commonConfigField = z.strictObject(commonFields);

/** The schema of a route's `config`: the settings of exactly one of these kinds, and the fields that all kinds share. */
export function routeConfigField(kinds: readonly AgentKind[]) {
  const names = kinds.map(({ name }) => name);
  const settings = kinds.map(({ name, description, settings }) => [
    name,
    settings.optional().describe(description),
  ]);
  return z
    .strictObject({ ...(Object.fromEntries(settings) as Record<string, z.ZodType>), ...commonFields })
    .refine((config) => names.filter((name) => name in config).length === 1, {
      ...issueOf(say('field.one-agent-kind', { names: names.join(', ') })),
      when: ({ value }) => typeof value === 'object' && value !== null && !Array.isArray(value),
    });
}

/** Earlier names of fields of a config, accepted until the next version, with the paths of now. */
const OLD_NAMES = {
  failureNotice: ['notices', 'failed'],
  unsupportedNotice: ['notices', 'unsupported'],
} as const;

/** What said how long to try. */
const OLD_TRY_NAMES = ['attempts', 'patienceMs', 'backoffMs', 'maxBackoffMs', 'maxRetryAfterMs'] as const;

/** A config with the names of now, and the earlier names that it had. An earlier name decides where both are there. */
export function withNewConfigNames(config: unknown) {
  let value = config;
  const renamed: Array<{ from: string; to: string }> = [];
  for (const [from, [group, field]] of Object.entries(OLD_NAMES)) {
    if (!isObject(value) || !Object.hasOwn(value, from)) continue;
    const { [from]: old, ...others } = value;
    const fields = others[group] ?? {};
    value = { ...others, [group]: isObject(fields) ? { ...fields, [field]: old } : fields };
    renamed.push({ from, to: `${group}.${field}` });
  }
  if (isObject(value) && isObject(value.failure)) {
    const { failure } = value;
    const old = OLD_TRY_NAMES.filter((name) => Object.hasOwn(failure, name));
    renamed.push(...old.map((name) => ({ from: `failure.${name}`, to: 'failure.tryForMs' })));
    if (old.length > 0) value = { ...value, failure: withTryFor(failure) };
  }
  return { value, renamed };
}

function withTryFor(failure: Record<string, unknown>): Record<string, unknown> {
  const others = Object.entries(failure).filter(([name]) => !OLD_TRY_NAMES.some((old) => old === name));
  const tryForMs = tryForOf(failure);
  return { ...Object.fromEntries(others), ...(tryForMs !== undefined && { tryForMs }) };
}

/** The time in which as many attempts were made; null in a patch that removes it, undefined when nothing said it. */
function tryForOf({
  attempts,
  patienceMs,
  maxRetryAfterMs,
}: Record<string, unknown>): number | null | undefined {
  const given = [attempts, patienceMs, maxRetryAfterMs].filter((value) => value !== undefined);
  if (given.length === 0) return undefined;
  const [count, waitMs] = [attempts, patienceMs ?? maxRetryAfterMs].map((value) =>
    typeof value === 'number' ? value : undefined,
  );
  if (count === undefined && waitMs === undefined) return null;
  if (count === 1) return waitMs ?? 0;
  return Math.min(Math.max(waitMs ?? 0, oldTryForMs(count)), MAX_TRY_FOR_MS);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kind of this name among `kinds`. */
export function kindNamed(kinds: readonly AgentKind[], name: string | undefined): AgentKind | undefined {
  return kinds.find((kind) => kind.name === name);
}

/** A config as core uses it. If it names several kinds, the first one of the list is used. */
export function routeConfigOf(kinds: readonly AgentKind[], wire: WireConfig): RouteConfig {
  const kind = kinds.find(({ name }) => wire[name] !== undefined);
  if (!kind) return wire;
  const { [kind.name]: settings, ...common } = wire;
  return { ...common, agent: { kind: kind.name, settings } };
}

/** A config as the API and the database write it. */
export function wireConfigOf({ agent, ...common }: RouteConfig): WireConfig {
  return agent ? { [agent.kind]: agent.settings, ...common } : common;
}

/**
 * Returns the function that says why a stored config cannot be used, as part of a sentence; undefined when it can. A config
 * must fit the schema of the API, except that unknown fields pass: a newer version may have added them. The sentence names
 * the field and never its value, which may be a secret.
 */
export function storedConfigCheck(kinds: readonly AgentKind[]): (stored: unknown) => string | undefined {
  const schema = routeConfigField(kinds);
  return (stored) => {
    const parsed = schema.safeParse(stored);
    const issue = parsed.success ? undefined : parsed.error.issues.find((found) => !isUnknownField(found));
    if (!issue) return undefined;
    const path = issue.path.map(String).join('.');
    if (path !== '') return `config.${path} is not valid`;
    return issue.code === 'custom'
      ? `its config ${issue.message}`
      : 'its config is not an object of settings';
  };
}

/** Whether nothing but unknown fields is wrong; of a union, in at least one of its options. */
function isUnknownField(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'unrecognized_keys') return true;
  return issue.code === 'invalid_union' && issue.errors.some((option) => option.every(isUnknownField));
}
