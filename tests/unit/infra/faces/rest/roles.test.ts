import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, scopesOfRole } from '../../../../../router/src/core/access/roles.ts';
import { contains } from '../../../../../router/src/core/access/scopes.ts';
import { type HttpApi, startHttpApi } from '../../../../support/http-api.ts';

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

interface Described {
  operationId: string;
  security: Array<{ apiKey?: string[] }>;
}

/** Every operation of the description, with the scopes that it names. */
async function operations() {
  const { body } = await api.call('GET', '/openapi.json');
  const paths = body.paths as Record<string, Record<string, Described>>;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security }]) => ({
      ...{ path, method: method.toUpperCase(), operationId },
      scopes: security.flatMap(({ apiKey = [] }) => apiKey) as ReturnType<typeof scopesOfRole>,
    })),
  );
}

/** The status and the code of a problem; the rest of a stream is not read. */
async function statusOf(method: string, path: string, headers: Record<string, string>) {
  const gone = new AbortController();
  const response = await fetch(api.url + path.replaceAll(/\{\w+\}/g, '999'), {
    method,
    redirect: 'manual',
    headers,
    signal: gone.signal,
  });
  const isProblem = /json/.test(response.headers.get('content-type') ?? '') && response.status >= 400;
  const code = isProblem ? ((await response.json()) as { code: string }).code : undefined;
  gone.abort();
  return { status: response.status, code };
}

describe.each(ROLES)('the role %s', (role) => {
  it('may do what its scopes say, on every operation of the API', async () => {
    const granted = scopesOfRole(role);
    const table: Array<[string, string]> = [];
    const expected: Array<[string, string]> = [];
    for (const { method, path, operationId, scopes } of await operations()) {
      if (scopes.length === 0) continue;
      // Of its own for each call: some end sessions.
      const answer = await statusOf(method, path, await api.openSession(role));
      const isRefused = answer.code === 'SCOPE_MISSING';
      expect(isRefused ? answer.status : 403, operationId).toBe(403);
      table.push([operationId, isRefused ? 'refused' : 'allowed']);
      const isAllowed = scopes.every((scope) => contains(granted, scope));
      expected.push([operationId, isAllowed ? 'allowed' : 'refused']);
    }
    expect(table.length).toBeGreaterThan(80);
    expect(table).toEqual(expected);
    const refused = table.filter(([, outcome]) => outcome === 'refused').length;
    expect({ owner: refused === 0, operator: refused > 5, viewer: refused > 50 }[role]).toBe(true);
  });
});

it('a browser that is not signed in may call public operations only', async () => {
  await api.openSession('owner');
  for (const { method, path, operationId, scopes } of await operations()) {
    if (scopes.length === 0) continue;
    expect((await statusOf(method, path, {})).status, operationId).toBe(401);
  }
});
