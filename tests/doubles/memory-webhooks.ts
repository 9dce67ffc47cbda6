import { randomUUID } from 'node:crypto';
import { StorageRejectedError } from '../../router/src/core/errors.ts';
import type {
  DeliveryQuery,
  DueDelivery,
  EventFacts,
  FailedAttempt,
  LoggedDelivery,
  WebhookDeliveries,
} from '../../router/src/features/webhooks/webhook-deliveries.ts';
import type {
  NewWebhook,
  Webhook,
  WebhookChange,
  WebhookEvent,
  Webhooks,
} from '../../router/src/features/webhooks/webhooks.ts';

interface Stored extends Omit<Webhook, 'waiting'> {
  secret: string;
  retryAtMs?: number;
}

interface Row extends Omit<LoggedDelivery, 'dueAt'> {
  webhookId: string;
  chatId: string;
  facts?: EventFacts;
  dueAtMs: number;
  queuedAtMs: number;
}

/** Webhooks and their events in memory, for tests. */
export class MemoryWebhooks implements Webhooks, WebhookDeliveries {
  readonly #webhooks = new Map<string, Stored>();
  #rows: Row[] = [];
  #nextId = 1;
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Stores an event, as the database does in the transaction that it reports. */
  emit(event: WebhookEvent, accountId: string, chatId: string, facts: EventFacts = {}): void {
    const eventId = randomUUID();
    for (const webhook of this.#webhooks.values()) {
      const isOther = webhook.accountId !== undefined && webhook.accountId !== accountId;
      if (!webhook.enabled || isOther || !webhook.events.includes(event)) continue;
      const id = String(this.#nextId++);
      const nowMs = this.#now();
      const row = {
        id,
        webhookId: webhook.id,
        eventId,
        event,
        accountId,
        chatId,
        facts: structuredClone(facts),
      };
      const times = { createdAt: new Date(nowMs), dueAtMs: nowMs, queuedAtMs: nowMs };
      this.#rows.push({ ...row, ...times, state: 'pending', attempts: 0 });
    }
  }

  async create(webhook: NewWebhook): Promise<Webhook> {
    if (this.#webhooks.has(webhook.id)) throw new StorageRejectedError({ sentence: 'The id exists.' });
    const at = new Date(this.#now());
    const stored: Stored = { ...structuredClone(webhook), failures: 0, createdAt: at, updatedAt: at };
    this.#webhooks.set(webhook.id, stored);
    return this.#shown(stored);
  }

  async list(): Promise<Webhook[]>;
  async list(query: DeliveryQuery): Promise<LoggedDelivery[]>;
  async list(query?: DeliveryQuery): Promise<Webhook[] | LoggedDelivery[]> {
    if (!query) return [...this.#webhooks.values()].map((stored) => this.#shown(stored));
    const { webhookId, state, before, limit } = query;
    const rows = this.#rows.filter(
      (row) =>
        row.webhookId === webhookId &&
        (state === undefined || row.state === state) &&
        (before === undefined || Number(row.id) < Number(before)),
    );
    return rows
      .reverse()
      .slice(0, limit)
      .map((row) => this.#logged(row));
  }

  async get(id: string): Promise<Webhook | undefined> {
    const stored = this.#webhooks.get(id);
    return stored && this.#shown(stored);
  }

  async secretOf(id: string): Promise<string | undefined> {
    return this.#webhooks.get(id)?.secret;
  }

  async change(
    id: string,
    { accountId, ...change }: WebhookChange,
    check?: (webhook: Webhook) => void,
  ): Promise<Webhook | undefined> {
    const stored = this.#webhooks.get(id);
    if (!stored) return undefined;
    check?.(this.#shown(stored));
    Object.assign(stored, structuredClone(change), { updatedAt: new Date(this.#now()) });
    if (accountId !== undefined) stored.accountId = accountId ?? undefined;
    delete stored.retryAtMs;
    if (change.enabled !== undefined) delete stored.disabledReason;
    if (change.enabled === true) this.#succeeded(stored);
    return this.#shown(stored);
  }

  async delete(id: string, check?: (webhook: Webhook) => void): Promise<boolean> {
    const stored = this.#webhooks.get(id);
    if (stored) check?.(this.#shown(stored));
    this.#rows = this.#rows.filter((row) => row.webhookId !== id);
    return this.#webhooks.delete(id);
  }

  async isNeeded(): Promise<boolean> {
    return [...this.#webhooks.values()].some(({ enabled }) => enabled);
  }

  async claim(perWebhook: number, busy: ReadonlyMap<string, number>, forMs: number): Promise<DueDelivery[]> {
    const nowMs = this.#now();
    return [...this.#webhooks.values()].flatMap((webhook) => {
      if (!webhook.enabled || (webhook.retryAtMs ?? 0) > nowMs) return [];
      const pending = this.#rows.filter((row) => row.webhookId === webhook.id && row.state === 'pending');
      const isFirst = (row: Row) =>
        pending.find((other) => other.accountId === row.accountId && other.chatId === row.chatId) === row;
      const due = pending.filter((row) => row.dueAtMs <= nowMs && isFirst(row));
      return due.slice(0, Math.max(perWebhook - (busy.get(webhook.id) ?? 0), 0)).map((row) => {
        row.attempts += 1;
        row.attemptedAt = new Date(nowMs);
        row.dueAtMs = nowMs + forMs;
        const { id, webhookId, eventId, event, accountId, createdAt: at, attempts: attempt } = row;
        const { url, secret, failures, failingSince } = webhook;
        return {
          ...{ id, webhookId, url, secret, eventId, event, accountId, at, attempt, failures },
          facts: structuredClone(row.facts ?? {}),
          ageMs: nowMs - row.queuedAtMs,
          failingForMs: failingSince ? nowMs - failingSince.getTime() : 0,
        };
      });
    });
  }

  async markDelivered(delivery: DueDelivery, status: number): Promise<void> {
    const row = this.#claimed(delivery);
    if (!row) return;
    const { facts: _, error: __, ...rest } = row;
    this.#replace({ ...rest, state: 'delivered', status, finishedAt: new Date(this.#now()) });
    const webhook = this.#webhooks.get(delivery.webhookId);
    if (webhook) this.#succeeded(webhook);
  }

  async markFailed(delivery: DueDelivery, failed: FailedAttempt): Promise<void> {
    const row = this.#claimed(delivery);
    const nowMs = this.#now();
    const { error, retryInMs, pauseMs, disabledReason } = failed;
    if (row) {
      const { status: _, ...rest } = row;
      this.#replace({
        ...rest,
        error,
        ...(failed.status !== undefined && { status: failed.status }),
        ...(retryInMs === undefined
          ? { state: 'dead' as const, finishedAt: new Date(nowMs) }
          : { dueAtMs: nowMs + retryInMs }),
      });
    }
    const webhook = this.#webhooks.get(delivery.webhookId);
    if (!row || !webhook) return;
    webhook.failures += 1;
    webhook.failingSince ??= new Date(nowMs);
    if (pauseMs === undefined) delete webhook.retryAtMs;
    else webhook.retryAtMs = nowMs + pauseMs;
    if (disabledReason !== undefined) Object.assign(webhook, { enabled: false, disabledReason });
  }

  async retry(webhookId: string, id: string): Promise<'queued' | 'not-dead' | 'missing'> {
    const row = this.#rows.find((each) => each.webhookId === webhookId && each.id === id);
    if (!row) return 'missing';
    if (row.state !== 'dead') return 'not-dead';
    const nowMs = this.#now();
    const { finishedAt: _, ...rest } = row;
    this.#replace({ ...rest, state: 'pending', attempts: 0, dueAtMs: nowMs, queuedAtMs: nowMs });
    return 'queued';
  }

  #claimed({ id, attempt }: DueDelivery): Row | undefined {
    return this.#rows.find((row) => row.id === id && row.attempts === attempt && row.state === 'pending');
  }

  #replace(row: Row): void {
    this.#rows = this.#rows.map((each) => (each.id === row.id ? row : each));
  }

  #succeeded(webhook: Stored): void {
    webhook.failures = 0;
    delete webhook.failingSince;
    delete webhook.retryAtMs;
  }

  #shown({ secret: _, retryAtMs = 0, ...webhook }: Stored): Webhook {
    const waiting = this.#rows.filter(
      ({ webhookId, state }) => webhookId === webhook.id && state === 'pending',
    );
    const isPaused = webhook.enabled && retryAtMs > this.#now();
    return structuredClone({
      ...webhook,
      waiting: waiting.length,
      ...(isPaused && { pausedUntil: new Date(retryAtMs) }),
    });
  }

  #logged(given: Row): LoggedDelivery {
    const { webhookId, chatId, facts: _, queuedAtMs: __, dueAtMs, ...row } = given;
    const webhook = this.#webhooks.get(webhookId);
    const isPending = row.state === 'pending';
    const first = this.#rows.find(
      (other) =>
        other.state === 'pending' &&
        other.webhookId === webhookId &&
        other.accountId === row.accountId &&
        other.chatId === chatId,
    );
    const isBehind = isPending && first !== undefined && first.id !== row.id;
    return structuredClone({
      ...row,
      ...(isBehind && { waitsFor: first.id }),
      ...(isPending &&
        !isBehind &&
        webhook?.enabled && { dueAt: new Date(Math.max(dueAtMs, webhook.retryAtMs ?? 0)) }),
    });
  }
}
