import { z } from 'zod';
import type { RouteConfig } from '../../core/models.ts';
import { mediaField, type VoiceSettings, voiceField } from '../../core/policies/conversation-fields.ts';
import type { ChatSettings } from '../../core/policies/settings.ts';
import type { AgentKind } from './agent-kind.ts';
import { kindNamed, type WireConfig, wireConfigOf } from './route-config.ts';

/** The part of a route that says which agent it calls, and with which secrets. */
export interface AgentOfRoute {
  agentEndpoint: string;
  config: RouteConfig;
}

/** A config whose masks were replaced. Fields are paths such as `config.adk.headers.Authorization`. */
interface Unmasked {
  config: RouteConfig;
  /** Secrets removed because the address of the agent changed and they were not given again. */
  dropped: string[];
  /** Masked fields for which no secret was stored. */
  unknown: string[];
}

/** The config as responses show it: each secret masked. */
export function maskedConfig(kinds: readonly AgentKind[], config: RouteConfig): WireConfig {
  const kind = kindNamed(kinds, config.agent?.kind);
  const shown = withAudioServers(config, () => MASK);
  if (!kind || !config.agent) return wireConfigOf(shown);
  const settings = mapTexts(kind.settings, config.agent.settings, 'password', () => MASK);
  return wireConfigOf({ ...shown, agent: { kind: kind.name, settings } });
}

/**
 * Replaces each mask in `next` with the secret stored in `before`, so that a client can send a response back unchanged.
 * A secret belongs to the addresses it was given for: when the origin of the agent's endpoint or of any other address in
 * the settings changes, the stored secrets are dropped instead. Otherwise a person who can write routes, and does not know
 * the secrets, could make wa2ai send them to another server.
 */
export function unmasked(
  kinds: readonly AgentKind[],
  next: AgentOfRoute,
  before: AgentOfRoute | undefined,
): Unmasked {
  const result: Unmasked = { config: next.config, dropped: [], unknown: [] };
  unmaskAudioServers(result, before?.config);
  const { agent } = next.config;
  const kind = kindNamed(kinds, agent?.kind);
  if (!kind || !agent) return result;
  const stored = before?.config.agent?.kind === kind.name ? before : undefined;
  const secrets = new Map(
    textsOf(kind.settings, stored?.config.agent?.settings, 'password').map(({ path, value }) => [
      path.join('.'),
      value,
    ]),
  );
  const isMoved = stored !== undefined && hasMoved(kind, stored, next);
  const settings = mapTexts(kind.settings, agent.settings, 'password', ({ path, value }) => {
    if (value !== MASK) return value;
    const name = path.join('.');
    const secret = secrets.get(name);
    if (secret !== undefined && !isMoved) return secret;
    (secret === undefined ? result.unknown : result.dropped).push(`config.${kind.name}.${name}`);
    return undefined;
  });
  result.config = { ...result.config, agent: { kind: kind.name, settings } };
  return result;
}

/** The servers of a route that turn speech into text and text into speech; the headers of each belong to its address alone. */
const AUDIO_SERVERS = [
  {
    path: 'media.transcribe',
    schema: mediaField.shape.transcribe,
    read: ({ media }: RouteConfig) => media?.transcribe,
    write: (config: RouteConfig, transcribe: unknown): RouteConfig =>
      ({ ...config, media: { ...config.media, transcribe } }) as RouteConfig,
  },
  {
    path: 'reply.voice',
    schema: voiceField,
    read: ({ reply }: RouteConfig) => reply?.voice,
    write: (config: RouteConfig, voice: unknown): RouteConfig =>
      ({ ...config, reply: { ...config.reply, voice } }) as RouteConfig,
  },
];

/** How wa2ai converses, as responses show it. */
export function maskedChatSettings(settings: ChatSettings): ChatSettings {
  const { voice } = settings.reply;
  if (!voice) return settings;
  const masked = mapTexts(voiceField, voice, 'password', () => MASK) as VoiceSettings;
  return { ...settings, reply: { ...settings.reply, voice: masked } };
}

/** Their addresses. */
export function audioAddressesOf(config: RouteConfig): Array<{ field: string; url: string }> {
  return AUDIO_SERVERS.flatMap(({ path, read }) => {
    const url = read(config)?.url;
    return url === undefined ? [] : [{ field: `config.${path}.url`, url }];
  });
}

function withAudioServers(config: RouteConfig, change: Parameters<typeof mapTexts>[3]): RouteConfig {
  return AUDIO_SERVERS.reduce((changed, { schema, read, write }) => {
    const server = read(changed);
    return server ? write(changed, mapTexts(schema, server, 'password', change)) : changed;
  }, config);
}

