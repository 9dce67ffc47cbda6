import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { withoutTrailing } from '../../../core/without-trailing.ts';
import { bodyText } from '../transport/body-text.ts';
import { type Fetched, redirectHint } from '../transport/bounded-fetch.ts';
import { errorText } from '../transport/error-text.ts';
import { notTakenError } from '../transport/not-taken.ts';
import type { Redact } from '../transport/redaction.ts';

/** What errors need to know about the request. */
export interface ErrorContext {
  timeoutMs: number;
  nowMs: number;
  redact: Redact;
}

/** The error for a request without a complete response. A request that was sent may have had effects. */
export function faultError(
  { fault, detail, cause }: Fetched & { kind: 'fault' },
  { timeoutMs, redact }: ErrorContext,
): Wa2aiError {
  const said = redact(detail);
  switch (fault) {
    case 'refused':
      return new AgentProtocolError(`The webhook was not called: ${said}.`, {
        code: 'AGENT_ADDRESS_REFUSED',
      });
    case 'not-connected':
      return new AgentUnavailableError(`The webhook cannot be reached: ${said}.`, { cause, isAway: true });
    case 'too-large':
      return new AgentProtocolError(`The webhook answered too much: ${said}.`);
    case 'aborted':
      return new AgentTimeoutError(
        `The webhook did not answer within ${timeoutMs} ms. Let it answer 202 at once and reply later by the token, or raise config.webhook.timeoutMs.`,
        { cause },
      );
    default:
      return new AgentTimeoutError(`The webhook ended the connection before its answer: ${said}.`, { cause });
  }
}

/** The error for a status that is not a success. */
export function refusalError(
  { status, headers, body }: Fetched & { kind: 'answer' },
  { nowMs, redact }: ErrorContext,
): Wa2aiError {
  const said = withoutTrailing(redact(errorText(messageIn(bodyText({ headers, body })))), '. \n');
  const hint = redact(redirectHint({ status, headers }));
  const advice =
    status === 401 || status === 403 ? ' Check config.webhook.headers and config.webhook.secret.' : '';
  const sentence = `The webhook answered status ${status}${said && `: ${said}`}${hint}.${advice}`;
  const notTaken = notTakenError({ status, headers }, sentence, nowMs);
  if (notTaken) return notTaken;
  return status === 504 || status === 524
    ? new AgentTimeoutError(sentence)
    : new AgentProtocolError(sentence);
}

/** The message in an error as workflow tools write it: `{"code": 404, "message": "…"}`; else the whole text. */
function messageIn(text: string): string {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === 'object' && json !== null && 'message' in json && typeof json.message === 'string') {
      return json.message;
    }
  } catch {
    // not JSON
  }
  return text;
}
