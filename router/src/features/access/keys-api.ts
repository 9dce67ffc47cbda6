import { z } from 'zod';
import { RESTRICTIONS } from '../../core/access/caller.ts';
import { SCOPES, type Scope } from '../../core/access/scopes.ts';
import { issueOf, PHRASES, say } from '../../core/phrases.ts';
import type { ApiKey, KeyLimits } from '../../core/ports/api-key-store.ts';
import type { App } from '../../feature.ts';
import { keyIdOf, newKey, prefixOf } from '../../infra/operations/access.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  changedResponse,
  chatField,
  dataResponse,
  optionalPageQuery,
  pageOfAll,
  pageResponse,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, problemSchema } from '../../infra/operations/problem.ts';
import type { ApiResponse } from '../../infra/operations/response.ts';

const DEFAULT_LIMITS: KeyLimits = { perMinute: 100, perSecond: 10 };

const scopeField = z.enum(SCOPES);

const limitsField = z.strictObject({
  perMinute: z.int().min(1).max(1_000_000).default(DEFAULT_LIMITS.perMinute).describe('Requests per minute.'),
  perSecond: z
    .int()
    .min(1)
    .max(100_000)
    .default(DEFAULT_LIMITS.perSecond)
    .describe('Requests within one second.'),
});

const CHATS =
  'The only chats that the key may read, send to, and have routes for: phone numbers, JIDs or group ids.';
const ROUTES = 'Ids of the only routes that the key may read and change. It cannot add routes then.';

const ACCOUNTS =
  'Ids of the only WhatsApp accounts that the key may read, send from, and have routes for. It cannot add accounts then.';

/** Scopes of which no operation honours a restriction: a key with both could do nothing with them. */
export const UNRESTRICTABLE: readonly Scope[] = ['admin', 'playground', 'webhooks:manage'];

const keyBody = z
  .strictObject({
    name: z
      .string()
      .max(200)
      .refine((name) => name.trim() !== '', PHRASES['field.not-blank'])
      .describe('What it is for.'),
    scopes: z
      .array(scopeField)
      .min(1, PHRASES['field.some-scope'])
      .max(SCOPES.length)
      .describe('What it may do.'),
    chats: z.array(chatField).min(1, PHRASES['field.some-chat']).max(100).optional().describe(CHATS),
    routes: z
      .array(z.uuid(PHRASES['field.route-id']))
      .min(1, PHRASES['field.some-route'])
      .max(100)
      .optional()
      .describe(ROUTES),
    accounts: z
      .array(accountIdField)
      .min(1, PHRASES['field.some-account'])
      .max(100)
      .optional()
      .describe(ACCOUNTS),
    limits: limitsField.optional().describe('Default: 100 a minute, 10 a second.'),
    expiresAt: z.iso
      .datetime({ offset: true, error: PHRASES['field.time-2027'] })
      .transform((text) => new Date(text))
      .optional()
      .describe('It is refused from this time on. Default: never.'),
  })
  .superRefine(({ scopes, ...restrictions }, context) => {
    const restriction = RESTRICTIONS.find((each) => restrictions[each] !== undefined);
    const scope = UNRESTRICTABLE.find((each) => scopes.includes(each));
    if (restriction === undefined || scope === undefined) return;
    const mistake = say('field.unrestricted-scope', { scope });
    context.addIssue({ code: 'custom', path: [restriction], ...issueOf(mistake) });
  })
  .meta({
    id: 'NewKey',
    examples: [
      {
        name: 'orders service',
        scopes: ['messages:send', 'messages:read'],
        chats: ['+54 9 3777 239922'],
        expiresAt: '2027-01-31T00:00:00Z',
      },
    ],
  });

const keyFields = z.object({
  id: z.string(),
  prefix: z.string().describe('The visible start of the key.'),
  name: z.string(),
  scopes: z.array(scopeField),
  chats: z.array(z.string()).optional().describe(CHATS),
  routes: z.array(z.string()).optional().describe(ROUTES),
  accounts: z.array(z.string()).optional().describe(ACCOUNTS),
  limits: z.object({ perMinute: z.int(), perSecond: z.int() }),
  createdAt: timeView,
  expiresAt: timeView.optional(),
  lastUsedAt: timeView.optional().describe('Of its last request, to a minute.'),
});

