import { z } from 'zod';
import { Wa2aiError } from '../../core/errors.ts';
import { type Phrase, type Said, saidBy, say } from '../../core/phrases.ts';

/** Codes of problems that the REST API itself reports. Each is a heading of docs/troubleshooting.md. */
export const PROBLEM_CODES = [
  'ACCOUNT_EXISTS',
  'ACCOUNT_NOT_ALLOWED',
  'ALREADY_LINKED',
  'ALREADY_REPLAYED',
  'BAD_REQUEST',
  'BODY_TOO_LARGE',
  'CHAIN_SETTINGS',
  'CHAIN_UNAVAILABLE',
  'CHAT_NOT_ALLOWED',
  'CSRF_HEADER_MISSING',
  'FILE_REFUSED',
  'FOREIGN_HOST',
  'FOREIGN_ORIGIN',
  'IDEMPOTENCY_CONFLICT',
  'INTERNAL',
  'INVALID_BODY',
  'INVALID_HEADERS',
  'INVALID_JSON',
  'INVALID_QUERY',
  'INVALID_REGEX_PATTERN',
  'LAST_OWNER',
  'LINK_EXPIRED',
  'LOGIN_DELAYED',
  'LOGIN_FAILED',
  'METHOD_NOT_ALLOWED',
  'NOT_DEAD',
  'NOT_FOUND',
  'NOT_ON_WHATSAPP',
  'NO_CHAIN',
  'NO_QR',
  'OVERLOADED',
  'PLAYGROUND_CHAT_EXISTS',
  'PLAYGROUND_ID_TAKEN',
  'PRECONDITION_FAILED',
  'RATE_LIMITED',
  'REPLY_TOKEN_EXPIRED',
  'REPLY_TOKEN_UNKNOWN',
  'REPLY_TOKEN_USED',
  'ROUTES_CHANGED',
  'ROUTE_NOT_ALLOWED',
  'SCOPE_MISSING',
  'SEVERAL_ROUTES',
  'TASK_NOT_CANCELED',
  'TOO_MANY_OPEN_REQUESTS',
  'TOO_MANY_STREAMS',
  'TOO_MANY_TASKS',
  'TOO_MANY_WEBHOOKS',
  'TRADE_ENDED',
  'UNAUTHORIZED',
  'UNSUPPORTED_MEDIA_TYPE',
  'USER_EXISTS',
] as const;

export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** What is wrong with one field of a request: a path such as `config.adk.appName`, or `` for the whole. */
export interface ProblemDetail {
  field: string;
  message: string;
  phrase?: Phrase;
}

/** What is wrong with a field, as a part of a problem. */
export function mistakeAt(field: string, { sentence, phrase }: Said): ProblemDetail {
  return { field, message: sentence, ...(phrase && { phrase }) };
}

/** An error response. `message` is a sentence for the caller and contains nothing internal. */
export class HttpProblem extends Wa2aiError {
  readonly status: number;
  readonly details: readonly ProblemDetail[] | undefined;

  constructor(status: number, code: ProblemCode, said: Said, details?: readonly ProblemDetail[]) {
    super(code, 'dead', said);
    this.status = status;
    this.details = details;
  }
}

/** A request of a key over one of its limits. */
export class RateLimitProblem extends HttpProblem {
  readonly retryAfterSeconds: number;

