import { ANY_CHANNEL } from '../chat-id.ts';
import type { Environment, Route } from '../models.ts';
import { type Said, say } from '../phrases.ts';
import type { Condition } from './when.ts';

/** The result of a rule's pattern on the text. */
export type MatchResult = 'match' | 'no-match' | 'timeout' | 'invalid';

/** The chat of a received message. `channelIds` are all canonical addresses of its chat (a person's number and LID). */
export interface RouteQuery {
  accountId: string;
  environment: Environment;
  channelIds: readonly string[];
}

type RouteOutcome =
  | 'chosen'
  | 'not-reached'
  | 'when-not-met'
  | 'no-match'
  | 'regex-timeout'
  | 'regex-invalid'
  | 'disabled'
  | 'other-environment'
  | 'other-chat'
  | 'other-account';

/** The outcome of one rule; `sentence` is ready to show to an admin and contains no message text. */
export interface TraceEntry extends Said {
  routeId: string;
  name?: string;
  channelId: string;
  priority: number;
  outcome: RouteOutcome;
  /** Of its `when`, when it was evaluated. */
  conditions?: Condition[];
}

/**
 * Why no rule took a message: `no-route` none is for this chat, account and environment · `disabled` those that are
 * are switched off · `when-not-met` the conditions of none hold · `no-match` no pattern matched · `regex-timeout` none matched
 * and at least one took too long · `regex-invalid` every pattern is broken.
 */
export type NoRouteReason =
  | 'no-route'
  | 'disabled'
  | 'when-not-met'
  | 'no-match'
  | 'regex-timeout'
  | 'regex-invalid';

/** `trace` has one entry for each rule, in the order in which rules are evaluated. */
export type RouteChoice =
  | { kind: 'route'; route: Route; trace: TraceEntry[] }
  | { kind: 'none'; reason: NoRouteReason; trace: TraceEntry[] };

/**
 * The order in which rules are evaluated: those of a chat before the wildcard, then higher priority, then the older one
 * (`createdAt`, then `id`). Total: the same rules give the same order however they come.
 */
export function inRouteOrder(routes: readonly Route[]): Route[] {
  return [...routes].sort(
    (a, b) =>
      Number(a.channelId === ANY_CHANNEL) - Number(b.channelId === ANY_CHANNEL) ||
      b.priority - a.priority ||
      a.createdAt.getTime() - b.createdAt.getTime() ||
      compare(a.id, b.id),
  );
}

/**
 * Chooses the rule for a message: the first in route order that is for its account, environment and chat, is enabled,
 * whose conditions, if any, hold, and whose pattern, if any, matches.
 * @param matches results of `regexFilter` by route id. Rules after the winner need none; a pattern without a result
 *   counts as not matching, so a rule that was not evaluated is never chosen
 * @param conditions results of `when` by route id, also of the defaults of all routes; likewise
 */
export function chooseRoute(
  candidates: readonly Route[],
  query: RouteQuery,
  matches: ReadonlyMap<string, MatchResult>,
  conditions: ReadonlyMap<string, Condition[]> = new Map(),
): RouteChoice {
  let winner: Route | undefined;
  const trace = inRouteOrder(candidates).map((route): TraceEntry => {
    const outcome = winner ? 'not-reached' : outcomeOf(route, query, matches, conditions);
    if (outcome === 'chosen') winner = route;
    const { id: routeId, name, channelId, priority } = route;
    const own = outcome === 'not-reached' ? undefined : conditions.get(routeId);
    return {
      routeId,
      ...(name !== undefined && { name }),
      channelId,
      priority,
      outcome,
      ...(outcome === 'when-not-met' ? whyNot(own) : SENTENCES[outcome]),
      ...(own && { conditions: own }),
    };
  });
  return winner ? { kind: 'route', route: winner, trace } : { kind: 'none', reason: reasonOf(trace), trace };
}

/** Whether a rule is evaluated on a message's text at all. */
export function isInPlay(route: Route, query: RouteQuery): boolean {
  return outOfPlay(route, query) === undefined;
}

function outcomeOf(
  route: Route,
  query: RouteQuery,
  matches: ReadonlyMap<string, MatchResult>,
  conditions: ReadonlyMap<string, Condition[]>,
): RouteOutcome {
  const out = outOfPlay(route, query);
  if (out) return out;
  const own = conditions.get(route.id);
  if (own ? !allHold(own) : route.config.when) return 'when-not-met';
  if (!route.regexFilter) return 'chosen';
  switch (matches.get(route.id)) {
    case 'match':
      return 'chosen';
    case 'timeout':
      return 'regex-timeout';
    case 'invalid':
      return 'regex-invalid';
    default:
      return 'no-match';
  }
}

function outOfPlay(route: Route, query: RouteQuery): RouteOutcome | undefined {
  if (route.accountId !== query.accountId) return 'other-account';
  if (route.channelId !== ANY_CHANNEL && !query.channelIds.includes(route.channelId)) return 'other-chat';
  if (route.environment !== query.environment) return 'other-environment';
  return route.enabled ? undefined : 'disabled';
}

function reasonOf(trace: readonly TraceEntry[]): NoRouteReason {
  const outcomes = new Set(trace.map((entry) => entry.outcome));
  if (outcomes.has('regex-timeout')) return 'regex-timeout';
  if (outcomes.has('no-match')) return 'no-match';
  if (outcomes.has('when-not-met')) return 'when-not-met';
  if (outcomes.has('regex-invalid')) return 'regex-invalid';
  return outcomes.has('disabled') ? 'disabled' : 'no-route';
}

/** Whether the conditions of a rule hold. */
export function allHold(conditions: readonly Condition[]): boolean {
  return conditions.every(({ holds }) => holds);
}

/** Names the conditions that do not hold. */
function whyNot(conditions: readonly Condition[] = []): Said {
  const failed = conditions.filter(({ holds }) => !holds);
  return failed.length === 0
    ? SENTENCES['when-not-met']
    : say('rule.when-not-met-why', { conditions: failed });
}

const SENTENCES: Record<RouteOutcome, Said> = {
  chosen: say('rule.takes'),
  'not-reached': say('rule.not-reached'),
  'when-not-met': say('rule.when-not-met'),
  'no-match': say('rule.no-match'),
  'regex-timeout': say('rule.regex-timeout'),
  'regex-invalid': say('rule.regex-invalid'),
  disabled: say('rule.disabled'),
  'other-environment': say('rule.other-environment'),
  'other-chat': say('rule.other-chat'),
  'other-account': say('rule.other-account'),
};

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
