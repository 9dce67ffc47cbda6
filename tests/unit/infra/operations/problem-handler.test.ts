import { createHash } from 'node:crypto';
import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { HttpProblem, RateLimitProblem } from '../../../../router/src/infra/operations/problem.ts';
import { problemHandler } from '../../../../router/src/infra/operations/server.ts';
import { serverOf } from '../../../support/abi.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';
const fail =
  (error: unknown): RequestHandler =>
  () => {
    throw error;
  };

/** An application whose only path ends with `handler`. */
async function failing(handler: RequestHandler) {
  const log = recordingLog();
  const app = express();
  // Express prints an error that the handler passes on in any other environment.
  app.set('env', 'test');
  app.all('/things/:id', handler);
  app.use(problemHandler(log, { record: async () => undefined }));
  const { url } = await serverOf(app);
  const send = async (accept: string, method = 'GET') => {
    const response = await fetch(`${url}/things/7`, { method, headers: { accept } });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { send, log };
}

describe('problemHandler', () => {
  it.each([
    ['GET', BROWSER, 'text/html'],
    ['GET', 'application/json', 'application/json'],
    ['GET', '*/*', 'application/json'],
    ['GET', 'application/json, text/html;q=0.9', 'application/json'],
    ['GET', 'image/png', 'application/json'],
    ['POST', BROWSER, 'application/json'],
  ])('answers %s with Accept %s as %s', async (method, accept, type) => {
    const { send } = await failing(
      fail(new HttpProblem(404, 'NOT_FOUND', { sentence: 'There is <nothing>.' })),
    );
    const { status, headers, text } = await send(accept, method);
    expect(status).toBe(404);
    expect(headers.get('content-type')?.split(';')[0]).toBe(type);
    expect(text).toContain(
      type === 'text/html' ? '<p>There is &lt;nothing&gt;.</p>' : '"There is <nothing>."',
    );
  });

  it('links the page to the entry of the documentation and allows its own style', async () => {
    const { send } = await failing(
      fail(new HttpProblem(404, 'NOT_FOUND', { sentence: 'There is nothing.' })),
    );
    const { headers, text } = await send(BROWSER);
    // Relative: a proxy may have removed a prefix from the path.
    expect(text).toContain('href="../docs/troubleshooting.md#not_found"');
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers.get('content-security-policy')).toContain(`style-src 'sha256-${hash}'`);
  });

  it('links a problem to the documentation relative to the request', async () => {
    const { send } = await failing(fail(new RateLimitProblem('minute', 60)));
    const { docs, type } = JSON.parse((await send('application/json')).text);
    expect([docs, type]).toEqual(Array(2).fill('../docs/troubleshooting.md#rate_limited'));
  });

  it('keeps the headers of a problem', async () => {
    const { send } = await failing(
      fail(new StorageUnavailableError({ sentence: 'The database does not answer.' })),
    );
    for (const accept of [BROWSER, 'application/json']) {
      expect((await send(accept)).headers.get('retry-after')).toBe('5');
    }
  });

  it('logs a fault of the service with the path of the endpoint, not of the request', async () => {
    const fault = new Error('secret internals');
    const { send, log } = await failing(fail(fault));
    expect((await send('*/*')).text).not.toContain('secret');
    expect(log.lines).toEqual([
      {
        level: 'error',
        message: 'request failed',
        fields: { err: fault, code: 'INTERNAL', method: 'GET', path: '/things/:id' },
      },
    ]);
  });

  it('does not log a mistake of the caller', async () => {
    const { send, log } = await failing(
      fail(new HttpProblem(400, 'INVALID_BODY', { sentence: 'text is missing.' })),
    );
    await send('*/*');
    expect(log.lines).toEqual([]);
  });

  it('closes the connection when the response has begun', async () => {
    const { send } = await failing((_request, response) => {
      response.write('half');
      throw new Error('too late');
    });
    await expect(send('*/*')).rejects.toThrow();
  });
});
