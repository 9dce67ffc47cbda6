import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { StorageRejectedError } from '../../../router/src/core/errors.ts';
import { saidBy } from '../../../router/src/core/phrases.ts';
import {
  type DueDelivery,
  type EventFacts,
  PostgresWebhookDeliveries,
  type WebhookDeliveries,
} from '../../../router/src/features/webhooks/webhook-deliveries.ts';
import {
  type NewWebhook,
  PostgresWebhooks,
  type WebhookEvent,
  type Webhooks,
} from '../../../router/src/features/webhooks/webhooks.ts';
import { MemoryWebhooks } from '../../doubles/memory-webhooks.ts';
import { testDatabase } from '../../support/database.ts';

interface Opened {
  webhooks: Webhooks;
  deliveries: WebhookDeliveries;
  /** Stores an event for the webhooks that want it. */
  emit(event: WebhookEvent, accountId: string, chatId: string, facts: EventFacts): Promise<void>;
  /** Lets this time pass for everything that is stored. */
  pass(ms: number): Promise<void>;
}

const database = testDatabase();

const adapters: Array<[string, () => Opened]> = [
  [
    'memory',
    () => {
      let nowMs = Date.UTC(2026, 0, 1);
      const memory = new MemoryWebhooks(() => nowMs);
      return {
        webhooks: memory as Webhooks,
        deliveries: memory as WebhookDeliveries,
        emit: async (...event) => memory.emit(...event),
        pass: async (ms) => {
          nowMs += ms;
        },
      };
    },
  ],
  [
    'PostgreSQL',
    () => {
      const postgres = database.open();
      return {
        webhooks: new PostgresWebhooks(postgres),
        deliveries: new PostgresWebhookDeliveries(postgres),
        emit: async (event, accountId, chatId, facts) => {
          await postgres.query(
            sql`SELECT webhook_store(${event}, ${accountId}, ${chatId}::bigint, ${JSON.stringify(facts)}::jsonb)`,
          );
        },
        pass: async (ms) => {
          const by = sql`${ms}::integer * interval '1 millisecond'`;
          await postgres.execute(sql`
            UPDATE webhook_delivery SET due_at = due_at - ${by}, created_at = created_at - ${by}, queued_at = queued_at - ${by}`);
          await postgres.execute(
            sql`UPDATE webhook SET retry_at = retry_at - ${by}, failing_since = failing_since - ${by}`,
          );
        },
      };
    },
  ],
];

