import type { AgentClient, AgentClients } from '../agent-client.ts';
import { RouteDamagedError, Wa2aiError } from '../errors.ts';
import type { AgentResponse, FailurePolicy, Route } from '../models.ts';
import type { Clock } from '../ports/clock.ts';
import type { PendingTurn } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { BackoffLimits } from '../retry.ts';
import { type AskOutcome, type AskPolicy, type AskTrace, askAgent } from './ask-agent.ts';
import type { CircuitBreakers } from './circuit-breaker.ts';

/** The service's own way with agents that fail; a route's `failure` settings go before it. */
export interface FailureDefaults {
  /** Asks in all, at least 1. */
  attempts: number;
  /** How long an agent that is away is asked again although the asks are used up, in milliseconds. Default 0. */
  patienceMs?: number;
  /** Wait before the next ask, in milliseconds; `attempt` is the one that failed (from 1). */
  backoffMs(attempt: number, retryAfterMs: number | undefined, limits?: BackoffLimits): number;
}

export interface AskRouteDeps {
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  policy: FailureDefaults;
  circuits: CircuitBreakers;
  clock: Clock;
  log: Logger;
  stopping: AbortSignal;
  /** The bytes of the message's file; absent when it has none. */
  loadMedia?(): Promise<Uint8Array>;
}

/** What a turn's trace holds after the route choice: who was asked how often, and how the failure was met. */
export type AskStep =
  | { step: 'agent'; routeId: string; asks: AskTrace[]; outcome: string; sentence: string }
  | { step: 'fallback-route'; routeId: string; outcome: 'asked' | FallbackRefusal; sentence: string }
  | { step: 'fallback-text'; routeId: string; outcome: 'sent'; sentence: string };

type FallbackRefusal = 'missing' | 'disabled' | 'same-route' | 'other-account' | 'other-environment';

/** How a route's question ended: by an agent, by the route's own text, or for good without an answer. */
export type RouteAnswer = { steps: AskStep[]; attempts: number; agentMs: number } & (
  | { kind: 'answer'; routeId: string; response: AgentResponse }
  | { kind: 'fallback-text'; routeId: string; text: string; error: Wa2aiError }
  | { kind: 'failed'; routeId: string; error: Wa2aiError; sentence: string }
);

const REFUSALS: Record<FallbackRefusal, string> = {
  missing: 'The fallback route does not exist any more.',
  disabled: 'The fallback route is switched off.',
  'same-route': 'The fallback route is this route itself.',
  'other-account': 'The fallback route belongs to another WhatsApp account.',
  'other-environment': 'The fallback route is of another environment.',
};

/**
 * Asks a route's agent as the route's failure settings say, and, when it failed for good, the fallback route once or
 * gives the fallback text. A fallback's own fallback is not followed, so no two routes can send a message round.
 * @throws {StorageUnavailableError} the fallback route could not be read; ask again with `isRepeat`
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function askRoute(
  deps: AskRouteDeps,
  route: Route,
  turn: PendingTurn,
  isRepeat: boolean,
): Promise<RouteAnswer> {
  const policy = route.config.failure ?? {};
  const first = await ask(deps, route, turn, isRepeat, askPolicyOf(policy, deps.policy));
  const steps: AskStep[] = [stepOf(route, first)];
  const spent = { attempts: first.attempts, agentMs: first.agentMs, steps };
  if (first.kind === 'answer') {
    return { kind: 'answer', routeId: route.id, response: first.response, ...spent };
  }
  const { error } = first;
  if (policy.fallbackText !== undefined) {
    const sentence = "The agent failed for good; the route's fallback text is the answer.";
    steps.push({ step: 'fallback-text', routeId: route.id, outcome: 'sent', sentence });
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
      sentence,
    });
    return { ...failed, sentence: `${error.message} ${sentence}`, ...spent };
  }
  const sentence = 'The agent failed for good; the fallback route is asked once.';
  steps.push({ step: 'fallback-route', routeId: fallback.id, outcome: 'asked', sentence });
  const second = await ask(deps, fallback, turn, isRepeat, {
    ...deps.policy,
    attempts: 1,
    patienceMs: 0,
  });
  steps.push(stepOf(fallback, second));
  const together = {
    steps,
    attempts: first.attempts + second.attempts,
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
  deps: AskRouteDeps,
  route: Route,
  turn: PendingTurn,
  isRepeat: boolean,
  policy: AskPolicy,
): Promise<AskOutcome> {
  const settings = route.config.failure?.circuit;
  const circuit = settings && { breakers: deps.circuits, endpoint: deps.agents.endpointOf(route), settings };
  const client = clientOf(deps, route);
  if (client instanceof Wa2aiError) {
    deps.log.error({ err: client, routeId: route.id }, 'a route cannot be used');
    return { kind: 'failed', error: client, attempts: 0, agentMs: 0, asks: [] };
  }
  return askAgent({ ...deps, policy, circuit, isRepeat }, client, route.agentEndpoint, turn.message);
}

/** The client of the route's agent, or why there can be none. */
function clientOf(deps: AskRouteDeps, route: Route): AgentClient | Wa2aiError {
  if (route.damage !== undefined) return new RouteDamagedError(route.id, route.damage);
  try {
    return deps.agents.clientFor(route);
  } catch (error) {
    if (error instanceof Wa2aiError) return error;
    return new RouteDamagedError(route.id, 'its settings make no client', { cause: error });
  }
}

function askPolicyOf(policy: FailurePolicy, defaults: FailureDefaults): AskPolicy {
  const limits = {
    baseMs: policy.backoffMs,
    maxMs: policy.maxBackoffMs,
    maxRetryAfterMs: policy.maxRetryAfterMs,
  };
  // Who says how often, or what to do instead, does not want the person to wait.
  const saysWhen = [policy.attempts, policy.fallbackRouteId, policy.fallbackText].some(
    (said) => said !== undefined,
  );
  return {
    attempts: policy.attempts ?? defaults.attempts,
    patienceMs: policy.patienceMs ?? (saysWhen ? 0 : defaults.patienceMs),
    backoffMs: (attempt, retryAfterMs) => defaults.backoffMs(attempt, retryAfterMs, limits),
  };
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
    asks: outcome.asks,
    outcome: isAnswer ? 'answered' : outcome.error.code,
    sentence: isAnswer ? 'The agent answered.' : outcome.error.message,
  };
}
