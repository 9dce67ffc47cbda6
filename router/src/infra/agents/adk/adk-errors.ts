import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { type FaultKind, redirectHint } from '../transport/bounded-fetch.ts';
import { errorText } from '../transport/error-text.ts';
import { notTakenError } from '../transport/not-taken.ts';
import type { Redact } from '../transport/redaction.ts';
import type { RunAnswer } from './adk-wire.ts';

const MAX_APPS_CHARS = 300;

/** The agent contract's sentence for a failure that is no status and no time-out. */
export function failedSentence(detail: string): string {
  return `Failed to send message to ADK agent: ${detail}`;
}

/** The agent contract's sentence for a time-out. */
export function timeoutSentence(timeoutMs: number): string {
  return `Request to agent timed out after ${timeoutMs}ms`;
}

/** The error for an exchange without a complete answer, unless a time limit ended it. */
export function faultError(fault: FaultKind, detail: string, cause: unknown): Wa2aiError {
  const sentence = failedSentence(detail);
  if (fault === 'refused') return new AgentProtocolError(sentence, { code: 'AGENT_ADDRESS_REFUSED' });
  if (fault === 'not-connected' || fault === 'no-answer')
    return new AgentUnavailableError(sentence, {
      cause,
      isAway: fault === 'not-connected',
      mayHaveRun: fault === 'no-answer',
    });
  if (fault === 'too-large') return new AgentProtocolError(sentence);
  return new AgentTimeoutError(sentence, { cause });
}

/** A status other than 200, as the server sent it. */
export interface Refusal {
  status: number;
  headers: Headers;
  body: string;
}

/**
 * The error for a refusal; its sentence lists `apps`, the agents of the server. The server has not run a request that it
 * answers with 429 or 503, and most likely not with 502. With 504 it may have run. A 500 can follow tool calls, so the
 * request is never repeated.
 */
export function refusalError(
  { status, headers, body }: Refusal,
  options: { apps: string[]; nowMs: number; redact: Redact },
): Wa2aiError {
  const hints = [
    options.apps.length > 0 && ` (apps of this server: ${options.apps.join(', ').slice(0, MAX_APPS_CHARS)})`,
    redirectHint({ status, headers }),
  ];
  const text = options.redact(`${errorText(body)}${hints.filter(Boolean).join('')}`);
  const sentence = `ADK agent endpoint returned ${status}: ${text}`;
  const notTaken = notTakenError({ status, headers }, sentence, options.nowMs);
  if (notTaken) return notTaken;
  return status === 504 ? new AgentTimeoutError(sentence) : new AgentProtocolError(sentence);
}

/** The error for a run that reported one instead of answering. */
export function reportedError(answer: Extract<RunAnswer, { kind: 'failed' }>, redact: Redact): Wa2aiError {
  const reason = redact(errorText(answer.reason));
  const sentence = failedSentence(`the agent reported ${answer.code}${reason && `: ${reason}`}`);
  return answer.isRepeatable
    ? new AgentUnavailableError(sentence)
    : new AgentProtocolError(sentence, { code: 'AGENT_REPORTED_ERROR' });
}
