import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { withoutTrailing } from '../../../core/without-trailing.ts';
import { rejectedError } from '../transport/agent-transport.ts';
import { type Fetched, redirectHint } from '../transport/bounded-fetch.ts';
import { bodyText, errorText, parsedJson } from '../transport/error-text.ts';
import type { Redact } from '../transport/redaction.ts';
import { type ReportedError, reportedErrorIn } from './openai-answer.ts';

/** What errors need to know about the request. */
export interface ErrorContext {
  /** Name of the server. */
  server: string;
  model: string;
  timeoutMs: number;
  nowMs: number;
  redact: Redact;
}

/** Statuses after which every client of the protocol repeats the request. */
const REPEATABLE = new Set([408, 409, 425, 500, 529]);

/** Codes of an account without credit: a repeat does not help. */
const NO_CREDIT = /insufficient_quota|billing|insufficient_(?:balance|credit|funds)|payment_required/i;

/** The error for an exchange without a complete answer. */
export function faultError(
  { fault, detail, cause }: Fetched & { kind: 'fault' },
  { server, timeoutMs, redact }: ErrorContext,
): Wa2aiError {
  const said = redact(detail);
  const name = `The model server at ${server}`;
  switch (fault) {
    case 'refused':
      return new AgentProtocolError(`${name} was not called: ${said}.`, { code: 'AGENT_ADDRESS_REFUSED' });
    case 'not-connected':
      return new AgentUnavailableError(`${name} cannot be reached: ${said}.`, { cause, isAway: true });
    case 'too-large':
      return new AgentProtocolError(`${name} answered too much: ${said}.`);
    case 'aborted':
      return new AgentTimeoutError(
        `${name} did not answer within ${timeoutMs} ms. Raise config.openai.timeoutMs for a slow model.`,
        { cause },
      );
    default:
      return new AgentUnavailableError(`${name} ended the connection before its answer: ${said}.`, {
        cause,
        mayHaveRun: true,
      });
  }
}

/** The error for a status that is not a success. */
export function refusalError(
  { status, headers, body }: Fetched & { kind: 'answer' },
  context: ErrorContext,
): Wa2aiError {
  const text = bodyText({ headers, body });
  const reported = reportedErrorIn(parsedJson(text)) ?? { message: errorText(text) };
  const sentence = sentenceOf(status, reported, context, redirectHint({ status, headers }));
  if (status === 402 || isWithoutCredit(reported)) return new AgentProtocolError(sentence);
  const rejected = rejectedError({ status, headers }, sentence, context.nowMs);
  if (rejected) return rejected;
  if (status === 504 || status === 524) return new AgentTimeoutError(sentence);
  if (REPEATABLE.has(status)) return new AgentUnavailableError(sentence, { mayHaveRun: status === 500 });
  return new AgentProtocolError(sentence);
}

/** The error for an error object in an answer with a successful status. */
export function reportedError(reported: ReportedError, context: ErrorContext): Wa2aiError {
  const status = Number(reported.code);
  const isTemporary =
    status === 429 || status >= 500 || /rate_limit|overloaded|server_error|timeout/i.test(wordsOf(reported));
  const sentence = sentenceOf(Number.isInteger(status) ? status : 200, reported, context);
  if (isTemporary && !isWithoutCredit(reported)) {
    return new AgentUnavailableError(sentence, { mayHaveRun: true });
  }
  return new AgentProtocolError(sentence, { code: 'AGENT_REPORTED_ERROR' });
}

function isWithoutCredit(reported: ReportedError): boolean {
  return NO_CREDIT.test(wordsOf(reported));
}

function wordsOf({ code = '', type = '' }: ReportedError): string {
  return `${code} ${type}`;
}

function sentenceOf(
  status: number,
  reported: ReportedError,
  { server, model, redact }: ErrorContext,
  redirect = '',
): string {
  const said = redact(errorText(reported.message)).replace(/\b(sk|pk|key)-[\w*.-]{6,}/g, '[secret]');
  const words = `${wordsOf(reported)} ${reported.message}`;
  const reason = withoutTrailing(`${said && `: ${said}`}${redact(redirect)}`, '. \n');
  const start = `The model server at ${server}`;
  const answered = `${start} answered ${status === 200 ? 'with an error' : `status ${status}`}${reason}.`;
  if (status === 401) return `${start} refused the API key (401)${reason}. Set config.openai.apiKey.`;
  if (status === 403) {
    return `${start} denied access (403)${reason}. Check config.openai.apiKey and what it may use.`;
  }
  if (status === 402 || isWithoutCredit(reported)) {
    return `${answered} The account of config.openai.apiKey has no credit left.`;
  }
  if (isUnknownModel(words)) {
    return `${start} does not have the model "${model}" (${status})${reason}. Correct config.openai.model.`;
  }
  if (status === 404 || status === 405) {
    return `${answered} Check the address of the route: it must be the base URL of an OpenAI-compatible API.`;
  }
  if (/context_length|context length|maximum context|too many tokens/i.test(words)) {
    return `${answered} Lower config.openai.historyTurns, or use a model with a longer context.`;
  }
  return answered;
}

function isUnknownModel(words: string): boolean {
  const said = words.toLowerCase();
  if (said.includes('model_not_found') || said.includes('unknown_model')) return true;
  const model = said.indexOf('model ');
  return model >= 0 && /not found|not exist/.test(said.slice(model));
}
