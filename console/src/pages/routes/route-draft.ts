import type { Problem } from '../../api/problem.ts';

export type Json = Record<string, unknown>;

/** A route as the API shows it, as far as the form needs it. */
export interface StoredRoute {
  name?: string;
  accountId: string;
  channelId: string;
  environment: 'lab' | 'prod';
  agentEndpoint?: string;
  regexFilter?: string;
  priority: number;
  enabled: boolean;
  config: Json;
}

/** What the API shows instead of a secret. */
export const MASK = '***';

/** A route while it is edited. */
export interface RouteDraft {
  name: string;
  accountId: string;
  channelId: string;
  environment: 'lab' | 'prod' | '';
  agentEndpoint: string;
  regexFilter: string;
  priority: number;
  enabled: boolean;
  config: Json;
}

/** A new route with the settings of one agent kind, for the agent that was found. */
export function newDraft(
  kind: string,
  priority: number,
  found: Partial<Pick<RouteDraft, 'channelId' | 'agentEndpoint' | 'config'>> = {},
): RouteDraft {
  return {
    name: '',
    accountId: '',
    channelId: found.channelId ?? '*',
    environment: '',
    agentEndpoint: found.agentEndpoint ?? '',
    regexFilter: '',
    priority,
    enabled: true,
    config: found.config ?? { [kind]: {} },
  };
}

export function draftOf(route: StoredRoute): RouteDraft {
  const { name = '', accountId, channelId, environment, agentEndpoint = '', regexFilter = '' } = route;
  const { priority, enabled, config } = route;
  return { name, accountId, channelId, environment, agentEndpoint, regexFilter, priority, enabled, config };
}

/** The body of POST /api/routes. */
export function newRouteOf(draft: RouteDraft): Json {
  const { channelId, priority, enabled, config } = draft;
  const texts = { name: draft.name, accountId: draft.accountId, environment: draft.environment };
  const more = { agentEndpoint: draft.agentEndpoint, regexFilter: draft.regexFilter };
  const written = Object.entries({ ...texts, ...more }).filter(([, value]) => value !== '');
  return { ...Object.fromEntries(written), channelId, priority, enabled, config };
}

/** The body of PATCH /api/routes/{id}: the fields that differ. */
export function patchOf(before: RouteDraft, after: RouteDraft): Json {
  const patch: Json = {};
  for (const [name, value] of Object.entries(after)) {
    if (name === 'config' || value === before[name as keyof RouteDraft]) continue;
    // An empty text removes the field, where that is possible.
    if (value !== '') patch[name] = value;
    else if (name === 'name' || name === 'regexFilter') patch[name] = null;
  }
  const config = mergePatchOf(before.config, after.config);
  if (Object.keys(config).length > 0) patch.config = config;
  return patch;
}

/** The JSON Merge Patch (RFC 7396) that makes `after` of `before`. */
export function mergePatchOf(before: Json, after: Json): Json {
  const patch: Json = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (JSON.stringify(old) === JSON.stringify(value)) continue;
    patch[name] = isObject(old) && isObject(value) ? mergePatchOf(old, value) : value;
  }
  return patch;
}

/** The config with another value of a field; undefined removes it. */
export function withField(config: Json, name: string, value: unknown): Json {
  const { [name]: _, ...others } = config;
  return value === undefined ? others : { ...config, [name]: value };
}

/** The agent kind of a config. */
export function kindOf(config: Json, kinds: ReadonlyArray<{ name: string }>): string | undefined {
  return kinds.find(({ name }) => name in config)?.name;
}

/** The config for another agent kind: its settings instead of those of the former one. */
export function withKind(config: Json, from: string | undefined, to: string, settings: Json = {}): Json {
  const { [from ?? '']: _, ...common } = config;
  return { [to]: settings, ...common };
}

/** The mistakes of a problem by the path of their field in a route, such as `config.adk.appName`. */
export function mistakesOf(problem: Problem | undefined): ReadonlyArray<{ field: string; message: string }> {
  return (problem?.details ?? []).map(({ field, message }) => ({
    field: plainField(field),
    message,
  }));
}

/** The path of a field in a route, from where a request has it. */
export function plainField(field: string): string {
  return field.replace(/^(create|change\.patch)\./, '').replace(/\[(\d+)\]/g, '.$1');
}

/** What is wrong with a field, or with something in it. */
export function mistakeAt(mistakes: ReturnType<typeof mistakesOf>, field: string): string | undefined {
  return mistakes.find((each) => each.field === field || each.field.startsWith(`${field}.`))?.message;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
