import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contains, SCOPES } from '../../../../../router/src/core/access/scopes.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../../support/http-api.ts';

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterAll(() => api.close());

/**
 * Operations that need no key: documentation, health, and the pages with their login. Of the NPC face: its card, which callers
 * read to learn where to send a key, and `/rpc`, which answers a missing key or scope as an error of JSON-RPC (-32001).
 */
const PUBLIC = [
  'addFirstOwner',
  'callNpc',
  'getHealth',
  'getLiveness',
  'getMedia',
  'getNpcCard',
  'getReadiness',
  'getSession',
  'login',
  'logout',
  'openDocumentation',
  'pushTask',
  'replyLater',
  'showDocumentation',
  'showDocumentationPicture',
  'showFirstRun',
  'showOverview',
  'showPairingPage',
  'signIn',
  'signOut',
];

describe('every operation of the API', () => {
  it('names its scopes, except those that are public on purpose', () => {
    const open = api.endpoints.filter(({ scopes }) => scopes === 'public');
    expect(open.map(({ operationId }) => operationId).sort()).toEqual(PUBLIC);
    const filtered = api.endpoints.filter(({ scopes }) => scopes === 'any-key');
    expect(filtered.map(({ operationId }) => operationId).sort()).toEqual([
      'changeOwnPassword',
      'endSession',
      'endSessions',
      'listSessions',
      'streamEvents',
    ]);
    for (const { operationId, scopes } of api.endpoints) {
      if (typeof scopes === 'string') continue;
      expect(scopes.length, operationId).toBeGreaterThan(0);
      for (const scope of scopes) expect(SCOPES, operationId).toContain(scope);
    }
  });

  it('has a name of its own', () => {
    const names = api.endpoints.map(({ operationId }) => operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  it('refuses a key without its scopes, before it reads the body', async () => {
    for (const { method, path, scopes } of api.endpoints) {
      if (typeof scopes === 'string') continue;
      const others = SCOPES.filter((scope) => !contains([scope], scopes[0]));
      const headers = { 'x-api-key': await api.addKey({ scopes: others }) };
      const url = path.replaceAll(/\{\w+\}/g, '1');
      const body = method === 'get' || method === 'delete' ? undefined : 'not JSON';
      const answer = await api.call(method.toUpperCase(), url, body, headers);
      expect([path, answer.status, answer.body.code]).toEqual([path, 403, 'SCOPE_MISSING']);
      expect(answer.body.error).toBe(`The key lacks the scope ${scopes[0]}.`);
    }
  });

  it('lets a key with its scopes pass', async () => {
    for (const { method, path, scopes } of api.endpoints) {
      if (typeof scopes === 'string') continue;
      const headers = { 'x-api-key': await api.addKey({ scopes: [...scopes] }) };
      const url = path.replaceAll(/\{\w+\}/g, 'none');
      const body = method === 'get' || method === 'delete' ? undefined : {};
      const { status } = await api.call(method.toUpperCase(), url, body, headers);
      expect([401, 403], `${method} ${path}`).not.toContain(status);
    }
  });
});
