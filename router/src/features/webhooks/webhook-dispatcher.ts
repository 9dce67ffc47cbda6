import { backoffMs, within } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { errorOfSaid, type Said, say } from '../../core/phrases.ts';
import type { Service } from '../../feature.ts';
import type { AttemptFailure } from './send-event.ts';
import type { DueDelivery, FailedAttempt } from './webhook-deliveries.ts';

const HOUR_MS = 3_600_000;
/** An event that is older is dead after the next failure. */
export const MAX_AGE_MS = 24 * HOUR_MS;
export const MAX_ATTEMPTS = 50;
/** After so many failures in a row without an answer, the webhook pauses between attempts. */
const PAUSE_FROM_FAILURES = 5;
const MAX_PAUSE_MS = 300_000;
/** A webhook that fails for so long, and so often, is switched off. */
const MAX_FAILING_MS = 72 * HOUR_MS;
const MIN_FAILURES = 20;

/**
 * What a failed attempt changes: the event waits or is dead, and the webhook pauses or is switched off. Pure.
 * @param random uniform in [0, 1)
 */
export function afterFailure(
  {
    attempt,
    ageMs,
    failures,
    failingForMs,
  }: Pick<DueDelivery, 'attempt' | 'ageMs' | 'failures' | 'failingForMs'>,
  { status, error, phrase, retryAfterMs }: AttemptFailure,
  random: () => number,
): FailedAttempt {
  const waits = { random, maxRetryAfterMs: HOUR_MS, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  const isDead = ageMs >= MAX_AGE_MS || attempt >= MAX_ATTEMPTS;
  const isBusy = status === 429 || status === 503;
  const isAway = status === undefined || status >= 500 || status === 429;
  const inARow = failures + 1;
  const pauses = (isAway && inARow >= PAUSE_FROM_FAILURES) || (isBusy && retryAfterMs !== undefined);
  const said = { sentence: error, ...(phrase && { phrase }) };
  const reason = reasonToDisable(status, inARow, failingForMs, said);
  return {
    ...(status !== undefined && { status }),
    error,
    ...(phrase && { phrase }),
    ...(!isDead && { retryInMs: backoffMs({ ...waits, attempt, baseMs: 2_000, maxMs: HOUR_MS }) }),
    ...(pauses && {
      pauseMs: backoffMs({
        ...waits,
        attempt: inARow - PAUSE_FROM_FAILURES + 1,
        baseMs: 2_000,
        maxMs: MAX_PAUSE_MS,
      }),
    }),
    ...(reason && {
      disabledReason: reason.sentence,
      ...(reason.phrase && { disabledPhrase: reason.phrase }),
    }),
  };
}

function reasonToDisable(
  status: number | undefined,
  inARow: number,
  failingForMs: number,
  error: Said,
): Said | undefined {
  if (status === 410) return say('delivery.gone');
  if (failingForMs < MAX_FAILING_MS || inARow < MIN_FAILURES) return undefined;
  return say('delivery.three-days', { error });
}

/** Events of one webhook that a node sends at a time, each of another chat. */
const PER_WEBHOOK = 4;
/** After this time a claim counts as lost: its node has ended. Longer than an attempt. */
const CLAIM_MS = 20_000;
/** How often a node looks for events whose time has come without a notification, while a webhook is enabled. */
const POLL_MS = 10_000;
/** How long `stop` waits for attempts that run. */
const STOP_LIMIT_MS = 2_000;

/**
 * Sends the events of webhooks from this node; other nodes do the same. Events of one webhook and chat go out one after the
 * other, and a webhook that is slow delays no other one. Without an enabled webhook it waits, without a timer.
 */
export class WebhookDispatcher {
  readonly #service: Service;
  readonly #log: Logger;
  /** Ends attempts that run. */
  readonly #cut = new AbortController();
  readonly #busy = new Map<string, number>();
  readonly #attempts = new Set<Promise<void>>();
  #wake = new AbortController();
  /** A webhook may be enabled. */
  #isNeeded = true;
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(service: Service) {
    this.#service = service;
    this.#log = service.logOf('webhooks');
  }

  start(): void {
    this.#running = this.#run();
  }

  /** An event was stored, or a webhook was changed: look now. */
  wake(): void {
    this.#isNeeded = true;
    this.#wake.abort();
  }

  /** Attempts that do not end soon are cut; their events are sent again later. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.wake();
    await this.#running;
    await within(this.#service.clock, STOP_LIMIT_MS, Promise.all(this.#attempts));
    this.#cut.abort();
    await Promise.all(this.#attempts);
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#wake = new AbortController();
      const found = this.#isNeeded && (await this.#claim());
      if (!found) await this.#untilWoken();
    }
  }

  /** @returns whether there may be more to claim now */
  async #claim(): Promise<boolean> {
    const { webhookDeliveries: deliveries } = this.#service;
    const { signal } = this.#wake;
    try {
      const due = await deliveries.claim(PER_WEBHOOK, this.#busy, CLAIM_MS);
      for (const delivery of due) this.#begin(delivery);
      if (due.length > 0) return true;
      if (this.#busy.size === 0) {
        const isNeeded = await deliveries.isNeeded();
        if (!signal.aborted) this.#isNeeded = isNeeded;
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot read the events of webhooks, retrying');
    }
    return false;
  }

  async #untilWoken(): Promise<void> {
    const { signal } = this.#wake;
    if (this.#isStopped || signal.aborted) return;
    if (this.#isNeeded) await this.#service.clock.sleep(POLL_MS, signal).catch(() => undefined);
    else
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  #begin(delivery: DueDelivery): void {
    const { webhookId } = delivery;
    this.#busy.set(webhookId, (this.#busy.get(webhookId) ?? 0) + 1);
    const attempt = this.#attempt(delivery).finally(() => {
      const others = (this.#busy.get(webhookId) ?? 1) - 1;
      if (others > 0) this.#busy.set(webhookId, others);
      else this.#busy.delete(webhookId);
      this.#attempts.delete(attempt);
      // The next event of the chat can go out.
      this.wake();
    });
    this.#attempts.add(attempt);
  }

  /** Never rejects. What could not be stored is sent again when the claim ends. */
  async #attempt(delivery: DueDelivery): Promise<void> {
    const { webhookDeliveries: deliveries, metrics, sendEvent, clock, random } = this.#service;
    const log = this.#log;
    const { id, webhookId, event, attempt } = delivery;
    const fields = { deliveryId: id, webhookId, event, attempt };
    try {
      // Attempts that the end of a process cut are counted, and have no failure that could end the event.
      const result =
        attempt > MAX_ATTEMPTS
          ? errorOfSaid(say('delivery.process-ended', { max: MAX_ATTEMPTS }))
          : await sendEvent(delivery, this.#cut.signal);
      if (!('error' in result)) {
        await deliveries.markDelivered(delivery, result.status);
        metrics.observeWebhookAttempt('delivered');
        log.debug(fields, 'event delivered to a webhook');
        return;
      }
      const failed = afterFailure(delivery, result, random);
      await deliveries.markFailed(delivery, failed);
      const { status, error, retryInMs, disabledReason } = failed;
      metrics.observeWebhookAttempt(retryInMs === undefined ? 'dead' : 'failed');
      log.warn({ ...fields, status, error, retryInMs }, 'event not delivered to a webhook');
      if (disabledReason !== undefined) log.error({ webhookId, reason: disabledReason }, 'webhook disabled');
      // When it is due on this node; other nodes and starts find it when they look.
      if (retryInMs !== undefined && retryInMs < POLL_MS) {
        void clock.sleep(retryInMs, this.#cut.signal).then(
          () => this.wake(),
          () => undefined,
        );
      }
    } catch (error) {
      if (!this.#cut.signal.aborted) log.warn({ ...fields, err: error }, 'webhook attempt not finished');
    }
  }
}
