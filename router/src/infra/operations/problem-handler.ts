import type { ErrorRequestHandler, Request, Response } from 'express';
import type { Logger } from '../../core/ports/logger.ts';
import type { RestAudit } from './audit.ts';
import { homeOf, relativePath } from './own-address.ts';
import { html, page } from './page-frame.ts';
import { type ProblemResponse, problemOf } from './problem.ts';

/**
 * Express' last handler: writes every error as a problem, as a page for a browser that opens one and as JSON for
 * everything else. Logs those that are a fault of the service, and records the call in the audit log.
 */
export function problemHandler(log: Logger, audit: Pick<RestAudit, 'record'>): ErrorRequestHandler {
  return async (error, request, response, next) => {
    if (response.headersSent) return next(error);
    const problem = problemOf(error);
    if (problem.status >= 500) {
      log.error(
        {
          err: error,
          code: problem.body.code,
          method: request.method,
          path: request.route?.path,
          requestId: response.locals.requestId,
        },
        'request failed',
      );
    }
    await audit.record(request, response, { outcome: problem.body.code });
    response.status(problem.status).set(problem.headers);
    // A program that accepts any type, or names none, gets JSON.
    const isForPerson = request.method === 'GET' && request.accepts(['json', 'html']) === 'html';
    if (isForPerson) writePage(request, response, problem.body);
    else response.json(located(request, problem.body));
  };
}

/** The problem with the links to the documentation relative to the address of the request. */
function located(request: Request, body: ProblemResponse['body']): ProblemResponse['body'] {
  const docs = relativePath(request, body.docs);
  return { ...body, docs, ...('type' in body && { type: docs }) };
}

function writePage(request: Request, response: Response, { error, docs }: ProblemResponse['body']): void {
  const home = homeOf(request);
  const { headers, html: text } = page({
    status: response.statusCode,
    home,
    title: 'This did not work',
    main: html`<h1>This did not work</h1><p>${error}</p>
<p><a href="${relativePath(request, docs)}">What this means</a> · <a href="${home}">Overview</a></p>`,
  });
  response
    .set(headers ?? {})
    .type('html')
    .send(text);
}
