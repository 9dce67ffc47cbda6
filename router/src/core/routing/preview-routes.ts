import { ANY_CHANNEL } from '../chat-id.ts';
import type { Route } from '../models.ts';
import type { Clock } from '../ports/clock.ts';
import { type RouteDeps, routeMessage } from './route-message.ts';
import type { NoRouteReason } from './route-table.ts';
import type { MessageToRoute, StoredMessageToRoute } from './when-facts.ts';

export interface PreviewDeps extends Omit<RouteDeps, 'routes'> {
  clock: Pick<Clock, 'monotonicMs'>;
}

/** The route table as it is, and as it would be. */
export interface TablesToCompare {
  before: readonly Route[];
  after: readonly Route[];
}

/** The route that takes a message, or why none does. */
export type PreviewChoice = { routeId: string } | { reason: NoRouteReason };

/** What a changed table would do to messages. */
export interface RoutePreview {
  /** Number of messages that were evaluated with both tables: the first ones. */
  checked: number;
  /** Whether these are all; `false`: the time was over. */
  isComplete: boolean;
  /** Messages by their routes, the largest group first. */
  groups: Array<{ before: PreviewChoice; after: PreviewChoice; messages: number }>;
  /** Messages whose route, or whose reason for having none, would be another one; in the given order. */
  changed: Array<{ message: StoredMessageToRoute; before: PreviewChoice; after: PreviewChoice }>;
}

/**
 * Evaluates stored messages with two tables, as `routeMessage` does for a received one: with the tags that chats have now, and
 * at the time when the message was received. Stores and sends nothing.
 * @param limitMs no message is begun later than this
 * @throws {StorageUnavailableError} the settings or a chat could not be read
 */
export async function previewRoutes(
  deps: PreviewDeps,
  tables: TablesToCompare,
  messages: readonly StoredMessageToRoute[],
  limitMs: number,
): Promise<RoutePreview> {
  const untilMs = deps.clock.monotonicMs() + limitMs;
  const isOver = () => deps.clock.monotonicMs() > untilMs;
  const conversation = await deps.conversation();
  const common = { ...deps, conversation: async () => conversation };
  const [before, after] = [withTable(common, tables.before), withTable(common, tables.after)];
  const groups = new Map<string, RoutePreview['groups'][number]>();
  const preview: RoutePreview = { checked: 0, isComplete: true, groups: [], changed: [] };
  for (const message of messages) {
    const once = evaluatedOnce(common, isOver);
    const was = await choiceOf({ ...before, ...once }, message);
    const would = await choiceOf({ ...after, ...once }, message);
    if (isOver()) {
      preview.isComplete = false;
      break;
    }
    preview.checked += 1;
    const [from, to] = [JSON.stringify(was), JSON.stringify(would)];
    const group = groups.get(`${from} ${to}`) ?? { before: was, after: would, messages: 0 };
    group.messages += 1;
    groups.set(`${from} ${to}`, group);
    if (from !== to) preview.changed.push({ message, before: was, after: would });
  }
  preview.groups = [...groups.values()].sort((a, b) => b.messages - a.messages);
  return preview;
}

async function choiceOf(deps: RouteDeps, message: MessageToRoute): Promise<PreviewChoice> {
  const choice = await routeMessage(deps, message);
  return choice.kind === 'route' ? { routeId: choice.route.id } : { reason: choice.reason };
}

/** The same with these routes instead of the stored ones. */
function withTable(deps: PreviewDeps, table: readonly Route[]): RouteDeps {
  const { namedRoute } = deps;
  return {
    ...deps,
    routes: {
      candidates: async ({ accountId, environment, channelIds }) =>
        table.filter(
          (route) =>
            route.accountId === accountId &&
            route.environment === environment &&
            (route.channelId === ANY_CHANNEL || channelIds.includes(route.channelId)),
        ),
    },
    ...(namedRoute && {
      namedRoute: async (chat) => {
        const named = await namedRoute(chat);
        const route = table.find(({ id }) => id === named?.routeId);
        return named && { routeId: named.routeId, ...(route && { route }) };
      },
    }),
  };
}

/**
 * What both tables ask of one message is read once. When the time is over, patterns are not tested any more: the result is not
 * used then.
 */
function evaluatedOnce(
  { matcher, chatStore, languages }: Pick<PreviewDeps, 'matcher' | 'chatStore' | 'languages'>,
  isOver: () => boolean,
): Pick<RouteDeps, 'matcher' | 'chatStore' | 'languages'> {
  const known = new Map<string, Promise<unknown>>();
  const once = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const found = known.get(key) ?? read();
    known.set(key, found);
    return found as Promise<T>;
  };
  return {
    matcher: {
      test: async (pattern, text) =>
        isOver() ? 'timeout' : once(`pattern ${pattern}`, () => matcher.test(pattern, text)),
    },
    chatStore: { routeFacts: (...chat) => once('facts', () => chatStore.routeFacts(...chat)) },
    languages: { languageOf: async (text) => once('language', async () => languages.languageOf(text)) },
  };
}
