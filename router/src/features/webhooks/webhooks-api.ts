import { randomBytes, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { PHRASES, type Phrase, say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { httpUrlField, secretField } from '../../infra/agents/setting-fields.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  accountIdField,
  changedResponse,
  dataResponse,
  listResponse,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, phraseField, problemSchema } from '../../infra/operations/problem.ts';
import type { ApiResponse, IfMatch } from '../../infra/operations/response.ts';
import { WEBHOOK_EVENTS, type Webhook } from './webhooks.ts';

/** One attempt: the status of the receiver, or how it failed. */
type Sent = { status: number } | { status?: number; error: string; phrase?: Phrase };

/** Each node asks for the events of all webhooks together. */
const MAX_WEBHOOKS = 50;

const urlField = httpUrlField.describe(
  'Where events are sent. An address that WA2AI_EGRESS refuses is not called.',
);
const eventsField = z
  .array(z.enum(WEBHOOK_EVENTS))
  .min(1, PHRASES['field.some-event'])
  .max(WEBHOOK_EVENTS.length)
  .describe('What is sent.');
const secretBody = secretField
  .min(16, PHRASES['field.secret-16'])
  .describe('Key of the signature in `X-Wa2ai-Signature`. No response shows it.');

const EXAMPLE = { url: 'https://example.com/wa2ai', events: ['message', 'delivery'] };

const newBody = z
  .strictObject({
    url: urlField,
    events: eventsField,
    accountId: accountIdField.optional().describe('Only events of this WhatsApp account. Default: of all.'),
    secret: secretBody
      .optional()
      .describe('Key of the signature. Default: a new one, which only this response shows.'),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'NewWebhook', examples: [EXAMPLE] });

const changeBody = z
  .strictObject({
    url: urlField.optional(),
    events: eventsField.optional(),
    accountId: accountIdField.nullable().optional().describe('`null`: events of all accounts.'),
    secret: secretBody.optional(),
    enabled: z.boolean().optional().describe('`true` also switches on a webhook that wa2ai switched off.'),
  })
  .refine((change) => Object.keys(change).length > 0, PHRASES['field.change-something'])
  .meta({ id: 'WebhookChange', examples: [{ enabled: true }] });

const VIEW_EXAMPLE = {
  id: '6f1c8a52-7a0e-4c0e-9d0b-3a5a6f3c1e77',
  ...EXAMPLE,
  enabled: true,
  failures: 0,
  waiting: 0,
  createdAt: '2026-11-23T12:00:00.000Z',
  updatedAt: '2026-11-23T12:00:00.000Z',
};

const webhookFields = z.object({
  id: z.string(),
  url: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENTS)),
  accountId: z.string().optional(),
  enabled: z.boolean(),
  disabledReason: z.string().optional().describe('Why wa2ai switched it off.'),
  disabledPhrase: phraseField,
  failures: z.int().describe('Attempts that failed since the last one that succeeded.'),
  failingSince: timeView.optional(),
  pausedUntil: timeView
    .optional()
    .describe('No event is sent before: the receiver failed five times in a row, or asked for it.'),
  waiting: z.int().describe('Events that are neither delivered nor dead.'),
  createdAt: timeView,
  updatedAt: timeView,
});

const webhookView = webhookFields.meta({ id: 'Webhook', examples: [VIEW_EXAMPLE] });
const newWebhookView = webhookFields
  .extend({
    secret: z
      .string()
      .optional()
      .describe(
        'The new key of the signature. It is shown now only, and not in the response of a repeated call.',
      ),
  })
  .meta({ id: 'CreatedWebhook', examples: [{ ...VIEW_EXAMPLE, secret: 'mRZ1…' }] });

const deliveryView = z
  .object({
    id: z.string(),
    eventId: z.string().describe('`eventId` of the body: the same in every attempt.'),
    event: z.enum(WEBHOOK_EVENTS),
    accountId: z.string(),
    state: z.enum(['pending', 'delivered', 'dead']),
    attempts: z.int(),
    status: z.int().optional().describe('HTTP status of the last answer.'),
    error: z.string().optional().describe('Why the last attempt failed.'),
    phrase: phraseField,
    createdAt: timeView.describe('When the event happened.'),
    attemptedAt: timeView.optional().describe('The last attempt.'),
    dueAt: timeView
      .optional()
      .describe(
        'The next attempt, at the earliest. Absent while an earlier event of the chat waits, or the webhook is off.',
      ),
    waitsFor: z.string().optional().describe('Id of the earlier event of the chat that is sent first.'),
    finishedAt: timeView.optional(),
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [
      {
        id: '812',
        eventId: '0b8e6d0c-2f0e-4a3a-9b0c-5b9c1f8f6f10',
        event: 'message',
        accountId: 'default',
        state: 'pending',
        attempts: 2,
        status: 500,
        error: 'The receiver answered status 500.',
        createdAt: '2026-11-23T12:00:00.000Z',
        attemptedAt: '2026-11-23T12:00:03.120Z',
        dueAt: '2026-11-23T12:00:06.040Z',
      },
    ],
  });

