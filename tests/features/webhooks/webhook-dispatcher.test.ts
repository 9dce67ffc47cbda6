import { afterEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import type { AttemptFailure } from '../../../router/src/features/webhooks/send-event.ts';
import type { DueDelivery } from '../../../router/src/features/webhooks/webhook-deliveries.ts';
import { MAX_ATTEMPTS, WebhookDispatcher } from '../../../router/src/features/webhooks/webhook-dispatcher.ts';
import { MemoryWebhooks } from '../../doubles/memory-webhooks.ts';
import { serviceWith } from '../../support/app-with.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/quiet-log.ts';

type Answer = { status: number } | AttemptFailure;

/** An attempt that waits for its answer. */
interface Attempt {
  delivery: DueDelivery;
  answer(answer: Answer): void;
}

const started: Array<{ dispatcher: WebhookDispatcher; clock: FakeClock }> = [];
afterEach(async () => {
  for (const { dispatcher, clock } of started.splice(0)) {
    const stopped = dispatcher.stop();
    await settle();
    await clock.advanceMs(2_000);
    await stopped;
  }
});

async function setup({ enabled = true } = {}) {
  const clock = new FakeClock();
  const store = new MemoryWebhooks(() => clock.now());
  const attempts: Attempt[] = [];
  const outcomes: string[] = [];
  const log = recordingLog();
  const claims = { count: 0, failure: undefined as Error | undefined };
  const dispatcherOf = () => {
    const dispatcher = new WebhookDispatcher(
      serviceWith({
        webhookDeliveries: {
          isNeeded: () => store.isNeeded(),
          claim: async (...input) => {
            claims.count += 1;
            if (claims.failure) throw claims.failure;
            return store.claim(...input);
          },
          markDelivered: (...input) => store.markDelivered(...input),
          markFailed: (...input) => store.markFailed(...input),
        },
        sendEvent: (delivery, signal) =>
          new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            attempts.push({ delivery: delivery as DueDelivery, answer: resolve });
          }),
        metrics: { observeWebhookAttempt: (outcome) => void outcomes.push(outcome) },
        clock,
        random: () => 0.5,
        logOf: () => log,
      }),
    );
    started.push({ dispatcher, clock });
    return dispatcher;
  };
  const webhook = { url: 'http://a', secret: 's', events: ['message'] as const };
  await store.create({ ...webhook, id: 'w', enabled: enabled });
  const dispatcher = dispatcherOf();
  const emit = (chat = '1', facts: Record<string, unknown> = {}) => {
    store.emit('message', 'a', chat, facts);
    dispatcher.wake();
  };
  /** The attempt with this number, from 0, when it has begun. */
  const attempt = async (n: number): Promise<Attempt> => {
    await settle();
    const begun = attempts[n];
    if (!begun) throw new Error(`only ${attempts.length} attempts have begun`);
    return begun;
  };
  const states = async (id = 'w') =>
    (await store.list({ webhookId: id, limit: 100 })).map(({ state }) => state);
  return {
    clock,
    store,
    attempts,
    outcomes,
    log,
    claims,
    dispatcher,
    dispatcherOf,
    webhook,
    emit,
    attempt,
    states,
  };
}

