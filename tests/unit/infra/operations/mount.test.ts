import express, { type RequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Endpoint, endpoint } from '../../../../router/src/infra/operations/endpoint.ts';
import { mount } from '../../../../router/src/infra/operations/mount.ts';
import { RepeatedCalls } from '../../../../router/src/infra/operations/repeated-calls.ts';
import { problemHandler } from '../../../../router/src/infra/operations/server.ts';
import { MemoryRepeatedCalls } from '../../../doubles/memory-repeated-calls.ts';
import { serverOf } from '../../../support/abi.ts';
import { quietLog } from '../../../support/quiet-log.ts';

function anEndpoint(change: Partial<Endpoint> = {}): Endpoint {
  const definition: Endpoint = {
    method: 'get',
    path: '/thing',
    operationId: 'op',
    tag: 'Health',
    scopes: ['admin'],
    honours: [],
    summary: 'A thing',
    responses: {},
    handle: () => ({ status: 200, text: 'thing' }),
  };
  return endpoint({ ...definition, ...change } as Endpoint);
}

/** Serves the endpoints; `guarded` receives whether the path of each request is public. */
async function served(endpoints: Endpoint[], guard?: RequestHandler) {
  const guarded: boolean[] = [];
  const audit = { record: async () => undefined };
  const app = express();
  const pass: RequestHandler = (_request, response, next) => {
    response.locals.caller = { kind: 'admin-key' };
    next();
  };
  app.use(
    mount(
      endpoints,
      ({ scopes }) =>
        (request, response, next) => {
          guarded.push(scopes === 'public');
          (guard ?? pass)(request, response, next);
        },
      audit,
      new RepeatedCalls(new MemoryRepeatedCalls()),
    ),
  );
  app.use(problemHandler(quietLog, audit));
  const { url } = await serverOf(app);
  const send = async (method: string, path: string, body?: string, type = 'application/json') => {
    const headers = body === undefined ? undefined : { 'content-type': type };
    const response = await fetch(url + path, { method, body, headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { send, guarded };
}

describe('mount', () => {
  it('takes an earlier name of a field, and refuses it beside the new one', async () => {
    const body = z.strictObject({ enabled: z.boolean() });
    const { send } = await served([
      anEndpoint({
        method: 'post',
        body,
        oldNames: { isEnabled: 'enabled', isDisabled: '!enabled' },
        handle: (call) => ({ status: 200, text: String((call.body as z.output<typeof body>).enabled) }),
      }),
    ]);
    const sent = async (value: object) => (await send('POST', '/thing', JSON.stringify(value))).text;
    expect(await sent({ enabled: true })).toBe('true');
    expect(await sent({ isEnabled: false })).toBe('false');
    expect(await sent({ isDisabled: true })).toBe('false');
    expect(await sent({ enabled: true, isDisabled: true })).toContain('isDisabled is not a known field');
  });

  it('takes an earlier name of a parameter, and warns in every JSON response', async () => {
    const { send } = await served([
      anEndpoint({
        query: z.strictObject({ limit: z.string() }),
        oldNames: { count: 'limit' },
        handle: ({ query }) => ({ status: 200, json: { success: true, data: query } }),
      }),
    ]);
    expect(JSON.parse((await send('GET', '/thing?limit=3')).text)).toEqual({
      success: true,
      data: { limit: '3' },
    });
    expect(JSON.parse((await send('GET', '/thing?count=3')).text)).toMatchObject({
      data: { limit: '3' },
      warnings: [{ code: 'OLD_NAME', field: 'count' }],
    });
  });

  it('answers 405 with the allowed methods for another method of a known path, and 404 elsewhere', async () => {
    const { send } = await served([anEndpoint(), anEndpoint({ method: 'put' })]);
    const answer = await send('DELETE', '/thing');
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('GET, PUT');
    expect(JSON.parse(answer.text)).toMatchObject({
      code: 'METHOD_NOT_ALLOWED',
      error: 'This path accepts GET, PUT only.',
    });
    expect((await send('GET', '/Thing')).status).toBe(404);
    expect((await send('GET', '/thing/more')).status).toBe(404);
  });

  it('matches paths in the order of the endpoints', async () => {
    const text = (text: string) => ({ handle: () => ({ status: 200, text }) });
    const { send } = await served([
      anEndpoint({ path: '/things/all', ...text('all') }),
      anEndpoint({
        path: '/things/{id}',
        handle: ({ params }) => ({ status: 200, text: `id ${params.id}` }),
      }),
    ]);
    expect((await send('GET', '/things/all')).text).toBe('all');
    expect((await send('GET', '/things/a%2Fb')).text).toBe('id a/b');
  });

  it('is public for a whole path when one of its endpoints is, and never for an unknown path', async () => {
    const { send, guarded } = await served([
      anEndpoint({ path: '/open' }),
      anEndpoint({ path: '/open', method: 'post', scopes: 'public' }),
      anEndpoint({ path: '/closed' }),
    ]);
    await send('GET', '/open');
    await send('GET', '/closed');
    await send('GET', '/unknown');
    expect(guarded).toEqual([true, false, false]);
  });

  it('gives the handler the validated parts of the request', async () => {
    const { send } = await served([
      anEndpoint({
        method: 'post',
        path: '/things/{id}',
        body: z.strictObject({ n: z.int() }),
        query: z.strictObject({ q: z.string().default('none') }),
        handle: ({ params, query, body, caller }) => ({ status: 200, json: { params, query, body, caller } }),
      }),
    ]);
    expect(JSON.parse((await send('POST', '/things/7', '{"n":1}')).text)).toEqual({
      params: { id: '7' },
      query: { q: 'none' },
      body: { n: 1 },
      caller: { kind: 'admin-key' },
    });
    expect(JSON.parse((await send('POST', '/things/7?p=1', '{"n":1}')).text).code).toBe('INVALID_QUERY');
    expect(JSON.parse((await send('POST', '/things/7', '{"n":"1"}')).text).code).toBe('INVALID_BODY');
    expect(JSON.parse((await send('POST', '/things/7', '{')).text).code).toBe('INVALID_JSON');
  });

  it('treats a missing body as {} only where the body is optional', async () => {
    const body = z.strictObject({ n: z.int().optional() });
    const handle: Endpoint['handle'] = (call) => ({ status: 200, json: call.body });
    const { send } = await served([
      // A client sends no Content-Length with a DELETE without a body.
      anEndpoint({ method: 'delete', path: '/optional', body, isBodyOptional: true, handle }),
      anEndpoint({ method: 'delete', path: '/required', body, handle }),
    ]);
    expect((await send('DELETE', '/optional')).text).toBe('{}');
    expect((await send('DELETE', '/required')).status).toBe(400);
  });

  it('ignores body and query where an endpoint declares none', async () => {
    const { send } = await served([anEndpoint({ method: 'post' })]);
    expect((await send('POST', '/thing?any=1', 'not JSON')).text).toBe('thing');
  });

  it('reads a form where the endpoint asks for one', async () => {
    const bodyType = 'application/x-www-form-urlencoded';
    const handle: Endpoint['handle'] = ({ body }) => ({ status: 200, json: body });
    const body = z.object({ key: z.string() });
    const { send } = await served([anEndpoint({ method: 'post', body, bodyType, handle })]);
    expect((await send('POST', '/thing', 'key=a+b', bodyType)).text).toBe('{"key":"a b"}');
  });
});
