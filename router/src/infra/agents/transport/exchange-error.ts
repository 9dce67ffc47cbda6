import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { rejectedError } from './agent-transport.ts';
import { type Fetched, redirectHint } from './bounded-fetch.ts';
import { bodyText, errorText } from './error-text.ts';
import type { Redact } from './redaction.ts';

/** What the error for an exchange says. */
export interface ExchangeContext {
  /** As a sentence names it: `NPC agent`. */
  agent: string;
  /** The sentence for an exchange that a time limit ended. */
  aborted: string;
  nowMs: number;
  redact: Redact;
}

/** The error for an exchange without a usable answer: a fault, or a status. */
export function exchangeError(
  fetched: Fetched,
  { agent, aborted, nowMs, redact }: ExchangeContext,
): Wa2aiError {
  if (fetched.kind === 'answer') {
    const { status } = fetched;
    const text = redact(`${errorText(bodyText(fetched))}${redirectHint(fetched)}`);
    const said = `The ${agent} answered status ${status}${text && `: ${text}`}`;
    const rejected = rejectedError(fetched, said, nowMs);
    if (rejected) return rejected;
    if (status === 504) return new AgentTimeoutError(said);
    const code = status === 401 || status === 403 ? 'AGENT_ACCESS_DENIED' : undefined;
    return new AgentProtocolError(said, code === undefined ? undefined : { code });
  }
  const { fault, cause } = fetched;
  if (fault === 'aborted') return new AgentTimeoutError(aborted);
  const said = redact(`The ${agent} cannot be reached: ${fetched.detail}.`);
  if (fault === 'refused') return new AgentProtocolError(said, { code: 'AGENT_ADDRESS_REFUSED' });
  if (fault === 'too-large') return new AgentProtocolError(redact(`The ${agent} failed: ${fetched.detail}.`));
  if (fault === 'broken') return new AgentTimeoutError(said, { cause });
  const isAway = fault === 'not-connected';
  return new AgentUnavailableError(said, { cause, isAway, mayHaveRun: !isAway });
}
