import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Caller, RESTRICTIONS } from '../../../../router/src/core/access/caller.ts';
import { endpoint } from '../../../../router/src/infra/operations/endpoint.ts';
import { RestCalls } from '../../../../router/src/infra/operations/server.ts';

const seen: unknown[] = [];
const common = { tag: 'Routes' as const, summary: 'x', responses: {} };
const rest = new RestCalls(() => [
  endpoint({
    ...common,
    method: 'post',
    path: '/things/{id}',
    operationId: 'putThing',
    scopes: ['routes:write'],
    honours: ['chats', 'routes'],
    body: z.strictObject({ name: z.string() }),
    query: z.strictObject({ limit: z.string().optional() }),
    handle: ({ params, query, body, header }) => {
      seen.push({ params, query, body, key: header('idempotency-key') });
      return { status: 200, json: { at: new Date(0), none: undefined } };
    },
  }),
  endpoint({
    ...common,
    method: 'get',
    path: '/',
    operationId: 'open',
    scopes: 'public',
    handle: () => ({ status: 204, json: {} }),
  }),
]);
const ADMIN: Caller = { kind: 'admin-key' };

describe('RestCalls', () => {
  it('calls an operation as a request would, and returns its body as on the wire', async () => {
    const result = await rest.call('putThing', ADMIN, {
      params: { id: '7' },
      query: { limit: 5, other: undefined },
      body: { name: 'a', other: undefined },
      headers: { 'idempotency-key': 'k' },
    });
    expect(result).toEqual({ json: { at: '1970-01-01T00:00:00.000Z' }, object: '7' });
    expect(seen).toEqual([{ params: { id: '7' }, query: { limit: '5' }, body: { name: 'a' }, key: 'k' }]);
  });

  it('checks scopes before the body, and the body before the call', async () => {
    const key = { kind: 'key', key: { scopes: ['routes:read'] } } as unknown as Caller;
    await expect(rest.call('putThing', key)).rejects.toMatchObject({ code: 'SCOPE_MISSING' });
    await expect(rest.call('putThing', ADMIN)).rejects.toMatchObject({ code: 'INVALID_BODY' });
    const restricted = {
      kind: 'key',
      key: { scopes: ['routes:write'], accounts: ['a'] },
    } as unknown as Caller;
    await expect(rest.call('putThing', restricted)).rejects.toMatchObject({ code: 'ACCOUNT_NOT_ALLOWED' });
    expect(rest.admissionOf('putThing', 'open')).toEqual({
      scopes: ['routes:write'],
      honours: ['chats', 'routes'],
    });
    expect(rest.admissionOf('open')).toEqual({ scopes: 'any-key', honours: RESTRICTIONS });
  });

  it('knows its operations only', async () => {
    await expect(rest.call('other', ADMIN)).rejects.toThrow('there is no operation other');
  });
});
