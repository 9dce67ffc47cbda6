import type { WebhookEvent } from './webhooks.ts';

/** What an event reports, as it was stored with it. */
export type EventFacts = Record<string, unknown>;

/** An event with its receiver, claimed by this node for one attempt. */
export interface DueDelivery {
  id: string;
  webhookId: string;
  url: string;
  /** Key of the signature; absent: it cannot be decrypted. */
  secret?: string;
  /** The same in every attempt, and for every webhook that gets the event. */
  eventId: string;
  event: WebhookEvent;
  accountId: string;
  /** When it happened. */
  at: Date;
  facts: EventFacts;
  /** Of this attempt, from 1. */
  attempt: number;
  /** Since the event was queued. */
  ageMs: number;
  /** Attempts of the webhook that failed since the last one that succeeded, and for how long it has failed. */
  failures: number;
  failingForMs: number;
}

/** An event in the log of a webhook: no text of people. */
export interface LoggedDelivery {
  id: string;
  eventId: string;
  event: WebhookEvent;
  accountId: string;
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  /** HTTP status of the last answer. */
  status?: number;
  error?: string;
  createdAt: Date;
  attemptedAt?: Date;
  /** When it is sent next, at the earliest. Absent while an earlier event of the chat waits, or the webhook is off. */
  dueAt?: Date;
  /** The earlier event of the chat that is sent first. */
  waitsFor?: string;
  finishedAt?: Date;
}

export interface DeliveryQuery {
  webhookId: string;
  state?: LoggedDelivery['state'];
  /** Only deliveries with a smaller id. */
  before?: string;
  limit: number;
}

/** What an attempt that failed changes. */
export interface FailedAttempt {
  status?: number;
  /** A sentence for an operator. */
  error: string;
  /** The next attempt; absent: the event is dead. */
  retryInMs?: number;
  /** The webhook makes no attempt for so long. */
  pauseMs?: number;
  /** The webhook is switched off for this reason. */
  disabledReason?: string;
}

/** Events of webhooks, and what became of them. @throws {StorageUnavailableError} from every method: nothing was changed */
export interface WebhookDeliveries {
  /** Whether any webhook is enabled. */
  isNeeded(): Promise<boolean>;
  /**
   * Claims events that are due, for `forMs`: no other node gets them meanwhile, and after a crash they are due again. At most
   * one event of each webhook and chat, the oldest one that is not finished.
   * @param perWebhook most events of one webhook that this node sends at a time
   * @param busy how many this node sends now, by webhook
   */
  claim(perWebhook: number, busy: ReadonlyMap<string, number>, forMs: number): Promise<DueDelivery[]>;
  /** Removes the facts of the event. Without effect if the claim is lost. */
  markDelivered(delivery: DueDelivery, status: number): Promise<void>;
  /** Without effect if the claim is lost. */
  markFailed(delivery: DueDelivery, failed: FailedAttempt): Promise<void>;
  /** Newest first. */
  list(query: DeliveryQuery): Promise<LoggedDelivery[]>;
  /** Queues a dead event again, with its id. `not-dead`: it is delivered, or waits for its next attempt. */
  retry(webhookId: string, id: string): Promise<'queued' | 'not-dead' | 'missing'>;
}
