import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterAll(() => api.close());

it('every operation of the API has a name of its own', () => {
  const names = api.endpoints.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
});

it('an operation of the API lets a key with its scopes pass', async () => {
  for (const { method, path, scopes } of api.endpoints) {
    if (typeof scopes === 'string') continue;
    const headers = { 'x-api-key': await api.addKey({ scopes: [...scopes] }) };
    const url = path.replaceAll(/\{\w+\}/g, 'none');
    const body = method === 'get' || method === 'delete' ? undefined : {};
    const { status } = await api.call(method.toUpperCase(), url, body, headers);
    expect([401, 403], `${method} ${path}`).not.toContain(status);
  }
});
