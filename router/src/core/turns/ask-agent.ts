import type { AgentClient } from '../agent-client.ts';
import {
  AgentCircuitOpenError,
  AgentProtocolError,
  AgentUnavailableError,
  type Disposition,
  MediaError,
  Wa2aiError,
} from '../errors.ts';
import type { AgentResponse, IncomingMessage } from '../models.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { CircuitBreakers, CircuitSettings } from './circuit-breaker.ts';

/** How often and how patiently an agent is asked for one turn. */
export interface AskPolicy {
  /** Asks in all, at least 1. */
  attempts: number;
  /** An agent that is away is asked again until so long after the first ask, though the asks are used up. Default 0. */
  patienceMs?: number;
  /** Wait before the next ask, in milliseconds; `attempt` is the one that failed (from 1). */
  backoffMs(attempt: number, retryAfterMs: number | undefined): number;
}

/** An endpoint's circuit, and the settings of the route that asks. */
export interface AskCircuit {
  breakers: CircuitBreakers;
  endpoint: string;
  settings: CircuitSettings;
}

/** One ask as the trace of a turn keeps it; `code` and `error` of one that failed, `waitMs` before the next. */
export interface AskTrace {
  attempt: number;
  /** When it was asked, ISO 8601. */
  at: string;
  agentMs: number;
  code?: string;
  disposition?: Disposition;
  error?: string;
  waitMs?: number;
}

export interface AskDeps {
  clock: Clock;
  log: Logger;
  policy: AskPolicy;
  /** An earlier process may have asked the same already. */
  isRepeat?: boolean;
  /** The bytes of the message's file; absent when it has none. */
  loadMedia?(): Promise<Uint8Array>;
  /** Absent: the endpoint is asked whatever became of earlier asks. */
  circuit?: AskCircuit;
  /** Ends waits and asks at shutdown; the turn is then taken up again after the next start. */
  stopping: AbortSignal;
}

/** A trace holds the first ask and as many of the last as make this number. */
const MAX_TRACED_ASKS = 30;

/** The end of an ask: an answer, or the error that ended it; both with the asks made and the time of all of them. */
export type AskOutcome = { attempts: number; agentMs: number; asks: AskTrace[] } & (
  | { kind: 'answer'; response: AgentResponse }
  | { kind: 'failed'; error: Wa2aiError }
);

/**
 * Asks the agent, again only for errors with disposition `retry` and while its circuit is closed. Never throws for an
 * agent's failure; an open circuit is AGENT_CIRCUIT_OPEN, or, when it opened between two asks, the last ask's error.
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function askAgent(
  deps: AskDeps,
  client: AgentClient,
  endpoint: string,
  message: IncomingMessage,
): Promise<AskOutcome> {
  const { clock, circuit, policy, stopping } = deps;
  const startedMs = clock.monotonicMs();
  const asks: AskTrace[] = [];
  const agentMs = (sinceMs: number) => Math.round(clock.monotonicMs() - sinceMs);
  let attempt = 0;
  const end = () => ({ attempts: attempt, agentMs: agentMs(startedMs), asks });
  const fitsCircuit = () =>
    !circuit || circuit.breakers.admit(circuit.endpoint, circuit.settings, clock.monotonicMs());
  if (!fitsCircuit()) return { kind: 'failed', error: new AgentCircuitOpenError(), ...end() };

  for (;;) {
    stopping.throwIfAborted();
    attempt += 1;
    const askedAtMs = clock.now();
    const askedMs = clock.monotonicMs();
    const result = await askOnce(deps, client, endpoint, message);
    const ask: AskTrace = {
      attempt,
      at: new Date(askedAtMs).toISOString(),
      agentMs: agentMs(askedMs),
    };
    if (asks.length >= MAX_TRACED_ASKS) asks.splice(1, 1);
    asks.push(ask);
    // A file that did not come says nothing of the agent.
    if (!('error' in result && result.error instanceof MediaError)) {
      const outcome = 'error' in result ? 'failure' : 'success';
      circuit?.breakers.note(circuit.endpoint, circuit.settings, outcome, clock.monotonicMs());
    }
    if (!('error' in result)) return { kind: 'answer', response: result.response, ...end() };

    const { error } = result;
    Object.assign(ask, { code: error.code, disposition: error.disposition, error: error.message });
    const isAway = error instanceof AgentUnavailableError && error.isAway;
    const isPatient = isAway && clock.monotonicMs() - startedMs < (policy.patienceMs ?? 0);
    const isLast = error.disposition !== 'retry' || (attempt >= policy.attempts && !isPatient);
    deps.log.warn({ attempt, code: error.code, error: error.message, isLast }, 'agent did not answer');
    if (isLast) return { kind: 'failed', error, ...end() };
    const retryAfterMs = error instanceof AgentUnavailableError ? error.retryAfterMs : undefined;
    ask.waitMs = policy.backoffMs(attempt, retryAfterMs);
    await clock.sleep(ask.waitMs, stopping);
    if (!fitsCircuit()) return { kind: 'failed', error, ...end() };
  }
}

async function askOnce(
  deps: AskDeps,
  client: AgentClient,
  endpoint: string,
  message: IncomingMessage,
): Promise<{ response: AgentResponse } | { error: Wa2aiError }> {
  try {
    const response = await client.sendMessage(endpoint, message, {
      signal: deps.stopping,
      isRepeat: deps.isRepeat ?? false,
      ...(deps.loadMedia && { loadMedia: deps.loadMedia }),
    });
    if (response.success) return { response };
    return { error: new AgentProtocolError('The agent reported a failure without saying which.') };
  } catch (caught) {
    deps.stopping.throwIfAborted();
    return { error: asWa2aiError(caught) };
  }
}

function asWa2aiError(caught: unknown): Wa2aiError {
  if (caught instanceof Wa2aiError) return caught;
  const detail = caught instanceof Error ? caught.message : String(caught);
  return new Wa2aiError('AGENT_CLIENT_FAULT', 'dead', `The agent client failed unexpectedly: ${detail}`, {
    cause: caught,
  });
}