/** A key as the API shows it. */
export const keyView = keyFields.meta({ id: 'Key' });

const newKeyView = keyFields
  .extend({
    key: z
      .string()
      .optional()
      .describe(
        'The key itself. It is shown now only; wa2ai stores a hash of it. Absent in the response of a repeated call.',
      ),
  })
  .meta({ id: 'CreatedKey' });

const listQuery = z.strictObject(optionalPageQuery);

const notFound = { description: 'No such key.', schema: problemSchema };

/** Keys of this API: `/api/keys`. */
export function keysApi({ keys, clock, log }: App): Endpoint[] {
  const common = { tag: 'Keys' };
  const params = { id: 'Id of the key.' };

  return [
    endpoint({
      ...common,
      method: 'post',
      path: '/api/keys',
      operationId: 'createKey',
      scopes: ['admin'],
      honours: [],
      summary: 'Add a key; the response is the only one that shows it',
      body: keyBody,
      creates: {
        secrets: ['key'],
        known: async (repeatId) => {
          const id = keyIdOf(repeatId);
          const key = (await keys.all()).find((each) => each.id === id);
          return key && createdResponse(viewOf(key));
        },
      },
      responses: { 201: { description: 'The key.', schema: changedResponse(newKeyView) } },
      handle: async ({ body, repeatId }) => {
        if (body.expiresAt && body.expiresAt.getTime() <= clock.now()) throw pastExpiry();
        const { id, text, secretHash } = newKey(repeatId === undefined ? undefined : keyIdOf(repeatId));
        const { limits = DEFAULT_LIMITS, ...rest } = body;
        const scopes = [...new Set(body.scopes)];
        const created = await keys.create({ ...rest, scopes, limits, id, secretHash });
        log.info({ keyId: id, scopes }, 'key created');
        return createdResponse({ ...viewOf(created), key: text });
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/keys',
      operationId: 'listKeys',
      scopes: ['admin'],
      honours: [],
      summary: 'List keys, oldest first',
      query: listQuery,
      responses: { 200: { description: 'The keys, without their secrets.', schema: pageResponse(keyView) } },
      handle: async ({ query }) => ({
        status: 200,
        json: pageOfAll((await keys.all()).map(viewOf), query, ({ id }) => id),
      }),
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/keys/{id}',
      operationId: 'getKey',
      scopes: ['admin'],
      honours: [],
      summary: 'Show a key without its secret',
      params,
      responses: { 200: { description: 'The key.', schema: dataResponse(keyView) }, 404: notFound },
      handle: async ({ params }) => ({ status: 200, json: { success: true, data: await found(params.id) } }),
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/keys/{id}',
      operationId: 'deleteKey',
      scopes: ['admin'],
      honours: [],
      summary: 'Revoke a key on all nodes',
      params,
      responses: {
        200: { description: 'The key that is gone.', schema: changedResponse(keyView) },
        404: notFound,
      },
      handle: async ({ params }) => {
        const data = await found(params.id);
        if (!(await keys.delete(data.id))) throw noSuchKey();
        log.info({ keyId: data.id }, 'key revoked');
        return { status: 200, json: { success: true, message: 'Key revoked.', data } };
      },
    }),
  ];

  async function found(id: string | undefined): Promise<z.output<typeof keyView>> {
    const key = (await keys.all()).find((each) => each.id === id);
    if (!key) throw noSuchKey();
    return viewOf(key);
  }
}

function viewOf(key: ApiKey) {
  return shown(keyView, { ...key, prefix: prefixOf(key.id) });
}

function createdResponse(data: z.output<typeof newKeyView>): ApiResponse {
  const { id, key } = data;
  const message = key === undefined ? 'Key created.' : 'Key created. Copy it now.';
  return {
    status: 201,
    object: id,
    headers: { location: `/api/keys/${id}` },
    json: { success: true, message, data },
  };
}

function pastExpiry(): HttpProblem {
  return invalid('body', [mistakeAt('expiresAt', say('field.future'))]);
}

function noSuchKey(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-key'));
}