const testView = z
  .object({
    isDelivered: z.boolean(),
    eventId: z.string(),
    status: z.int().optional().describe('HTTP status of the answer.'),
    error: z.string().optional(),
    phrase: phraseField,
  })
  .meta({
    id: 'WebhookTest',
    examples: [{ isDelivered: true, eventId: '0b8e6d0c-2f0e-4a3a-9b0c-5b9c1f8f6f10', status: 200 }],
  });

const deliveriesQuery = z.strictObject({
  state: z.enum(['pending', 'delivered', 'dead']).optional().describe('Default: all.'),
  ...pageQuery(rowIdField, 50),
});

function createdResponse(data: z.output<typeof newWebhookView>): ApiResponse {
  const json = { success: true, message: 'Webhook created.', data };
  return { status: 201, object: data.id, headers: { location: `/api/webhooks/${data.id}` }, json };
}

/** Events sent to other programs: `/api/webhooks`. */
export function webhooksApi(app: App): Endpoint[] {
  const { webhooks, webhookDeliveries, log } = app;
  const common = { tag: 'Webhooks', scopes: ['webhooks:manage'] as const, honours: [] as const };
  const params = { id: 'Id of the webhook.' };
  const notFound = { description: 'No such webhook.', schema: problemSchema };
  // The rest changes with each delivery; a new secret changes the time.
  const etag = ['url', 'events', 'accountId', 'enabled', 'updatedAt'] as const;
  return [
    endpoint({
      ...common,
      method: 'post',
      path: '/api/webhooks',
      operationId: 'createWebhook',
      summary: 'Add a webhook: events are sent to it from now on',
      body: newBody,
      oldNames: { isEnabled: 'enabled' },
      creates: {
        secrets: ['secret'],
        known: async (repeatId) => {
          const webhook = await webhooks.get(repeatId);
          return webhook && createdResponse(shown(newWebhookView, webhook));
        },
      },
      responses: {
        201: { description: 'The webhook.', schema: changedResponse(newWebhookView) },
        409: { description: `There are ${MAX_WEBHOOKS} webhooks.`, schema: problemSchema },
      },
      handle: async ({ body, repeatId = randomUUID() }) => {
        refuseAddress(body.url);
        if ((await webhooks.list()).length >= MAX_WEBHOOKS) throw tooMany();
        const secret = body.secret ?? randomBytes(32).toString('base64url');
        const created = await webhooks.create({
          ...body,
          id: repeatId,
          secret,
          events: unique(body.events),
        });
        const { id, events, accountId } = created;
        log.info({ webhookId: id, events, accountId }, 'webhook created');
        const data = shown(newWebhookView, {
          ...created,
          secret: body.secret === undefined ? secret : undefined,
        });
        return createdResponse(data);
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/webhooks',
      operationId: 'listWebhooks',
      summary: 'List webhooks, oldest first',
      responses: { 200: { description: 'The webhooks.', schema: listResponse(webhookView) } },
      handle: async () => {
        const data = (await webhooks.list()).map((webhook) => shown(webhookView, webhook));
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/webhooks/{id}',
      operationId: 'getWebhook',
      etag,
      summary: 'Show a webhook',
      params,
      responses: { 200: { description: 'The webhook.', schema: dataResponse(webhookView) }, 404: notFound },
      handle: async ({ params: { id = '' } }) => {
        const data = shown(webhookView, await found(id));
        return { status: 200, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      method: 'patch',
      path: '/api/webhooks/{id}',
      operationId: 'changeWebhook',
      etag,
      summary: 'Change a webhook, or switch it on or off',
      description:
        'Events that wait are sent to the new address, with the new secret. While a webhook is off, no events are stored for it, and those that wait stay.',
      params,
      body: changeBody,
      oldNames: { isEnabled: 'enabled' },
      responses: {
        200: { description: 'The webhook as it is now.', schema: changedResponse(webhookView) },
        404: notFound,
      },
      handle: async ({ params: { id = '' }, body, ifMatch }) => {
        if (body.url !== undefined) refuseAddress(body.url);
        const { events, ...change } = body;
        const changed = await webhooks.change(
          id,
          { ...change, ...(events && { events: unique(events) }) },
          seenBy(ifMatch),
        );
        if (!changed) throw noSuchWebhook();
        log.info({ webhookId: id, fields: Object.keys(body) }, 'webhook changed');
        return {
          status: 200,
          json: { success: true, message: 'Webhook changed.', data: shown(webhookView, changed) },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/webhooks/{id}',
      operationId: 'deleteWebhook',
      etag,
      summary: 'Delete a webhook with its delivery log',
      params,
      responses: {
        200: { description: 'The webhook that is gone.', schema: changedResponse(webhookView) },
        404: notFound,
      },
      handle: async ({ params: { id = '' }, ifMatch }) => {
        const data = shown(webhookView, await found(id));
        if (!(await webhooks.delete(id, seenBy(ifMatch)))) throw noSuchWebhook();
        log.info({ webhookId: id }, 'webhook deleted');
        return { status: 200, json: { success: true, message: 'Webhook deleted.', data } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/webhooks/{id}/test',
      operationId: 'testWebhook',
      summary: 'Send a test event now, once',
      description: 'It is not part of the delivery log. A webhook that is switched off can be tested too.',
      params,
      responses: {
        200: { description: 'What the receiver answered.', schema: dataResponse(testView) },
        404: notFound,
      },
      handle: async ({ params: { id = '' }, signal }) => {
        const { url, accountId = app.config.accountId } = await found(id);
        const secret = await webhooks.secretOf(id);
        if (secret === undefined) throw noSuchWebhook();
        const eventId = randomUUID();
        const sent = await app.sendTestEvent({ eventId, url, secret, accountId }, signal);
        return {
          status: 200,
          json: { success: true, data: { isDelivered: !('error' in sent), eventId, ...resultOf(sent) } },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/webhooks/{id}/deliveries',
      operationId: 'listWebhookDeliveries',
      summary: 'List the events of a webhook and what became of them, newest first',
      params,
      query: deliveriesQuery,
      responses: {
        200: {
          description: 'A page of the log, without texts of people.',
          schema: pageResponse(deliveryView),
        },
        404: notFound,
      },
      handle: async ({ params: { id = '' }, query: { state, cursor, limit } }) => {
        await found(id);
        const page = {
          webhookId: id,
          ...(state && { state }),
          ...(cursor && { before: cursor }),
          limit: limit + 1,
        };
        const rows = (await webhookDeliveries.list(page)).map((row) => shown(deliveryView, row));
        return { status: 200, json: pageOf(rows, limit, (row) => row.id) };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/webhooks/{id}/deliveries/{deliveryId}/retry',
      operationId: 'retryWebhookDelivery',
      summary: 'Send a dead event again, with the same event id',
      params: { ...params, deliveryId: 'Id of the delivery.' },
      responses: {
        202: { description: 'Queued.', schema: z.object({ success: z.literal(true), message: z.string() }) },
        404: { description: 'No such webhook or delivery.', schema: problemSchema },
        409: { description: 'It is delivered, or waits for its next attempt.', schema: problemSchema },
      },
      handle: async ({ params: { id = '', deliveryId = '' } }) => {
        const outcome = await webhookDeliveries.retry(id, deliveryId);
        if (outcome === 'missing') {
          throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-delivery'));
        }
        if (outcome === 'not-dead') {
          throw new HttpProblem(409, 'NOT_DEAD', say('problem.not-dead'));
        }
        log.info({ webhookId: id, deliveryId }, 'event of a webhook queued again by an admin');
        return { status: 202, object: deliveryId, json: { success: true, message: 'Queued.' } };
      },
    }),
  ];

  async function found(id: string): Promise<Webhook> {
    const webhook = await webhooks.get(id);
    if (!webhook) throw noSuchWebhook();
    return webhook;
  }

  function refuseAddress(url: string): void {
    const refusal = app.egressRefusalOf(url);
    if (refusal === undefined) return;
    throw invalid('body', [mistakeAt('url', say('field.not-allowed', { why: refusal }))]);
  }
}

function resultOf(sent: Sent): Omit<z.output<typeof testView>, 'isDelivered' | 'eventId'> {
  if (!('error' in sent)) return { status: sent.status };
  const { status, error, phrase } = sent;
  return { ...(status !== undefined && { status }), error, ...(phrase && { phrase }) };
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

/** The check of a change: the caller has seen the webhook as it is. */
function seenBy(ifMatch: IfMatch | undefined): ((webhook: Webhook) => void) | undefined {
  return ifMatch && ((webhook) => ifMatch(shown(webhookView, webhook)));
}

function noSuchWebhook(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-webhook'));
}

function tooMany(): HttpProblem {
  return new HttpProblem(409, 'TOO_MANY_WEBHOOKS', say('problem.too-many-webhooks', { max: MAX_WEBHOOKS }));
}
