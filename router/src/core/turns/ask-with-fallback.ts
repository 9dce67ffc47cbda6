import type { AgentClient, AgentClients } from '../agent-client.ts';
import type { BackoffLimits, Clock } from '../clock.ts';
import { RouteDamagedError, Wa2aiError } from '../errors.ts';
import { AgentElsewhereError } from '../hosting/hosting-errors.ts';
import type { Logger } from '../logger.ts';
import type { AgentResponse, FailurePolicy, Route } from '../models.ts';
import { type Said, say } from '../phrases.ts';
import type { Inbox } from '../ports/inbox.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { RemoteTasks } from '../tasks.ts';
import {
  type AskDeps,
  type AskOutcome,
  type AttemptPolicy,
  type AttemptTrace,
  askAgent,
  type CircuitBreakers,
} from './ask-agent.ts';
import { attemptStore } from './attempt-store.ts';
import type { PendingTurn } from './turn.ts';

/** The service's own policy for agents that fail; a route's `failure` settings take precedence. */
export interface FailureDefaults {
  /** Minimum number of attempts, from 1. */
  attempts: number;
  /** Keep retrying an unavailable agent for this long even after the attempts, in milliseconds. Default 0. */
  patienceMs?: number;
  /** Wait before the next attempt, in milliseconds; `attempt` is the one that failed (from 1). */
  backoffMs(attempt: number, retryAfterMs: number | undefined, limits?: BackoffLimits): number;
}

export interface AskWithFallbackDeps {
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  inbox: Pick<Inbox, 'countAttempt'>;
  /** Absent: agents store nothing, and their tasks must end within an attempt. */
  remoteTasks?: RemoteTasks;
  policy: FailureDefaults;
  circuits: CircuitBreakers;
  clock: Clock;
  log: Logger;
  stopping: AbortSignal;
  /** The bytes of the message's file; absent when it has none. */
  loadMedia?: AskDeps['loadMedia'];
  /** A link to it. */
  mediaUrl?: AskDeps['mediaUrl'];
  /** The conversation before the message. */
  loadHistory?: AskDeps['loadHistory'];
  /** A secret by which the agent can answer later. */
  replyToken?: AskDeps['replyToken'];
  /** Sends a text to the chat before the answer. */
  notify?: AskDeps['notify'];
  /** Takes the answer of the route's own agent as far as it is written. */
  onText?: AskDeps['onText'];
  /** Records requests to agents with their answers. */
  recorder?: AskDeps['recorder'];
  /** Gets them. */
  onExchange?: AskDeps['onExchange'];
  /** Gets the error of each attempt that failed. */
  onFailure?: AskDeps['onFailure'];
  /** Called when the agent opens a task that outlives the call. */
  onTask?(): void;
}

/** Limit of all waits together when neither the route nor the service sets a patience. */
const DEFAULT_MAX_WAIT_MS = 120_000;

/** What of a turn an agent needs. */
type AskedTurn = Pick<
  PendingTurn,
  'messageId' | 'accountId' | 'message' | 'earlierAttempts' | 'mayHaveRun' | 'edits' | 'merged'
>;

/** What a turn's trace holds after the route choice: the attempts, and how a failure was handled. */
type AskStep =
  | ({ step: 'agent'; routeId: string; attempts: AttemptTrace[]; outcome: string } & Said)
  | ({ step: 'fallback-route'; routeId: string; outcome: 'called' | FallbackRefusal } & Said)
  | ({ step: 'fallback-text'; routeId: string; outcome: 'sent' } & Said);

type FallbackRefusal = 'missing' | 'disabled' | 'same-route' | 'other-account' | 'other-environment';

/** How a turn's route ended: with the agent's answer, with the route's own text, or without an answer. */
export type RouteAnswer = { steps: AskStep[]; attempts: number; agentMs: number } & (
  | { kind: 'answer'; routeId: string; response: AgentResponse }
  | { kind: 'fallback-text'; routeId: string; text: string; error: Wa2aiError }
  | { kind: 'failed'; routeId: string; error: Wa2aiError; sentence: string }
);

const REFUSALS: Record<FallbackRefusal, Said> = {
  missing: say('fallback.missing'),
  disabled: say('fallback.disabled'),
  'same-route': say('fallback.same-route'),
  'other-account': say('fallback.other-account'),
  'other-environment': say('fallback.other-environment'),
};

