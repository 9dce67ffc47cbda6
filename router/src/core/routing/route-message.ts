import type { Environment, Route } from '../models.ts';
import type { NamedRoute } from '../playground/named-route.ts';
import type { ConversationSettings } from '../policies/conversation-fields.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { TextMatcher } from '../ports/text-matcher.ts';
import {
  allHold,
  chooseRoute,
  inRouteOrder,
  isInPlay,
  type MatchResult,
  type RouteChoice,
  type RouteQuery,
  type TraceEntry,
} from './route-table.ts';
import { type Condition, evaluateWhen } from './when.ts';
import { type MessageToRoute, type WhenFactsDeps, WhenFactsOf, whenOf } from './when-facts.ts';

export type { RouteChoice } from './route-table.ts';

export interface RouteDeps extends WhenFactsDeps {
  routes: Pick<RouteStore, 'candidates'>;
  matcher: TextMatcher;
  environment: Environment;
  /** The route that the chat names instead of the table. Absent: no chat does. */
  namedRoute?(chat: { accountId: string; channelIds: readonly string[] }): Promise<NamedRoute | undefined>;
  /** The stored defaults of all routes. */
  conversation(): Promise<ConversationSettings>;
}

/** Entries of a trace that are stored with a message. */
const MAX_TRACE = 50;

/**
 * Chooses the route of a message. Conditions and patterns are evaluated in route order and only until a route takes the
 * message; the trace has at most 50 entries, the winner's among them.
 * @throws {StorageUnavailableError} the table, the settings or the chat could not be read
 */
export async function routeMessage(deps: RouteDeps, message: MessageToRoute): Promise<RouteChoice> {
  const { accountId, channelIds } = message;
  const named = await deps.namedRoute?.(message);
  if (named) return choiceOfNamed(named);
  const query = { accountId, environment: deps.environment, channelIds };
  const candidates = await deps.routes.candidates(query);
  const { matches, conditions } = await evaluateInOrder(deps, candidates, query, message);
  const choice = chooseRoute(candidates, query, matches, conditions);
  return { ...choice, trace: shortened(choice.trace) };
}

/** The choice of a chat that names its route, whatever else the route asks for. */
export function choiceOfNamed({ routeId, route }: NamedRoute): RouteChoice {
  if (!route) return { kind: 'none', reason: 'no-route', trace: [] };
  const { name, channelId, priority } = route;
  const sentence = 'The chat of the playground names this route.';
  const entry = { routeId, channelId, priority, outcome: 'chosen' as const, sentence };
  return { kind: 'route', route, trace: [{ ...entry, ...(name !== undefined && { name }) }] };
}

/** What `chooseRoute` needs to know of each rule. */
export interface Evaluated {
  matches: Map<string, MatchResult>;
  conditions: Map<string, Condition[]>;
}

/**
 * Evaluates the conditions and the pattern of rules in play, in route order, up to and including the first rule that takes the
 * message. The pattern of a rule whose conditions do not hold is not tested.
 */
export async function evaluateInOrder(
  deps: Pick<RouteDeps, 'matcher' | 'conversation' | keyof WhenFactsDeps>,
  candidates: readonly Route[],
  query: RouteQuery,
  message: MessageToRoute,
): Promise<Evaluated> {
  const matches = new Map<string, MatchResult>();
  const conditions = new Map<string, Condition[]>();
  const defaults = await deps.conversation();
  const facts = new WhenFactsOf(deps, message);
  for (const route of inRouteOrder(candidates)) {
    if (!isInPlay(route, query)) continue;
    const when = whenOf(route.config, defaults);
    if (when) {
      const found = evaluateWhen(when, route.id, await facts.for(when));
      conditions.set(route.id, found);
      if (!allHold(found)) continue;
    }
    if (!route.regexFilter) break;
    const result = await deps.matcher.test(route.regexFilter, message.message.text);
    matches.set(route.id, result);
    if (result === 'match') break;
  }
  return { matches, conditions };
}

/** As it is stored: a sentence names the conditions that do not hold, and the others are left out. */
function shortened(trace: TraceEntry[]): TraceEntry[] {
  const entries = trace.map(({ conditions: _, ...entry }) => entry);
  if (entries.length <= MAX_TRACE) return entries;
  const chosen = entries.findIndex((entry) => entry.outcome === 'chosen');
  const head = entries.slice(0, MAX_TRACE);
  return chosen < MAX_TRACE ? head : [...head.slice(1), entries[chosen] as TraceEntry];
}
