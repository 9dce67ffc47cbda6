import type { AgentClient } from './agent-client.ts';
import { AgentProtocolError, AgentUnavailableError, Wa2aiError } from './errors.ts';
import type { AgentResponse, IncomingMessage } from './models.ts';
import type { Clock } from './ports/clock.ts';
import type { Logger } from './ports/logger.ts';

/** How often and how patiently an agent is asked for one turn. */
export interface AskPolicy {
  /** Asks in all, at least 1. */
  attempts: number;
  /** Wait before the next ask, in milliseconds; `attempt` is the one that failed (from 1). */
  backoffMs(attempt: number, retryAfterMs: number | undefined): number;
}

export interface AskDeps {
  clock: Clock;
  log: Logger;
  policy: AskPolicy;
  /** An earlier process may have asked the same already. */
  isRepeat?: boolean;
  /** Ends waits and asks at shutdown; the turn is then taken up again after the next start. */
  stopping: AbortSignal;
}

/** The end of an ask: an answer, or the error that ended it; both with the asks made and the time of all of them. */
export type AskOutcome =
  | { kind: 'answer'; response: AgentResponse; attempts: number; agentMs: number }
  | { kind: 'failed'; error: Wa2aiError; attempts: number; agentMs: number };

/**
 * Asks the agent, again only for errors with disposition `retry`. Never throws for an agent's failure.
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function askAgent(
  deps: AskDeps,
  client: AgentClient,
  endpoint: string,
  message: IncomingMessage,
): Promise<AskOutcome> {
  const startedMs = deps.clock.now();
  for (let attempt = 1; ; attempt++) {
    deps.stopping.throwIfAborted();
    try {
      const response = await client.sendMessage(endpoint, message, {
        signal: deps.stopping,
        isRepeat: deps.isRepeat ?? false,
      });
      const agentMs = deps.clock.now() - startedMs;
      if (response.success) return { kind: 'answer', response, attempts: attempt, agentMs };
      const error = new AgentProtocolError('The agent reported a failure without saying which.');
      return { kind: 'failed', error, attempts: attempt, agentMs };
    } catch (caught) {
      deps.stopping.throwIfAborted();
      const error = asWa2aiError(caught);
      const agentMs = deps.clock.now() - startedMs;
      const isLast = error.disposition !== 'retry' || attempt >= deps.policy.attempts;
      deps.log.warn({ attempt, code: error.code, error: error.message, isLast }, 'agent did not answer');
      if (isLast) return { kind: 'failed', error, attempts: attempt, agentMs };
      const retryAfterMs = error instanceof AgentUnavailableError ? error.retryAfterMs : undefined;
      await deps.clock.sleep(deps.policy.backoffMs(attempt, retryAfterMs), deps.stopping);
    }
  }
}

function asWa2aiError(caught: unknown): Wa2aiError {
  if (caught instanceof Wa2aiError) return caught;
  const detail = caught instanceof Error ? caught.message : String(caught);
  return new Wa2aiError('AGENT_CLIENT_FAULT', 'dead', `The agent client failed unexpectedly: ${detail}`, {
    cause: caught,
  });
}