/**
 * Calls a route's agent as the route's failure settings say. When it failed, the fallback route gets one attempt, or the
 * fallback text is the reply. A fallback's own fallback is not used, so no two routes can pass a message back and forth.
 * @throws {StorageUnavailableError} the fallback route could not be read or an attempt not be stored; call again with
 *   `isRepeat`
 * @throws {AgentElsewhereError} the agent of the route belongs to another node
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function askWithFallback(
  deps: AskWithFallbackDeps,
  route: Route,
  turn: AskedTurn,
  isRepeat: boolean,
): Promise<RouteAnswer> {
  const policy = route.config.failure ?? {};
  const before = turn.earlierAttempts ?? 0;
  const first = await ask(deps, route, turn, isRepeat, before, attemptPolicyOf(policy, deps.policy));
  const steps: AskStep[] = [stepOf(route, first)];
  const spent = { attempts: first.attempts, agentMs: first.agentMs, steps };
  if (first.kind === 'answer') {
    return { kind: 'answer', routeId: route.id, response: first.response, ...spent };
  }
  const { error } = first;
  if (policy.fallbackText !== undefined) {
    const sentence = say('agent.fallback-text');
    steps.push({ step: 'fallback-text', routeId: route.id, outcome: 'sent', ...sentence });
    return { kind: 'fallback-text', routeId: route.id, text: policy.fallbackText, error, ...spent };
  }
  const failed = { kind: 'failed' as const, routeId: route.id, error };
  if (policy.fallbackRouteId === undefined) return { ...failed, sentence: error.message, ...spent };

  const fallback = await deps.routes.get(policy.fallbackRouteId);
  const refusal = refusalOf(fallback, route);
  if (!fallback || refusal) {
    const sentence = REFUSALS[refusal ?? 'missing'];
    steps.push({
      step: 'fallback-route',
      routeId: policy.fallbackRouteId,
      outcome: refusal ?? 'missing',
      ...sentence,
    });
    return { ...failed, sentence: `${error.message} ${sentence.sentence}`, ...spent };
  }
  const sentence = say('agent.fallback-route');
  steps.push({ step: 'fallback-route', routeId: fallback.id, outcome: 'called', ...sentence });
  const once = { ...fallback.config.failure, attempts: 1, patienceMs: 0 };
  const second = await ask(
    { ...deps, onText: undefined },
    fallback,
    turn,
    isRepeat,
    first.attempts,
    attemptPolicyOf(once, deps.policy),
  ).catch((error: unknown): AskOutcome => {
    // Two agents of two nodes could otherwise pass the chat back and forth.
    if (!(error instanceof AgentElsewhereError)) throw error;
    return { kind: 'failed', error, attempts: first.attempts, agentMs: 0, trace: [] };
  });
  steps.push(stepOf(fallback, second));
  const together = {
    steps,
    attempts: second.attempts,
    agentMs: first.agentMs + second.agentMs,
  };
  if (second.kind === 'answer') {
    return { kind: 'answer', routeId: fallback.id, response: second.response, ...together };
  }
  return {
    ...failed,
    sentence: `${error.message} The fallback route failed too: ${second.error.message}`,
    ...together,
  };
}

async function ask(
  deps: AskWithFallbackDeps,
  route: Route,
  turn: AskedTurn,
  isRepeat: boolean,
  attemptsBefore: number,
  policy: AttemptPolicy,
): Promise<AskOutcome> {
  const client = clientOf(deps, route);
  if (client instanceof Wa2aiError) {
    deps.log.error({ err: client, routeId: route.id }, 'route cannot be used');
    return { kind: 'failed', error: client, attempts: attemptsBefore, agentMs: 0, trace: [] };
  }
  const { messageId, message, mayHaveRun, edits, merged } = turn;
  const settings = route.config.failure?.circuit;
  const circuit = settings && {
    breakers: deps.circuits,
    endpoint: client.agentIdFor?.(message) ?? deps.agents.endpointOf(route),
    settings,
  };
  const countAttempt: AskDeps['countAttempt'] = (attempt, note) =>
    deps.inbox.countAttempt(messageId, attempt, { ...note, edits, ...(merged && { merged }) });
  const store = deps.remoteTasks && attemptStore(deps.remoteTasks, route, turn, deps.onTask);
  const attempts = { ...deps, policy, circuit, isRepeat, mayHaveRun, attemptsBefore, countAttempt, store };
  return askAgent(attempts, client, route.agentEndpoint, message);
}

/** The client of the route's agent, or why there is none. */
function clientOf(deps: AskWithFallbackDeps, route: Route): AgentClient | Wa2aiError {
  if (route.damage !== undefined) return new RouteDamagedError(route.id, route.damage);
  try {
    return deps.agents.clientFor(route);
  } catch (error) {
    if (error instanceof Wa2aiError) return error;
    return new RouteDamagedError(route.id, 'its settings cannot be used', { cause: error });
  }
}

function attemptPolicyOf(policy: FailurePolicy, defaults: FailureDefaults): AttemptPolicy {
  const limits = {
    baseMs: policy.backoffMs,
    maxMs: policy.maxBackoffMs,
    maxRetryAfterMs: policy.maxRetryAfterMs,
  };
  // A route with its own number of attempts or a fallback does not make the person wait.
  const isDecided = [policy.attempts, policy.fallbackRouteId, policy.fallbackText].some(
    (field) => field !== undefined,
  );
  return {
    attempts: policy.attempts ?? defaults.attempts,
    patienceMs: policy.patienceMs ?? (isDecided ? 0 : defaults.patienceMs),
    maxWaitMs: maxWaitOf(policy, defaults),
    ...(policy.uncertain && { uncertain: policy.uncertain }),
    backoffMs: (attempt, retryAfterMs) => defaults.backoffMs(attempt, retryAfterMs, limits),
  };
}

/** Without its own patience a route accepts that of the service, or one `Retry-After` that it accepts itself. */
function maxWaitOf({ patienceMs, maxRetryAfterMs = 0 }: FailurePolicy, defaults: FailureDefaults): number {
  return patienceMs ?? Math.max(defaults.patienceMs || DEFAULT_MAX_WAIT_MS, maxRetryAfterMs);
}

function refusalOf(fallback: Route | undefined, route: Route): FallbackRefusal | undefined {
  if (!fallback) return 'missing';
  if (fallback.id === route.id) return 'same-route';
  if (fallback.accountId !== route.accountId) return 'other-account';
  if (fallback.environment !== route.environment) return 'other-environment';
  return fallback.enabled ? undefined : 'disabled';
}

function stepOf(route: Route, outcome: AskOutcome): AskStep {
  const isAnswer = outcome.kind === 'answer';
  return {
    step: 'agent',
    routeId: route.id,
    attempts: outcome.trace,
    outcome: isAnswer ? 'answered' : outcome.error.code,
    ...(isAnswer ? say('agent.answered') : outcome.error.said),
  };
}
