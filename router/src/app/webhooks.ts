import type { Logger } from '../core/ports/logger.ts';
import { type EventToSend, sendEvent } from '../features/webhooks/send-event.ts';
import {
  PostgresWebhookDeliveries,
  type WebhookDeliveries,
} from '../features/webhooks/webhook-deliveries.ts';
import { WebhookDispatcher } from '../features/webhooks/webhook-dispatcher.ts';
import { PostgresWebhooks, type Webhooks } from '../features/webhooks/webhooks.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { Part } from './part.ts';
import type { TurnParts } from './turns.ts';

export interface WebhookParts {
  webhooks: Webhooks;
  webhookDeliveries: WebhookDeliveries;
  /** Sends one event outside the queue; see sendEvent. */
  sendEvent(
    event: EventToSend & { url: string; secret?: string },
    signal: AbortSignal,
  ): ReturnType<typeof sendEvent>;
}

/** Events sent to other programs. Started, this node sends those that are due, like every other node. */
export function createWebhooks(
  { postgres, bus, transport, metrics }: DatabaseParts & ClusterParts & TurnParts,
  log: Logger,
): Part<WebhookParts> {
  const deliveries = new PostgresWebhookDeliveries(postgres);
  const send: WebhookParts['sendEvent'] = (event, signal) =>
    sendEvent({ transport, clock: systemClock }, event, signal);
  const dispatcher = new WebhookDispatcher({
    deliveries,
    send,
    observe: metrics.observeWebhookAttempt,
    clock: systemClock,
    random: Math.random,
    log: log.child({ mod: 'webhooks' }),
  });
  bus.on('webhooks-changed', () => dispatcher.wake());
  bus.on('webhook-event', () => dispatcher.wake());
  bus.onBack(() => dispatcher.wake());
  return {
    parts: { webhooks: new PostgresWebhooks(postgres), webhookDeliveries: deliveries, sendEvent: send },
    start: async () => dispatcher.start(),
    stop: () => dispatcher.stop(),
  };
}