describe.each(adapters)('webhooks in %s', (_name, open) => {
  let opened: Opened;
  beforeAll(() => {
    opened = open();
  });

  /** A webhook of an account that nothing else uses. */
  async function setup(given: Partial<NewWebhook> = {}) {
    const accountId = `a${randomUUID().slice(0, 8)}`;
    const webhook: NewWebhook = {
      id: randomUUID(),
      url: 'https://example.com/hook',
      events: ['message', 'reply'],
      accountId,
      secret: 'a secret of the webhook',
      enabled: true,
      ...given,
    };
    const created = await opened.webhooks.create(webhook);
    const emit = (event: WebhookEvent, chat = '1', facts: EventFacts = {}) =>
      opened.emit(event, accountId, chat, facts);
    const claim = async (perWebhook = 10, busy = new Map<string, number>()): Promise<DueDelivery[]> =>
      (await opened.deliveries.claim(perWebhook, busy, 20_000)).filter(
        ({ webhookId }) => webhookId === webhook.id,
      );
    const claimOne = async () => {
      const [delivery] = await claim();
      if (!delivery) throw new Error('nothing is due');
      return delivery;
    };
    const log = () => opened.deliveries.list({ webhookId: webhook.id, limit: 10 });
    return { ...opened, accountId, webhook, created, emit, claim, claimOne, log };
  }

  it('is changed and deleted only after the check of what it is', async () => {
    const { created } = await setup();
    const { id } = created;
    const refuse = () => {
      throw new StorageRejectedError(saidBy('Changed meanwhile.'));
    };
    const change = { url: 'https://example.com/other' };
    await expect(opened.webhooks.change(id, change, refuse)).rejects.toThrow('Changed meanwhile.');
    await expect(opened.webhooks.delete(id, refuse)).rejects.toThrow('Changed meanwhile.');
    expect(await opened.webhooks.get(id)).toEqual(created);
    const seen: unknown[] = [];
    await opened.webhooks.change(id, change, (now) => seen.push(now));
    expect(seen).toEqual([created]);
    expect(await opened.webhooks.delete(id, () => undefined)).toBe(true);
  });

  it('are stored and shown without their secret, oldest first, and changed field by field', async () => {
    const { webhooks, webhook, created } = await setup();
    const { secret, ...plain } = webhook;
    const times = { createdAt: expect.any(Date), updatedAt: expect.any(Date) };
    expect(created).toMatchObject({ ...plain, failures: 0, ...times });
    expect(created).not.toHaveProperty('secret');
    const second = await setup();
    const ids = (await webhooks.list()).map(({ id }) => id);
    expect(ids.indexOf(webhook.id)).toBeLessThan(ids.indexOf(second.webhook.id));
    expect(await webhooks.get(webhook.id)).toMatchObject(plain);
    expect(await webhooks.secretOf(webhook.id)).toBe(secret);

    const changed = await webhooks.change(webhook.id, { events: ['delivery'], secret: 'another secret' });
    expect(changed).toMatchObject({ ...plain, events: ['delivery'] });
    expect(await webhooks.secretOf(webhook.id)).toBe('another secret');
    const forAll = await webhooks.change(webhook.id, { accountId: null, enabled: false });
    expect(forAll?.accountId).toBeUndefined();
    expect(forAll).toMatchObject({ url: webhook.url, events: ['delivery'], enabled: false });
    await expect(webhooks.create(webhook)).rejects.toThrow(StorageRejectedError);
    for (const id of ['none', randomUUID()]) {
      expect(await webhooks.get(id)).toBeUndefined();
      expect(await webhooks.secretOf(id)).toBeUndefined();
      expect(await webhooks.change(id, { enabled: true })).toBeUndefined();
    }
  });

  it('are needed while one is enabled', async () => {
    const { webhooks, deliveries, webhook } = await setup();
    expect(await deliveries.isNeeded()).toBe(true);
    for (const { id } of await webhooks.list()) await webhooks.change(id, { enabled: false });
    expect(await deliveries.isNeeded()).toBe(false);
    await webhooks.change(webhook.id, { enabled: true });
    expect(await deliveries.isNeeded()).toBe(true);
  });

  it('get the events that they want, of their account, while they are enabled', async () => {
    const { webhooks, webhook, emit, log, claimOne } = await setup();
    const other = await setup({ events: ['message'], accountId: undefined });
    await emit('message', '1', { text: 'hello' });
    await emit('dead-letter');
    await webhooks.change(webhook.id, { enabled: false });
    await emit('message');
    expect((await log()).map(({ event }) => event)).toEqual(['message']);
    expect(await other.log()).toHaveLength(2);
    await webhooks.change(other.webhook.id, { enabled: false });
    await webhooks.change(webhook.id, { enabled: true });
    expect(await claimOne()).toMatchObject({
      webhookId: webhook.id,
      url: webhook.url,
      secret: webhook.secret,
      event: 'message',
      at: expect.any(Date),
      facts: { text: 'hello' },
      attempt: 1,
      failures: 0,
      failingForMs: 0,
    });
  });

  it('give the same event the same id for every webhook', async () => {
    const first = await setup();
    const second = await setup({ accountId: first.accountId });
    await first.emit('message');
    const [one] = await first.log();
    const [two] = await second.log();
    expect(one?.eventId).toMatch(/^[0-9a-f-]{36}$/);
    expect(two?.eventId).toBe(one?.eventId);
    expect(two?.id).not.toBe(one?.id);
  });

  it('get the events of a chat one after the other, and those of other chats meanwhile', async () => {
    const { deliveries, emit, claim } = await setup();
    for (const chat of ['1', '1', '2']) await emit('message', chat, { chat });
    const due = await claim();
    expect(due.map(({ facts }) => facts.chat)).toEqual(['1', '2']);
    expect(await claim()).toEqual([]);
    for (const delivery of due) await deliveries.markDelivered(delivery, 200);
    expect((await claim()).map(({ facts }) => facts.chat)).toEqual(['1']);
  });

  it('get no more events at a time than the limit', async () => {
    const { webhook, emit, claim } = await setup();
    for (const chat of ['1', '2', '3', '4']) await emit('message', chat);
    expect(await claim(3, new Map([[webhook.id, 1]]))).toHaveLength(2);
    expect(await claim(3, new Map([[webhook.id, 3]]))).toHaveLength(0);
    expect(await claim(3, new Map([[webhook.id, 2]]))).toHaveLength(1);
  });

  it('keep no facts of a delivered event, and show it in the log', async () => {
    const { deliveries, webhook, emit, claimOne, log } = await setup();
    await emit('reply', '1', { text: 'private' });
    const delivery = await claimOne();
    await deliveries.markDelivered(delivery, 202);
    const [row] = await log();
    expect(row).toMatchObject({ id: delivery.id, state: 'delivered', attempts: 1, status: 202 });
    expect(row?.finishedAt).toBeInstanceOf(Date);
    expect(row?.dueAt).toBeUndefined();
    expect(JSON.stringify(row)).not.toContain('private');
    expect(await deliveries.retry(webhook.id, delivery.id)).toBe('not-dead');
  });

  it('send a failed event again after its wait, with its id, and count failures until a success', async () => {
    const { deliveries, webhooks, webhook, emit, claim, claimOne, log, pass } = await setup();
    await emit('message');
    const first = await claimOne();
    await deliveries.markFailed(first, { status: 500, error: 'It answered 500.', retryInMs: 60_000 });
    expect(await log()).toMatchObject([
      { state: 'pending', attempts: 1, status: 500, error: 'It answered 500.' },
    ]);
    expect((await webhooks.get(webhook.id))?.failures).toBe(1);
    await pass(59_000);
    expect(await claim()).toEqual([]);
    await pass(1_000);
    const second = await claimOne();
    expect(second).toMatchObject({ id: first.id, eventId: first.eventId, attempt: 2, failures: 1 });
    expect(second.ageMs).toBeGreaterThanOrEqual(60_000);
    expect(second.failingForMs).toBeGreaterThanOrEqual(60_000);
    await deliveries.markDelivered(second, 200);
    expect(await webhooks.get(webhook.id)).toMatchObject({ failures: 0 });
    expect((await webhooks.get(webhook.id))?.failingSince).toBeUndefined();
    const [row] = await log();
    expect(row?.error).toBeUndefined();
  });

  it('are due again when a claim is lost, and ignore the result of the lost claim', async () => {
    const { deliveries, emit, claim, claimOne, log, pass } = await setup();
    await emit('message');
    const lost = await claimOne();
    await pass(19_000);
    expect(await claim()).toEqual([]);
    await pass(1_000);
    const again = await claimOne();
    expect(again).toMatchObject({ eventId: lost.eventId, attempt: 2 });
    await deliveries.markFailed(lost, { error: 'late' });
    await deliveries.markDelivered(lost, 200);
    expect(await log()).toMatchObject([{ state: 'pending' }]);
    await deliveries.markDelivered(again, 200);
    expect(await log()).toMatchObject([{ state: 'delivered', attempts: 2 }]);
  });

  it('pause, and continue after it, or at once when they are changed', async () => {
    const { deliveries, webhooks, webhook, emit, claim, claimOne, pass } = await setup();
    await emit('message', '1');
    const delivery = await claimOne();
    await deliveries.markFailed(delivery, { error: 'x', retryInMs: 1_000, pauseMs: 30_000 });
    await emit('message', '2');
    await pass(29_000);
    expect(await claim()).toEqual([]);
    await pass(1_000);
    const [one] = await claim(1);
    if (!one) throw new Error('nothing is due after the pause');
    await deliveries.markFailed(one, { error: 'x', retryInMs: 1_000, pauseMs: 30_000 });
    await webhooks.change(webhook.id, { url: 'https://example.com/other' });
    expect((await claim()).map(({ url }) => url)).toEqual(['https://example.com/other']);
  });

  it('give an event up, send it again when an operator wants it, and let the next one of the chat pass', async () => {
    const { deliveries, webhook, emit, claimOne, log } = await setup();
    await emit('message', '1', { text: 'first' });
    await emit('message', '1', { text: 'second' });
    const first = await claimOne();
    await deliveries.markFailed(first, { status: 400, error: 'It answered 400.' });
    expect((await log()).at(-1)).toMatchObject({ state: 'dead', status: 400, finishedAt: expect.any(Date) });
    const second = await claimOne();
    expect(second.facts).toEqual({ text: 'second' });
    await deliveries.markDelivered(second, 200);
    expect(await deliveries.retry(webhook.id, first.id)).toBe('queued');
    expect(await deliveries.retry(webhook.id, first.id)).toBe('not-dead');
    expect(await claimOne()).toMatchObject({ eventId: first.eventId, facts: { text: 'first' }, attempt: 1 });
    for (const [hook, id] of [
      [webhook.id, '999999999'],
      [webhook.id, 'nonsense'],
      ['none', first.id],
    ] as const) {
      expect(await deliveries.retry(hook, id)).toBe('missing');
    }
  });

  it('are switched off with a reason, and on again without their failures', async () => {
    const { deliveries, webhooks, webhook, emit, claim, claimOne } = await setup();
    await emit('message');
    await deliveries.markFailed(await claimOne(), {
      error: 'x',
      retryInMs: 0,
      disabledReason: 'It is gone.',
    });
    const off = { enabled: false, disabledReason: 'It is gone.', failures: 1 };
    expect(await webhooks.get(webhook.id)).toMatchObject(off);
    expect(await claim()).toEqual([]);
    const on = await webhooks.change(webhook.id, { enabled: true });
    expect(on).toMatchObject({ enabled: true, failures: 0 });
    expect(on?.disabledReason).toBeUndefined();
    expect(await claim()).toHaveLength(1);
  });

  it('say until when they pause, how many events wait, and for what each waits', async () => {
    const { deliveries, webhooks, webhook, emit, claimOne, log, pass } = await setup();
    const shown = async () => {
      const { pausedUntil, waiting } = (await webhooks.get(webhook.id)) ?? {};
      return { isPaused: pausedUntil !== undefined, waiting };
    };
    expect(await shown()).toEqual({ isPaused: false, waiting: 0 });
    for (const chat of ['1', '1', '2', '1']) await emit('message', chat);
    const failed = await claimOne();
    await deliveries.markFailed(failed, { error: 'x', retryInMs: 1_000, pauseMs: 30_000 });
    expect(await shown()).toEqual({ isPaused: true, waiting: 4 });
    const { pausedUntil } = (await webhooks.list()).find(({ id }) => id === webhook.id) ?? {};
    // Newest first: two events of chat 1 wait for its first one, which waits for the end of the pause.
    expect((await log()).map(({ waitsFor, dueAt }) => waitsFor ?? dueAt)).toEqual([
      failed.id,
      pausedUntil,
      failed.id,
      pausedUntil,
    ]);
    await pass(30_000);
    expect(await shown()).toEqual({ isPaused: false, waiting: 4 });
    await webhooks.change(webhook.id, { enabled: false });
    expect(await shown()).toEqual({ isPaused: false, waiting: 4 });
    expect((await log()).flatMap(({ dueAt }) => dueAt ?? [])).toEqual([]);
    expect((await log())[0]?.waitsFor).toBe(failed.id);
  });

  it('show their log in pages, newest first', async () => {
    const { deliveries, webhook, emit, claimOne } = await setup();
    for (let n = 0; n < 3; n++) await emit('message');
    await deliveries.markDelivered(await claimOne(), 200);
    const page = await deliveries.list({ webhookId: webhook.id, limit: 2 });
    expect(page.map(({ state }) => state)).toEqual(['pending', 'pending']);
    const rest = await deliveries.list({ webhookId: webhook.id, before: page[1]?.id ?? '', limit: 2 });
    expect(rest.map(({ state }) => state)).toEqual(['delivered']);
    const pending = await deliveries.list({ webhookId: webhook.id, state: 'pending', limit: 10 });
    expect(pending).toHaveLength(2);
    expect(await deliveries.list({ webhookId: webhook.id, before: 'nonsense', limit: 2 })).toEqual([]);
  });

  it('are deleted with their log', async () => {
    const { webhooks, webhook, emit, claim, log } = await setup();
    await emit('message');
    expect(await webhooks.delete(webhook.id)).toBe(true);
    expect(await webhooks.delete(webhook.id)).toBe(false);
    expect(await webhooks.get(webhook.id)).toBeUndefined();
    expect(await log()).toEqual([]);
    expect(await claim()).toEqual([]);
  });
});

it('the log of a webhook is in the order of its times, also after a transaction that took long', async () => {
  const postgres = database.open();
  const [webhooks, deliveries] = [new PostgresWebhooks(postgres), new PostgresWebhookDeliveries(postgres)];
  const id = randomUUID();
  const accountId = `a${id.slice(0, 8)}`;
  const secret = 'a secret of the webhook';
  const url = 'https://example.com/hook';
  await webhooks.create({ id, url, events: ['message'], accountId, secret, enabled: true });
  const emit = (on: Pick<typeof postgres, 'query'>, chat: number) =>
    on.query(sql`SELECT webhook_store('message', ${accountId}, ${chat}::bigint, '{}')`);
  await postgres.transaction(async (long) => {
    await long.query(sql`SELECT now()`);
    await emit(postgres, 1);
    await emit(long, 2);
  });
  const times = (await deliveries.list({ webhookId: id, limit: 10 })).map(({ createdAt }) =>
    createdAt.getTime(),
  );
  expect(times).toEqual(times.toSorted((a, b) => b - a));
});