  constructor(window: 'second' | 'minute', retryAfterSeconds: number) {
    const wait = waitOf(retryAfterSeconds);
    super(429, 'RATE_LIMITED', say('problem.rate-limited', { window: say(`window.${window}`), wait }));
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** A caller has as many requests open as it may. */
export class OpenRequestsProblem extends HttpProblem {
  readonly retryAfterSeconds = 1;

  constructor(open: number) {
    super(429, 'TOO_MANY_OPEN_REQUESTS', say('problem.requests-open', { open }));
  }
}

/** A password that is not checked yet, because several were wrong or too many wait. */
export class LoginDelayedProblem extends HttpProblem {
  readonly retryAfterSeconds: number;

  constructor(retryAfterMs: number) {
    const seconds = Math.max(Math.ceil(retryAfterMs / 1_000), 1);
    super(429, 'LOGIN_DELAYED', say('problem.login-delayed', { wait: waitOf(seconds) }));
    this.retryAfterSeconds = seconds;
  }
}

function waitOf(seconds: number): Said {
  return say(seconds === 1 ? 'wait.second' : 'wait.seconds', { count: seconds });
}

/** The code and the values of the sentence beside it. */
export const phraseField = z
  .object({
    code: z.string().describe('Stable: the same sentence has the same code.'),
    values: z.record(z.string(), z.unknown()).optional().describe('Texts, numbers, and phrases.'),
  })
  .optional()
  .describe('The sentence for translation; absent for what another system said.');

/** Body of every error response. */
export const problemSchema = z
  .object({
    success: z.literal(false),
    error: z.string().describe('A sentence for a person.'),
    phrase: phraseField,
    code: z.string().describe('Stable, for programs: `INVALID_BODY`, `NOT_FOUND` ...'),
    docs: z
      .string()
      .describe('Where the documentation explains the code: a reference relative to the URL of the request.'),
    details: z
      .array(
        z.object({
          field: z.string().describe('Path of the field, such as `config.adk.appName`.'),
          message: z.string().describe('What is wrong with it; follows the name of the field.'),
          phrase: phraseField,
        }),
      )
      .optional(),
  })
  .meta({
    id: 'Problem',
    examples: [
      {
        success: false,
        error: 'text is missing.',
        code: 'INVALID_BODY',
        docs: '../docs/troubleshooting.md#invalid_body',
        details: [{ field: 'text', message: 'is missing' }],
      },
    ],
  });

/** Body of a 429: also a problem as RFC 9457 defines it, for clients that know no wa2ai. */
export const rateLimitSchema = problemSchema
  .extend({
    type: z.string().describe('The same as `docs`.'),
    title: z.string(),
    status: z.literal(429),
    detail: z.string().describe('The same as `error`.'),
  })
  .meta({ id: 'RateLimitProblem' });

/** An error response, ready to be written. */
export interface ProblemResponse {
  status: number;
  headers: Record<string, string>;
  body: z.input<typeof problemSchema> | z.input<typeof rateLimitSchema>;
}

/** Errors of the body parser and the router by their `type`. */
const PARSER_PROBLEMS: Record<string, [status: number, code: ProblemCode, said: Said]> = {
  'entity.too.large': [413, 'BODY_TOO_LARGE', say('problem.body-too-large')],
  'entity.parse.failed': [400, 'INVALID_JSON', say('problem.body-not-json')],
  'encoding.unsupported': [415, 'UNSUPPORTED_MEDIA_TYPE', say('problem.encoding')],
  'charset.unsupported': [415, 'UNSUPPORTED_MEDIA_TYPE', say('problem.charset')],
};

/**
 * The response for anything that a handler throws: a mistake of the caller becomes a 4xx, an unavailable database 503,
 * and everything else one constant 500 whose cause is only in the log.
 */
export function problemOf(error: unknown): ProblemResponse {
  if (
    error instanceof RateLimitProblem ||
    error instanceof LoginDelayedProblem ||
    error instanceof OpenRequestsProblem
  ) {
    return rateLimited(error);
  }
  if (error instanceof HttpProblem) {
    return problem(error.status, error.code, error.said, error.details);
  }
  if (error instanceof Wa2aiError) {
    const { code, said, disposition } = error;
    if (code === 'STORAGE_DAMAGED') return problem(500, code, said);
    if (code === 'FILE_REFUSED' || code === 'NOT_ON_WHATSAPP') return problem(422, code, said);
    // Another node must be called.
    if (code === 'AGENT_ELSEWHERE') return problem(409, code, said);
    if (disposition === 'retry') return { ...problem(503, code, said), headers: { 'retry-after': '5' } };
    return problem(409, code, said);
  }
  const { status, type, limit } = (typeof error === 'object' && error !== null ? error : {}) as {
    status?: unknown;
    type?: unknown;
    limit?: unknown;
  };
  if (type === 'entity.too.large' && typeof limit === 'number') {
    const megabytes = Math.floor(limit / 1_048_576);
    return problem(413, 'BODY_TOO_LARGE', say('problem.body-over', { megabytes }));
  }
  const known = typeof type === 'string' ? PARSER_PROBLEMS[type] : undefined;
  if (known) return problem(...known);
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return problem(400, 'BAD_REQUEST', say('problem.unreadable'));
  }
  return problem(500, 'INTERNAL', say('problem.internal'));
}

function rateLimited({
  status,
  code,
  said,
  retryAfterSeconds,
}: RateLimitProblem | LoginDelayedProblem | OpenRequestsProblem): ProblemResponse {
  const { body } = problem(status, code, said);
  return {
    status,
    headers: {
      'retry-after': String(retryAfterSeconds),
      'content-type': 'application/problem+json; charset=utf-8',
    },
    body: { ...body, type: body.docs, title: 'Too many requests', status: 429, detail: said.sentence },
  };
}

/** A detail with the phrase of its message, if the message is one of wa2ai without values. */
export function withPhrase(detail: ProblemDetail): ProblemDetail {
  return detail.phrase ? detail : mistakeAt(detail.field, saidBy(detail.message));
}

/** The path of the page and heading that explain an error code; the response has it relative to its request. */
function docsOf(code: string): string {
  return `/docs/troubleshooting.md#${code.toLowerCase()}`;
}

function problem(
  status: number,
  code: string,
  { sentence, phrase }: Said,
  details?: readonly ProblemDetail[],
): ProblemResponse {
  return {
    status,
    headers: {},
    body: {
      success: false,
      error: sentence,
      ...(phrase && { phrase }),
      code,
      docs: docsOf(code),
      ...(details && { details: details.map(withPhrase) }),
    },
  };
}
