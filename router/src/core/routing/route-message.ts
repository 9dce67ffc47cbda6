import { ANY_CHANNEL, writtenForms } from '../chat-id.ts';
import type { Environment, Route } from '../models.ts';
import { type Said, say } from '../phrases.ts';
import type { NamedRoute } from '../playground/playground-account.ts';
import type { ConversationSettings, TranscribeSettings } from '../policies/conversation-fields.ts';
import { type ChatSettings, chatSettingsOf, originsOf, type SettingOrigin } from '../policies/settings.ts';
import type { TextMatcher } from '../ports/converters.ts';
import type { RouteStore } from '../ports/route-store.ts';
import {
  type Condition,
  evaluateWhen,
  type MessageToRoute,
  type WhenFactsDeps,
  WhenFactsOf,
  whenOf,
} from './when.ts';

export interface RouteDeps extends WhenFactsDeps {
  routes: Pick<RouteStore, 'candidates'>;
  matcher: TextMatcher;
  environment: Environment;
  /** The route that the chat names instead of the table. Absent: no chat does. */
  namedRoute?(chat: { accountId: string; channelIds: readonly string[] }): Promise<NamedRoute | undefined>;
  /** The stored defaults of all routes. */
  conversation(): Promise<ConversationSettings>;
}

/**
 * The message with the words of its voice message as the text, by the settings of the first route in order, from the one that
 * needs them on, that has any.
 */
type Transcribe = (settings: TranscribeSettings) => Promise<MessageToRoute>;

/** Entries of a trace that are stored with a message. */
const MAX_TRACE = 50;

/**
 * Chooses the route of a message. Conditions and patterns are evaluated in route order and only until a route takes the
 * message; the trace has at most 50 entries, the winner's among them.
 * @param transcribe asked at most once, before the first pattern or language is evaluated. Absent: the text is all there is
 * @throws {StorageUnavailableError} the table, the settings or the chat could not be read
 */
export async function routeMessage(
  deps: RouteDeps,
  message: MessageToRoute,
  transcribe?: Transcribe,
): Promise<RouteChoice> {
  const { accountId, channelIds } = message;
  const named = await deps.namedRoute?.(message);
  if (named) return choiceOfNamed(named);
  const query = { accountId, environment: deps.environment, channelIds: writtenForms(channelIds) };
  const candidates = await deps.routes.candidates(query);
  const { matches, conditions } = await evaluateInOrder(deps, candidates, query, message, transcribe);
  const choice = chooseRoute(candidates, query, matches, conditions);
  return { ...choice, trace: shortened(choice.trace) };
}

/** The choice of a chat that names its route, whatever else the route asks for. */
export function choiceOfNamed({ routeId, route }: NamedRoute): RouteChoice {
  if (!route) return { kind: 'none', reason: 'no-route', trace: [] };
  const { name, channelId, priority } = route;
  const sentence = say('rule.named-by-playground');
  const entry = { routeId, channelId, priority, outcome: 'chosen' as const, ...sentence };
  return { kind: 'route', route, trace: [{ ...entry, ...(name !== undefined && { name }) }] };
}

/** What `chooseRoute` needs to know of each rule. */
interface Evaluated {
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
  transcribe?: Transcribe,
): Promise<Evaluated> {
  const matches = new Map<string, MatchResult>();
  const conditions = new Map<string, Condition[]>();
  const defaults = await deps.conversation();
  const inPlay = inRouteOrder(candidates).filter((route) => isInPlay(route, query));
  const words = new LazyTranscript(deps, message, transcribe);
  for (const [index, route] of inPlay.entries()) {
    const when = whenOf(route.config, defaults);
    if (when) {
      let found = evaluateWhen(when, route.id, await words.facts.for(when));
      if (needsWords(found) && (await words.transcribe(inPlay.slice(index)))) {
        found = evaluateWhen(when, route.id, await words.facts.for(when));
      }
      conditions.set(route.id, found);
      if (!allHold(found)) continue;
    }
    if (!route.regexFilter) break;
    await words.transcribe(inPlay.slice(index));
    const result = await deps.matcher.test(route.regexFilter, words.text);
    matches.set(route.id, result);
    if (result === 'match') break;
  }
  return { matches, conditions };
}

