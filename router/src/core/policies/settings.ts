import { ANY_CHANNEL } from '../chat-id.ts';
import { BUILT_IN, type ConversationSettings, conversationDefaultFields } from './conversation-fields.ts';

/** The settings that apply to a chat, complete. */
export type ChatSettings = typeof BUILT_IN;

/** Who decided about a value: the route, the default of all routes, or wa2ai. */
export type SettingOrigin = 'route' | 'default' | 'built-in';

/** The settings that belong to a route, and the chat that it is for. */
interface SettingsOfRoute {
  channelId: string;
  config: ConversationSettings & { agent?: { kind: string } };
}

/**
 * The settings of a chat: those of its route, else the default of all routes, else wa2ai's own; field by field.
 * @param route absent: the chat has no route
 */
export function chatSettingsOf(
  route: SettingsOfRoute | undefined,
  defaults: ConversationSettings,
): ChatSettings {
  const merged = Object.entries(builtInOf(route)).map(([name, builtIn]) => {
    const [own, common] = [fieldOf(route?.config, name), fieldOf(defaults, name)];
    return [
      name,
      isObject(builtIn) ? { ...builtIn, ...given(common), ...given(own) } : (own ?? common ?? builtIn),
    ];
  });
  return Object.fromEntries(merged) as ChatSettings;
}

/** Where each value of `chatSettingsOf` comes from, by its path: `reply.format`. */
export function originsOf(
  route: SettingsOfRoute | undefined,
  defaults: ConversationSettings,
): Record<string, SettingOrigin> {
  const origins: Record<string, SettingOrigin> = {};
  for (const [name, value] of Object.entries(chatSettingsOf(route, defaults))) {
    for (const field of isObject(value) ? Object.keys(value) : [undefined]) {
      const path = field === undefined ? name : `${name}.${field}`;
      const isIn = (settings: ConversationSettings | undefined) => {
        const found = fieldOf(settings, name);
        return (field === undefined ? found : given(found)[field]) !== undefined;
      };
      origins[path] = isIn(route?.config) ? 'route' : isIn(defaults) ? 'default' : 'built-in';
    }
  }
  return origins;
}

/** Settings as they are stored; what this version does not know or accept is left out. */
export function storedConversation(stored: unknown): ConversationSettings {
  if (!isObject(stored)) return {};
  const known = Object.entries(conversationDefaultFields).flatMap(([name, field]) => {
    const parsed = field.safeParse(stored[name]);
    return parsed.success && parsed.data !== undefined ? [[name, parsed.data] as const] : [];
  });
  return Object.fromEntries(known);
}

/** The kind of language models. Without a pause they answer each line of a person separately. */
const LANGUAGE_MODEL = 'openai';
const MODEL_DEBOUNCE_MS = 1_500;

/** A route for one group answers all its messages. Lines in a row are one question to a language model. */
function builtInOf(route: SettingsOfRoute | undefined): ChatSettings {
  if (!route) return BUILT_IN;
  const { channelId, config } = route;
  return {
    ...BUILT_IN,
    ...(channelId !== ANY_CHANNEL && { group: { ...BUILT_IN.group, answer: 'always' } }),
    ...(config.agent?.kind === LANGUAGE_MODEL && {
      pace: { ...BUILT_IN.pace, debounceMs: MODEL_DEBOUNCE_MS },
    }),
  };
}

function fieldOf(settings: ConversationSettings | undefined, name: string): unknown {
  return (settings as Record<string, unknown> | undefined)?.[name];
}

/** The fields of an object that have a value. */
function given(value: unknown): Record<string, unknown> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
