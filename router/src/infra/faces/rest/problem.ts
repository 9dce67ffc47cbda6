import type { ErrorRequestHandler, Response } from 'express';
import { z } from 'zod';
import { Wa2aiError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { html } from '../pages/html.ts';
import { page } from '../pages/page-frame.ts';

/** What is wrong with one field of a request: a path such as `config.adk.appName`, or `` for the whole. */
export interface ProblemDetail {
  field: string;
  message: string;
}

/** An answer other than success: `message` is a sentence for the caller and holds nothing internal. */
export class HttpProblem extends Wa2aiError {
  readonly status: number;
  readonly details: readonly ProblemDetail[] | undefined;

  constructor(status: number, code: string, message: string, details?: readonly ProblemDetail[]) {
    super(code, 'dead', message);
    this.status = status;
    this.details = details;
  }
}

/** Body of every error answer. */
export const problemSchema = z
  .object({
    success: z.literal(false),
    error: z.string().describe('A sentence for a person.'),
    code: z.string().describe('Stable, for programs: `INVALID_BODY`, `NOT_FOUND` ...'),
    details: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem' });

interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: z.input<typeof problemSchema>;
}

/** Errors of the body parser and the router by their `type`; what is missing here counts as 400. */
const PARSER_PROBLEMS: Record<string, [status: number, code: string, sentence: string]> = {
  'entity.too.large': [413, 'BODY_TOO_LARGE', 'The body must not be larger than 1 MB.'],
  'entity.parse.failed': [400, 'INVALID_JSON', 'The body must be valid JSON.'],
  'encoding.unsupported': [
    415,
    'UNSUPPORTED_MEDIA_TYPE',
    'The content encoding must be gzip, deflate, br or none.',
  ],
  'charset.unsupported': [415, 'UNSUPPORTED_MEDIA_TYPE', 'The charset of the body must be utf-8.'],
};

/**
 * The answer for anything a handler throws. What the caller did wrong becomes a 4xx, a database that is away 503, and
 * the rest one constant 500 whose cause only the log holds.
 */
export function problemOf(error: unknown): ProblemAnswer {
  if (error instanceof HttpProblem) {
    return answer(error.status, error.code, error.message, error.details);
  }
  if (error instanceof Wa2aiError) {
    // The work loop's dispositions, read for a caller who waits: later may help, or the request clashes with the state.
    const { code, message, disposition } = error;
    if (code === 'STORAGE_DAMAGED') return answer(500, code, message);
    if (disposition === 'retry') return { ...answer(503, code, message), headers: { 'retry-after': '5' } };
    return answer(409, code, message);
  }
  const { status, type } = (typeof error === 'object' && error !== null ? error : {}) as {
    status?: unknown;
    type?: unknown;
  };
  const known = typeof type === 'string' ? PARSER_PROBLEMS[type] : undefined;
  if (known) return answer(...known);
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return answer(400, 'BAD_REQUEST', 'The request could not be read.');
  }
  return answer(500, 'INTERNAL', 'Something went wrong inside wa2ai; its log has the cause.');
}

function answer(
  status: number,
  code: string,
  error: string,
  details?: readonly ProblemDetail[],
): ProblemAnswer {
  return {
    status,
    headers: {},
    body: { success: false, error, code, ...(details && { details: [...details] }) },
  };
}

/**
 * Express' last handler: writes every error as a problem, for a browser that goes to a page as a page, and logs those
 * that are the service's own fault.
 */
export function problemHandler(log: Logger): ErrorRequestHandler {
  return (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const problem = problemOf(error);
    if (problem.status >= 500) {
      log.error({ err: error, method: request.method, route: request.route?.path }, 'request failed');
    }
    response.status(problem.status).set(problem.headers);
    // A program that names no type, or any, gets JSON.
    const isForPerson = request.method === 'GET' && request.accepts(['json', 'html']) === 'html';
    if (isForPerson) writePage(response, problem.body.error);
    else response.json(problem.body);
  };
}

function writePage(response: Response, sentence: string): void {
  const { headers, html: text } = page({
    status: response.statusCode,
    title: 'This did not work',
    main: html`<h1>This did not work</h1><p>${sentence}</p><p><a href="/">Overview</a></p>`,
  });
  response
    .set(headers ?? {})
    .type('html')
    .send(text);
}
