import { beforeEach, describe, expect, it } from 'vitest';
import { en } from '../../../console/src/translation/en.ts';
import type { AuditEvent } from '../../../router/src/core/ports/audit-log.ts';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

const admin = { 'x-api-key': ADMIN_KEY };

function event(number: number, given: Partial<AuditEvent> = {}): AuditEvent {
  return {
    at: new Date(Date.UTC(2026, 0, 1, 0, number)),
    face: 'rest',
    caller: 'key',
    keyId: '0123456789ab',
    action: 'createRoute',
    object: String(number),
    outcome: 'ok',
    requestId: `r${number}`,
    address: '10.0.0.1',
    ...given,
  };
}

const api = httpApi({ apiKey: ADMIN_KEY });
beforeEach(async () => {
  await api.auditLog.append([
    event(1),
    event(2, { caller: 'admin-key', keyId: undefined }),
    event(3, { outcome: 'SCOPE_MISSING', action: 'deleteRoute', address: '10.0.0.2' }),
  ]);
});

const list = async (query = '') => (await api.call('GET', `/api/audit${query}`, undefined, admin)).body;
const seqs = async (query: string) => (await list(query)).data.map(({ seq }: { seq: string }) => seq);

describe('GET /api/audit', () => {
  it('lists entries, newest first, in pages', async () => {
    const first = await list('?limit=2');
    expect(first.data).toMatchObject([{ seq: '3' }, { seq: '2' }]);
    expect(first.data[0]).toEqual({
      seq: '3',
      at: '2026-01-01T00:03:00.000Z',
      face: 'rest',
      caller: 'key',
      keyId: '0123456789ab',
      action: 'deleteRoute',
      object: '3',
      outcome: 'SCOPE_MISSING',
      requestId: 'r3',
      address: '10.0.0.2',
      hash: api.auditLog.stored[2]?.hash,
    });
    expect(await seqs(`?limit=2&cursor=${first.next}`)).toEqual(['1']);
  });

  it.each([
    ['?caller=admin-key&action=createRoute', ['2']],
    ['?keyId=0123456789ab&cursor=4', ['3', '1']],
    ['?action=deleteRoute', ['3']],
    ['?object=1', ['1']],
    ['?outcome=SCOPE_MISSING', ['3']],
    ['?requestId=r2', ['2']],
    ['?address=10.0.0.2', ['3']],
    ['?since=2026-01-01T00:02:00Z&until=2026-01-01T00:03:00Z', ['2']],
    ['?action=nothing', []],
  ])('filters by %s', async (query, expected) => {
    expect(await seqs(query)).toEqual(expected);
  });

  it.each(['?caller=nobody', '?since=yesterday', '?limit=0', '?cursor=x', '?text=a'])(
    'refuses %s',
    async (query) => {
      expect((await api.call('GET', `/api/audit${query}`, undefined, admin)).body.code).toBe('INVALID_QUERY');
    },
  );
});

describe('GET /api/audit/chain', () => {
  it('shows both ends', async () => {
    const { body } = await api.call('GET', '/api/audit/chain', undefined, admin);
    expect(body.data).toEqual({
      head: { seq: '3', hash: api.auditLog.stored[2]?.hash },
      anchor: { seq: '0', hash: '0'.repeat(64) },
    });
  });
});

it.each(['/api/audit', '/api/audit/chain'])('%s is for admins only', async (path) => {
  const headers = { 'x-api-key': await api.addKey({ scopes: ['messages:read', 'routes:write'] }) };
  expect((await api.call('GET', path, undefined, headers)).body.code).toBe('SCOPE_MISSING');
});

it('records operations that the console says in words; of plain reads it says only that', () => {
  const recorded = api.endpoints.flatMap(({ method, operationId, isAudited, takesBatches }) =>
    (method !== 'get' || isAudited) && !takesBatches ? [operationId] : [],
  );
  expect(Object.keys(en.audit.actions).sort()).toEqual([...new Set(recorded)].sort());
});