function unmaskAudioServers(result: Unmasked, before: RouteConfig | undefined): void {
  for (const { path: name, schema, read, write } of AUDIO_SERVERS) {
    const server = read(result.config);
    if (!server) continue;
    const stored = before && read(before);
    const known = new Map(
      textsOf(schema, stored, 'password').map(({ path, value }) => [path.join('.'), value]),
    );
    const isSame = originOf(server.url) === originOf(stored?.url ?? '');
    const unmaskedServer = mapTexts(schema, server, 'password', ({ path, value }) => {
      if (value !== MASK) return value;
      const field = path.join('.');
      const secret = known.get(field);
      if (secret !== undefined && isSame) return secret;
      (secret === undefined ? result.unknown : result.dropped).push(`config.${name}.${field}`);
      return undefined;
    });
    result.config = write(result.config, unmaskedServer);
  }
}

function hasMoved(kind: AgentKind, before: AgentOfRoute, next: AgentOfRoute): boolean {
  if (originOf(endpointOf(kind, before)) !== originOf(endpointOf(kind, next))) return true;
  const known = new Set(addressesOf(kind, before).map(({ url }) => originOf(url)));
  return addressesOf(kind, next).some(({ url }) => !known.has(originOf(url)));
}

function endpointOf(kind: AgentKind, { agentEndpoint, config }: AgentOfRoute): string {
  return kind.endpointOf(agentEndpoint, config.agent?.settings);
}

/** Every address that the kind may send a request of this route to. */
export function addressesOf(
  kind: AgentKind,
  { agentEndpoint, config }: AgentOfRoute,
): Array<{ field: string; url: string }> {
  const inSettings = textsOf(kind.settings, config.agent?.settings, 'uri').map(({ path, value }) => ({
    field: ['config', kind.name, ...path].join('.'),
    url: value,
  }));
  return [{ field: 'agentEndpoint', url: agentEndpoint }, ...inSettings];
}

/** Of an agent that wa2ai runs, its whole program. */
function originOf(url: string): string {
  return /^https?:/i.test(url) && URL.canParse(url) ? new URL(url).origin : url;
}

/** What responses show for a secret. A client that sends it back leaves the secret unchanged. */
export const MASK = '***';

/** A text in settings, found by the meta of its field. */
interface FoundText {
  /** Path within the settings: `['headers', 'Authorization']`. */
  path: string[];
  value: string;
}

type Format = 'password' | 'uri';

/** The texts in `settings` whose field has this format in the schema of its kind. */
export function textsOf(schema: z.ZodType, settings: unknown, format: Format): FoundText[] {
  const found: FoundText[] = [];
  mapTexts(schema, settings, format, ({ path, value }) => {
    found.push({ path, value });
    return value;
  });
  return found;
}

/**
 * A copy of the settings in which `change` has replaced each text of this format; `undefined` removes the field.
 * Settings that do not fit the schema are copied as they are where they differ.
 */
export function mapTexts(
  schema: z.ZodType,
  settings: unknown,
  format: Format,
  change: (text: FoundText) => string | undefined,
  path: string[] = [],
): unknown {
  const inner = unwrapped(schema);
  if (typeof settings === 'string' && isOf(inner, format)) return change({ path, value: settings });
  if (inner instanceof z.ZodUnion) {
    // Each option sees only what it can contain, so a value is changed once.
    return inner.options.reduce<unknown>(
      (value, option) => mapTexts(option as z.ZodType, value, format, change, path),
      settings,
    );
  }
  if (inner instanceof z.ZodArray && Array.isArray(settings)) {
    const items = settings.map((item, at) =>
      mapTexts(inner.element as z.ZodType, item, format, change, [...path, String(at)]),
    );
    return items.filter((item) => item !== undefined);
  }
  if (!isObject(settings)) return settings;
  const fieldOf = fieldsOf(inner);
  if (!fieldOf) return settings;
  const entries = Object.entries(settings).flatMap(([name, value]) => {
    const field = fieldOf(name);
    const mapped = field ? mapTexts(field, value, format, change, [...path, name]) : value;
    return mapped === undefined ? [] : [[name, mapped]];
  });
  return Object.fromEntries(entries);
}

function fieldsOf(schema: z.ZodType): ((name: string) => z.ZodType | undefined) | undefined {
  if (schema instanceof z.ZodObject) {
    const { shape } = schema;
    return (name) => (Object.hasOwn(shape, name) ? (shape[name] as z.ZodType) : undefined);
  }
  if (schema instanceof z.ZodRecord) return () => schema.valueType as z.ZodType;
  return undefined;
}

/** Without `optional`, `nullable` and `default` around it, unless it has a format itself. */
function unwrapped(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodNullable || inner instanceof z.ZodDefault) {
    inner = inner.unwrap() as z.ZodType;
  }
  return inner;
}

function isOf(schema: z.ZodType, format: Format): boolean {
  if (schema instanceof z.ZodUnion) return false;
  return schema.meta()?.format === format;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
