import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  RESTRICTIONS,
  type Restriction,
  ROLES,
  scopesOfRole,
} from '../../../../router/src/core/access/caller.ts';
import { contains, SCOPES, type Scope } from '../../../../router/src/core/access/scopes.ts';
import { UNRESTRICTABLE } from '../../../../router/src/features/access/keys-api.ts';
import type { Endpoint } from '../../../../router/src/infra/operations/endpoint.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterAll(() => api.close());

/** Operations without a caller: documentation, health, signing in, and addresses that are themselves the secret. */
const PUBLIC = [
  'addFirstOwner',
  'getHealth',
  'getLiveness',
  'getMedia',
  'getNpcCard',
  'getReadiness',
  'login',
  'logout',
  'openDocumentation',
  'pushTask',
  'replyLater',
  'searchDocumentation',
  'showDocumentation',
  'showDocumentationPicture',
  'showDocumentationSearch',
  'showFirstRun',
  'signIn',
];

/** Operations of the caller itself, and live events, which are filtered one by one. */
const ANY_CALLER = [
  'changeOwnPassword',
  'endSession',
  'endSessions',
  'getSession',
  'listSessions',
  'signOut',
  'streamEvents',
];

/** Of sessions: a caller without one needs the scope `admin`. */
const OF_SESSIONS = ['endSession', 'endSessions', 'listSessions'];

/** A kind of caller: its headers, made for each call because some calls end sessions, and what it has. */
interface TestCaller {
  name: string;
  headers(): Promise<Record<string, string>>;
  scopes: readonly Scope[] | 'none';
  restriction?: Restriction;
}

const key = (given: Parameters<HttpApi['addKey']>[0]) => async () => ({
  'x-api-key': await api.addKey(given),
});
const RESTRICTED: Record<Restriction, Partial<Parameters<HttpApi['addKey']>[0]>> = {
  chats: { chats: ['5493777239922'] },
  routes: { routes: ['01900000-0000-7000-8000-000000000001'] },
  accounts: { accounts: ['sales'] },
};

const OTHERS = SCOPES.filter((scope) => scope !== 'admin');

const CALLERS: TestCaller[] = [
  { name: 'nobody', headers: async () => ({}), scopes: 'none' },
  {
    name: 'wrong key',
    headers: async () => ({ 'x-api-key': `wa2ai_0123456789ab_${'A'.repeat(43)}` }),
    scopes: 'none',
  },
  { name: 'admin key', headers: async () => ({ 'x-api-key': ADMIN_KEY }), scopes: SCOPES },
  { name: 'session of the admin key', headers: () => api.openSession(), scopes: SCOPES },
  ...ROLES.map((role) => ({
    name: role,
    headers: () => api.openSession(role),
    scopes: scopesOfRole(role),
  })),
  ...SCOPES.map((scope) => ({ name: `key ${scope}`, headers: key({ scopes: [scope] }), scopes: [scope] })),
  ...RESTRICTIONS.map((restriction) => ({
    name: `key with every scope but admin, for some ${restriction}`,
    headers: key({ scopes: OTHERS, ...RESTRICTED[restriction] }),
    scopes: OTHERS,
    restriction,
  })),
];

/** What the definition says about the caller. */
function expectedOf(endpoint: Endpoint, caller: TestCaller): string {
  const outcome = admissionOf(endpoint, caller);
  const isPage = endpoint.responses[401]?.contentType === 'text/html';
  return isPage && outcome !== 'admitted' ? 'a page without content' : outcome;
}

function admissionOf({ scopes, honours, operationId }: Endpoint, caller: TestCaller): string {
  const { scopes: granted, restriction } = caller;
  if (scopes === 'public') return 'admitted';
  if (granted === 'none') return 'UNAUTHORIZED';
  const isKey = caller.name.startsWith('key');
  if (isKey && OF_SESSIONS.includes(operationId) && !granted.includes('admin')) return 'SCOPE_MISSING';
  if (scopes !== 'any-key' && !scopes.every((scope) => contains(granted, scope))) return 'SCOPE_MISSING';
  return restriction === undefined || honours.includes(restriction)
    ? 'admitted'
    : `restricted: ${restriction}`;
}

