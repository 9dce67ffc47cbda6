import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  Wa2aiError,
} from '../../../../core/errors.ts';
import type { Fetched } from '../../transport/bounded-fetch.ts';
import { errorText } from '../../transport/error-text.ts';
import { exchangeError } from '../../transport/exchange-error.ts';
import type { Redact } from '../../transport/redaction.ts';

/** What the error for a call of the A2A client says. */
export interface A2aErrorContext {
  /** What went wrong on the wire, when something did. */
  failure: Fetched | undefined;
  /** The time limit ended the call. */
  isTimeout: boolean;
  timeoutMs: number;
  nowMs: number;
  redact: Redact;
}

/** The error for a call that the A2A client rejected: of the wire, else as the agent reported it in its own dialect. */
export function a2aError(error: unknown, context: A2aErrorContext): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  const { failure, isTimeout, timeoutMs, nowMs, redact } = context;
  const aborted = `The A2A agent did not answer within ${timeoutMs} ms.`;
  if (isTimeout) return new AgentTimeoutError(aborted);
  // A status with an error of the protocol in its body is the agent's own word.
  const isReported = failure?.kind === 'answer' && failure.status >= 400 && isProtocolError(error);
  if (failure && !(isReported && !isAwayStatus(failure))) {
    return exchangeError(failure, { agent: 'A2A agent', aborted, nowMs, redact });
  }
  const reason = redact(errorText(error instanceof Error ? error.message : String(error)));
  if (isBroken(error)) {
    return new AgentUnavailableError(`The connection to the A2A agent was lost: ${reason}`, {
      cause: error,
      mayHaveRun: true,
    });
  }
  if (isProtocolError(error)) {
    return new AgentProtocolError(`The A2A agent answered with an error: ${reason}`, {
      code: 'AGENT_REPORTED_ERROR',
    });
  }
  return new AgentProtocolError(`The A2A agent answered with something that is not A2A: ${reason}`);
}

function isAwayStatus(failure: Fetched): boolean {
  return failure.kind === 'answer' && [401, 403, 429, 502, 503, 504].includes(failure.status);
}

/** Whether the error is one of the protocol, which the client makes from an error in an answer. */
function isProtocolError(error: unknown): boolean {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return [error, cause].some((one) => {
    if (!(one instanceof Error)) return false;
    return 'reason' in one || 'code' in one || /A2A|JsonRpc/.test(one.constructor.name);
  });
}

/** Whether the connection ended in the middle of an answer: the platform's error is the cause of the client's. */
function isBroken(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    if ('code' in one && /^(?:UND_ERR_|ECONN|EPIPE)/.test(String(one.code))) return true;
  }
  return false;
}
