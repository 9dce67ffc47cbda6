/** What a webhook can get. */
export const WEBHOOK_EVENTS = ['message', 'reply', 'delivery', 'account-state', 'dead-letter'] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export interface NewWebhook {
  id: string;
  url: string;
  events: readonly WebhookEvent[];
  /** Only events of this account; absent: of every account. */
  accountId?: string;
  /** Key of the signature. */
  secret: string;
  isEnabled: boolean;
}

/** A stored webhook, without its secret. */
export interface Webhook extends Omit<NewWebhook, 'secret'> {
  /** Why wa2ai switched it off. */
  disabledReason?: string;
  /** Attempts that failed since the last one that succeeded. */
  failures: number;
  failingSince?: Date;
  /** No event is sent before, because the receiver failed often or asked for it. Absent: it does not pause, or is off. */
  pausedUntil?: Date;
  /** Events that are neither delivered nor dead. */
  waiting: number;
  createdAt: Date;
  updatedAt: Date;
}

/** What changes; `accountId: null` means every account from then on. */
export interface WebhookChange extends Partial<Omit<NewWebhook, 'id' | 'accountId'>> {
  accountId?: string | null;
}

/** Where events are sent. From the first webhook on, events are stored with what they report. */
export interface Webhooks {
  /**
   * @throws {StorageUnavailableError} nothing was stored
   * @throws {StorageRejectedError} the id exists
   */
  create(webhook: NewWebhook): Promise<Webhook>;
  /** Oldest first. @throws {StorageUnavailableError} */
  list(): Promise<Webhook[]>;
  /** @throws {StorageUnavailableError} */
  get(id: string): Promise<Webhook | undefined>;
  /** @throws {StorageUnavailableError} @throws {StorageDamagedError} the secret cannot be decrypted */
  secretOf(id: string): Promise<string | undefined>;
  /**
   * Any change ends a pause, and switching it on forgets its failures.
   * @returns undefined: there is no such webhook
   * @throws {StorageUnavailableError} nothing was changed
   */
  change(id: string, change: WebhookChange): Promise<Webhook | undefined>;
  /** Deletes it with its deliveries. @returns whether there was one @throws {StorageUnavailableError} */
  delete(id: string): Promise<boolean>;
}