/** What the server did. The call names nothing that exists; the rest of a stream is not read. */
async function observedOf({ method, path, operationId }: Endpoint, headers: Record<string, string>) {
  const gone = new AbortController();
  const url = api.url + path.replaceAll(/\{\w+\}/g, '999');
  const response = await fetch(url, {
    method: method.toUpperCase(),
    redirect: 'manual',
    headers,
    signal: gone.signal,
    ...(operationId === 'callNpc' && { body: '{"jsonrpc":"2.0","method":"task.list","id":1}' }),
  });
  const type = response.headers.get('content-type') ?? '';
  const isPage = type.startsWith('text/html');
  const text = /json|html/.test(type) ? await response.text() : '';
  gone.abort();
  if (isPage && [401, 403].includes(response.status)) return 'a page without content';
  const { code, error } = text.startsWith('{') ? JSON.parse(text) : {};
  if (operationId === 'callNpc') return npcOutcome(error);
  if (code === 'UNAUTHORIZED' || code === 'SCOPE_MISSING') return code as string;
  return outcomeOf(String(error));
}

function npcOutcome(error?: { code: number; data?: { reason?: string } }): string {
  const reason = error?.data?.reason ?? '';
  if (error?.code !== -32_001) return 'admitted';
  if (/lacks the scope/.test(reason)) return 'SCOPE_MISSING';
  return /Sign in|not known/.test(reason) ? 'UNAUTHORIZED' : outcomeOf(reason);
}

function outcomeOf(sentence: string): string {
  const [, restriction] = /some (\w+) only, which excludes this call/.exec(sentence) ?? [];
  return restriction === undefined ? 'admitted' : `restricted: ${restriction}`;
}

describe.each(CALLERS)('$name', (caller) => {
  it('is admitted by every operation that says so, and refused by every other one', async () => {
    const expected: Record<string, string> = {};
    const observed: Record<string, string> = {};
    for (const endpoint of api.endpoints) {
      if (endpoint.scopes === 'public') continue;
      expected[endpoint.operationId] = expectedOf(endpoint, caller);
      observed[endpoint.operationId] = await observedOf(endpoint, await caller.headers());
    }
    expect(observed).toEqual(expected);
  });
});

describe('every operation of the API', () => {
  it('names scopes, except those that have no caller and those of the caller itself', () => {
    const withScopes = (wanted: string) =>
      api.endpoints.flatMap(({ scopes, operationId }) => (scopes === wanted ? [operationId] : [])).sort();
    expect(withScopes('public')).toEqual(PUBLIC);
    expect(withScopes('any-key')).toEqual(ANY_CALLER);
    for (const { operationId, scopes } of api.endpoints) {
      if (typeof scopes === 'string') continue;
      expect(scopes.length, operationId).toBeGreaterThan(0);
      for (const scope of scopes) expect(SCOPES, operationId).toContain(scope);
    }
  });

  it('refuses before it reads the body', async () => {
    const viewer = await api.openSession('viewer');
    const path = '/api/routes';
    const answer = await api.call('POST', path, 'not JSON', {
      ...viewer,
      'content-type': 'application/json',
    });
    expect([answer.status, answer.body.error]).toEqual([403, 'Your role lacks the scope routes:write.']);
  });

  it('that needs a scope which cannot be restricted honours no restriction, and of each other scope one does', () => {
    const honouring = new Set<Scope>();
    for (const { scopes, honours } of api.endpoints) {
      if (typeof scopes === 'string' || honours.length === 0) continue;
      for (const scope of scopes) honouring.add(scope);
    }
    // Faces beside the REST API, of which every method is the caller's own.
    for (const scope of ['a2a', 'mcp'] as const) honouring.add(scope);
    expect(SCOPES.filter((scope) => !honouring.has(scope)).sort()).toEqual([...UNRESTRICTABLE].sort());
  });
});
