import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HttpApi, startHttpApi } from '../../support/http-api.ts';

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

const call = async (method: string, path: string, body?: object) => {
  const response = await fetch(`${api.url}${path}`, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
};

const PATH = '/api/playground/scenarios';
const GREETING = 'name: Greeting\nsteps: [{ as: Ana, say: hi }] # nothing else\n';

describe('/api/playground/scenarios', () => {
  it('saves, lists, shows and deletes scenarios', async () => {
    const saved = await call('POST', PATH, { yaml: GREETING });
    expect(saved).toMatchObject({ status: 201, body: { data: { name: 'Greeting' } } });
    const { id } = saved.body.data;
    expect((await call('GET', PATH)).body.data).toEqual([saved.body.data]);
    expect((await call('GET', `${PATH}/${id}`)).body.data).toEqual({ ...saved.body.data, yaml: GREETING });
    expect((await call('DELETE', `${PATH}/${id}`)).status).toBe(204);
    for (const [method, path] of [
      ['GET', `${PATH}/${id}`],
      ['DELETE', `${PATH}/${id}`],
      ['POST', `${PATH}/${id}/run`],
      ['GET', `${PATH}/x`],
    ] as const) {
      expect(await call(method, path), `${method} ${path}`).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND' },
      });
    }
  });

  it.each([
    ['steps: [{ as: Ana, says: x }]', 'line 1: steps.0.says is not a known word'],
    ['steps: [{ as: Ana, restart: true }]', 'line 1: steps.0.restart is not a known word'],
    [
      'steps: [{ as: Ana, send: photo.png }]',
      'step 1 names the file photo.png; only wa2ai simulate reads files',
    ],
    ['steps: [{ as: Ana, silence: 200000 }]', 'may wait longer than 180 seconds'],
  ])('refuses %j', async (yaml, sentence) => {
    const { status, body } = await call('POST', PATH, { yaml });
    expect([status, body.code]).toEqual([400, 'INVALID_BODY']);
    expect(body.error).toContain(sentence);
  });

  it('runs a scenario; what the service refuses is a failed step', async () => {
    const run = async (yaml: string) => {
      const { id } = (await call('POST', PATH, { yaml })).body.data;
      return (await call('POST', `${PATH}/${id}/run`)).body.data;
    };
    expect(await run('route: nobody\nsteps: [{ as: Ana, say: hi }]')).toMatchObject({
      isPassed: false,
      steps: [{ outcome: 'failed', detail: 'There is no route with the id or the name nobody.' }],
    });
  });
});

describe('POST /api/routes/inspect', () => {
  it.each([
    ['http://127.0.0.1:8000', 404, 'No agent answers there.'],
    ['http://127.0.0.1:8001', 404, 'An HTTP server answers there, and its protocol is unknown.'],
    ['ftp://127.0.0.1', 400, 'must be a URL that begins with http:// or https://'],
    ['http://169.254.169.254/', 400, 'is refused'],
  ])('answers for %s with %i', async (agentEndpoint, status, sentence) => {
    const found = await call('POST', '/api/routes/inspect', { agentEndpoint });
    expect(found.status).toBe(status);
    expect(found.body.error).toContain(sentence);
  });
});
