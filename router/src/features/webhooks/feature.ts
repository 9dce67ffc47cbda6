import sql from 'sql-template-tag';
import { nodeMessage } from '../../core/cluster/node-bus.ts';
import type { Feature, Kernel, Service } from '../../feature.ts';
import { secretText } from '../../infra/db/encryption/secret-cipher.ts';
import { sendEvent } from './send-event.ts';
import { PostgresWebhookDeliveries } from './webhook-deliveries.ts';
import { WebhookDispatcher } from './webhook-dispatcher.ts';
import { PostgresWebhooks, WEBHOOK_SECRET_CONTEXT } from './webhooks.ts';
import { webhooksApi } from './webhooks-api.ts';

/** PostgreSQL: a webhook changed. */
const webhooksChanged = nodeMessage('webhooks-changed');

/** PostgreSQL: an event was stored for webhooks. */
const webhookEvent = nodeMessage('webhook-event');

/** Events sent to other programs. This node sends those that are due, like every other node. */
export const webhooks: Feature = {
  name: 'webhooks',
  tags: { Webhooks: 'Events sent to other programs, with a delivery log.' },
  secrets: [secretText({ table: 'webhook', column: 'secret', context: WEBHOOK_SECRET_CONTEXT })],
  liveEvents: { webhook: { scopes: ['webhooks:manage'], honours: [] } },
  noteChanges: (bus, note) => bus.on(webhooksChanged, () => note({ type: 'webhook' })),
  operations: webhooksApi,
  retention: {
    batches: {
      // Also events that wait, of a webhook that is switched off.
      webhooks: (before, batch) => sql`
        DELETE FROM webhook_delivery WHERE id IN (
          SELECT id FROM webhook_delivery WHERE created_at < ${before}::timestamptz ORDER BY created_at LIMIT ${batch}) RETURNING 1`,
    },
    with: {
      // Events that were not delivered: they contain texts.
      text: [
        (before, batch) => sql`
          DELETE FROM webhook_delivery WHERE id IN (
            SELECT id FROM webhook_delivery WHERE facts IS NOT NULL AND created_at < ${before}::timestamptz
            ORDER BY created_at LIMIT ${batch})`,
      ],
    },
  },
  start: (service) => {
    const dispatcher = new WebhookDispatcher(service);
    service.bus.on(webhooksChanged, () => dispatcher.wake());
    service.bus.on(webhookEvent, () => dispatcher.wake());
    service.bus.onBack(() => dispatcher.wake());
    dispatcher.start();
    return () => dispatcher.stop();
  },
};

/** The webhooks, their events, and how one is sent. */
export function webhookServices({
  postgres,
  transport,
  clock,
}: Kernel): Pick<Service, 'webhooks' | 'webhookDeliveries' | 'sendEvent' | 'sendTestEvent'> {
  const send: Service['sendEvent'] = (event, signal) => sendEvent({ transport, clock }, event, signal);
  return {
    webhooks: new PostgresWebhooks(postgres),
    webhookDeliveries: new PostgresWebhookDeliveries(postgres),
    sendEvent: send,
    sendTestEvent: (event, signal) =>
      send({ ...event, event: 'test', at: new Date(clock.now()), facts: {} }, signal),
  };
}