describe('WebhookDispatcher', () => {
  it('sends what was stored before it started, and what comes then', async () => {
    const { dispatcher, store, emit, attempt, states, outcomes } = await setup();
    store.emit('message', 'a', '1', { n: 1 });
    dispatcher.start();
    const one = await attempt(0);
    expect(one.delivery).toMatchObject({ facts: { n: 1 }, attempt: 1, url: 'http://a', secret: 's' });
    one.answer({ status: 200 });
    emit('2', { n: 2 });
    (await attempt(1)).answer({ status: 204 });
    await attempt(1);
    expect(await states()).toEqual(['delivered', 'delivered']);
    expect(outcomes).toEqual(['delivered', 'delivered']);
  });

  it('sends the events of a chat one after the other, in their order, also after failures', async () => {
    const { dispatcher, clock, emit, attempt, attempts, log } = await setup();
    dispatcher.start();
    for (const n of [1, 2]) emit('1', { n });
    (await attempt(0)).answer({ status: 500, error: 'It answered 500.' });
    await settle();
    expect(attempts).toHaveLength(1);
    await clock.advanceMs(1_000);
    (await attempt(1)).answer({ status: 200 });
    (await attempt(2)).answer({ status: 200 });
    const sent = attempts.map(({ delivery }) => [delivery.facts.n, delivery.attempt]);
    expect(sent).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ]);
    expect(attempts[1]?.delivery.eventId).toBe(attempts[0]?.delivery.eventId);
    expect(log.lines).toContainEqual({
      level: 'warn',
      message: 'event not delivered to a webhook',
      fields: expect.objectContaining({ webhookId: 'w', status: 500, attempt: 1 }),
    });
  });

  it('sends to other webhooks while one is slow, and four events at a time to each', async () => {
    const { dispatcher, store, webhook, emit, attempt, attempts } = await setup();
    await store.create({ ...webhook, id: 'fast', enabled: true });
    dispatcher.start();
    for (const chat of ['1', '2', '3', '4', '5', '6']) emit(chat);
    await settle();
    const to = (id: string) => attempts.filter(({ delivery }) => delivery.webhookId === id);
    expect([to('w').length, to('fast').length]).toEqual([4, 4]);
    for (const { answer } of to('fast')) answer({ status: 200 });
    await settle();
    expect([to('w').length, to('fast').length]).toEqual([4, 6]);
    (await attempt(0)).answer({ status: 200 });
    await settle();
    expect(to('w').length + to('fast').length).toBe(11);
  });

  it('shares the work with another node, and takes over what it did not finish', async () => {
    const { dispatcher, dispatcherOf, clock, emit, attempt, attempts, states } = await setup();
    dispatcher.start();
    emit('1');
    const lost = await attempt(0);
    const other = dispatcherOf();
    other.start();
    await settle();
    expect(attempts).toHaveLength(1);
    await clock.advanceMs(20_000);
    const again = await attempt(1);
    expect(again.delivery).toMatchObject({ eventId: lost.delivery.eventId, attempt: 2 });
    again.answer({ status: 200 });
    lost.answer({ status: 500, error: 'late' });
    await settle();
    expect(await states()).toEqual(['delivered']);
  });

  it('waits without a timer while no webhook is enabled, and begins when one is', async () => {
    const { dispatcher, store, clock, emit, attempts, claims } = await setup({ enabled: false });
    dispatcher.start();
    await settle();
    expect(clock.sleeping).toBe(0);
    const before = claims.count;
    await clock.advanceMs(3_600_000);
    expect(claims.count).toBe(before);
    await store.change('w', { enabled: true });
    dispatcher.wake();
    await settle();
    expect(clock.sleeping).toBe(1);
    emit();
    await settle();
    expect(attempts).toHaveLength(1);
  });

  it('says that it gave an event up, and that a webhook is switched off', async () => {
    const { dispatcher, store, clock, emit, attempt, outcomes, log } = await setup();
    emit('1');
    await clock.advanceMs(24 * 3_600_000);
    dispatcher.start();
    (await attempt(0)).answer({ status: 410, error: 'It answered 410.' });
    await settle();
    expect(outcomes).toEqual(['dead']);
    expect(await store.get('w')).toMatchObject({
      enabled: false,
      disabledReason: expect.stringMatching(/410/),
    });
    expect(log.lines.find(({ message }) => message === 'webhook disabled')?.fields).toMatchObject({
      webhookId: 'w',
    });
  });

  it('goes on after the database was unavailable', async () => {
    const { dispatcher, clock, store, claims, attempts, log } = await setup();
    claims.failure = new StorageUnavailableError({ sentence: 'The database does not answer.' });
    store.emit('message', 'a', '1', {});
    dispatcher.start();
    await settle();
    expect(log.lines.some(({ message }) => message === 'cannot read the events of webhooks, retrying')).toBe(
      true,
    );
    claims.failure = undefined;
    await clock.advanceMs(10_000);
    await settle();
    expect(attempts).toHaveLength(1);
  });

  it('lets a running attempt end when it stops, for two seconds', async () => {
    const { dispatcher, clock, emit, attempt, states } = await setup();
    dispatcher.start();
    emit('1');
    emit('2');
    const first = await attempt(0);
    const stopped = dispatcher.stop();
    await settle();
    first.answer({ status: 200 });
    await settle();
    await clock.advanceMs(2_000);
    await stopped;
    expect(await states()).toEqual(['pending', 'delivered']);
  });

  it('gives an event up during whose attempts the process ended again and again, without a further one', async () => {
    const { clock, store, attempts, dispatcher, emit, states, outcomes } = await setup();
    emit();
    for (let n = 0; n < MAX_ATTEMPTS; n += 1) {
      // The process that claimed it ends: the claim runs out.
      expect(await store.claim(1, new Map(), 20_000)).toHaveLength(1);
      await clock.advanceMs(20_000);
    }
    dispatcher.start();
    await settle();
    expect(attempts).toEqual([]);
    expect(await states()).toEqual(['dead']);
    expect(outcomes).toEqual(['dead']);
  });
});
