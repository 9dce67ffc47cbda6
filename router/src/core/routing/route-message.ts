import type { Environment, Route } from '../models.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { TextMatcher } from '../ports/text-matcher.ts';
import {
  chooseRoute,
  inRouteOrder,
  isInPlay,
  type MatchResult,
  type RouteChoice,
  type RouteQuery,
  type TraceEntry,
} from './route-table.ts';

export type { RouteChoice } from './route-table.ts';

export interface RouteDeps {
  routes: RouteStore;
  matcher: TextMatcher;
  environment: Environment;
}

/** Entries of a trace that are stored with a message. */
const MAX_TRACE = 50;

/**
 * Chooses the route of a message. Patterns are tested in route order and only until one
 * matches; the trace has at most 50 entries, the winner's among them.
 * @throws {StorageUnavailableError} the table could not be read
 */
export async function routeMessage(
  deps: RouteDeps,
  turn: { accountId: string; channelIds: string[]; message: { text: string } },
): Promise<RouteChoice> {
  const query = {
    accountId: turn.accountId,
    environment: deps.environment,
    channelIds: turn.channelIds,
  };
  const candidates = await deps.routes.candidates(query);
  const matches = await testInOrder(deps.matcher, candidates, query, turn.message.text);
  const choice = chooseRoute(candidates, query, matches);
  return { ...choice, trace: shortened(choice.trace) };
}

/** Tests the patterns of rules in play, in route order, up to and including the first rule that takes the text. */
export async function testInOrder(
  matcher: TextMatcher,
  candidates: readonly Route[],
  query: RouteQuery,
  text: string,
): Promise<Map<string, MatchResult>> {
  const matches = new Map<string, MatchResult>();
  for (const route of inRouteOrder(candidates)) {
    if (!isInPlay(route, query)) continue;
    if (!route.regexFilter) break;
    const result = await matcher.test(route.regexFilter, text);
    matches.set(route.id, result);
    if (result === 'match') break;
  }
  return matches;
}

function shortened(trace: TraceEntry[]): TraceEntry[] {
  if (trace.length <= MAX_TRACE) return trace;
  const chosen = trace.findIndex((entry) => entry.outcome === 'chosen');
  const head = trace.slice(0, MAX_TRACE);
  return chosen < MAX_TRACE ? head : [...head.slice(1), trace[chosen] as TraceEntry];
}