/** The text of a message while its route is chosen: that of a voice message comes when it is needed. */
class LazyTranscript {
  readonly #deps: WhenFactsDeps;
  #message: MessageToRoute;
  #transcribe: Transcribe | undefined;
  facts: WhenFactsOf;

  constructor(deps: WhenFactsDeps, message: MessageToRoute, transcribe: Transcribe | undefined) {
    this.#deps = deps;
    this.#message = message;
    this.#transcribe = transcribe;
    this.facts = new WhenFactsOf(deps, message);
  }

  get text(): string {
    return this.#message.message.text;
  }

  /** @returns whether the text was asked for now */
  async transcribe(routes: readonly Route[]): Promise<boolean> {
    const settings = routes.find(({ config }) => config.media?.transcribe)?.config.media?.transcribe;
    if (!this.#transcribe || !settings) return false;
    this.#message = await this.#transcribe(settings);
    this.#transcribe = undefined;
    this.facts = new WhenFactsOf(this.#deps, this.#message);
    return true;
  }
}

/** Whether only the language keeps the conditions from holding. */
function needsWords(conditions: readonly Condition[]): boolean {
  const failed = conditions.filter(({ holds }) => !holds);
  return failed.length > 0 && failed.every(({ condition }) => condition === 'languages');
}

/** As it is stored: a sentence names the conditions that do not hold, and the others are left out. */
function shortened(trace: TraceEntry[]): TraceEntry[] {
  const entries = trace.map(({ conditions: _, ...entry }) => entry);
  if (entries.length <= MAX_TRACE) return entries;
  const chosen = entries.findIndex((entry) => entry.outcome === 'chosen');
  const head = entries.slice(0, MAX_TRACE);
  return chosen < MAX_TRACE ? head : [...head.slice(1), entries[chosen] as TraceEntry];
}

/** How wa2ai converses in a chat, and who decided about each value. */
export interface PolicyOfChat {
  /** The route that takes the message; absent when none does. */
  route?: { id: string; name?: string; channelId: string };
  /** Why no route takes it. */
  reason?: NoRouteReason;
  settings: ChatSettings;
  /** By path: `reply.format`. */
  origins: Record<string, SettingOrigin>;
}

/**
 * The settings that apply to a message. Where no route takes it, they are the defaults.
 * @throws {StorageUnavailableError} routes or settings could not be read
 */
export async function policyOfChat(deps: RouteDeps, message: MessageToRoute): Promise<PolicyOfChat> {
  const choice = await routeMessage(deps, message);
  const route = choice.kind === 'route' ? choice.route : undefined;
  const defaults = await deps.conversation();
  return {
    ...(route && {
      route: {
        id: route.id,
        ...(route.name !== undefined && { name: route.name }),
        channelId: route.channelId,
      },
    }),
    ...(choice.kind === 'none' && { reason: choice.reason }),
    settings: chatSettingsOf(route, defaults),
    origins: originsOf(route, defaults),
  };
}

/**
 * The command that adds a first route for an account: every chat, answered by an ADK agent on this machine. Pure.
 * @param url where the REST API is
 */
export function firstRouteCommand(url: string, accountId: string, environment: string): string {
  const route = {
    accountId,
    channelId: '*',
    agentEndpoint: 'http://localhost:8000',
    environment,
    config: { adk: { appName: 'my_agent' } },
  };
  return `curl -X POST ${url}/api/routes -H 'Content-Type: application/json' -d '${JSON.stringify(route)}'`;
}

/** The result of a rule's pattern on the text. */
export type MatchResult = 'match' | 'no-match' | 'timeout' | 'invalid';

/** The chat of a received message. `channelIds` are all canonical addresses of its chat (a person's number and LID). */
interface RouteQuery {
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
type RouteChoice =
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
function allHold(conditions: readonly Condition[]): boolean {
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
